"""Findings that are on: a few of them exactly, the others transformed into a product over their causes."""
