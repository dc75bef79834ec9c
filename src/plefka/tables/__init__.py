"""Tables of observations, in files and in memory: what their columns are, and what their values mean."""
