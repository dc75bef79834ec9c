"""Networks of binary units, and how their weights are stored."""
