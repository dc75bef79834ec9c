"""Loopy belief propagation on the factors P(unit | parents), with messages that cost one step for each parent."""
