"""Bounds on ln P(evidence) from both sides."""
