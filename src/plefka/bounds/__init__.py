"""Bounds of ln P(evidence) from above."""
