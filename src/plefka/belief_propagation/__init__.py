"""Loopy belief propagation on the factors P(unit | parents), with messages that cost as much as the parents are many."""
