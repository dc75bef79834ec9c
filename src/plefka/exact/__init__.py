"""Exact inference."""
