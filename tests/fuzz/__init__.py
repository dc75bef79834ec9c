"""A differential fuzz: random networks, evidence and methods beside the truth, from the definition alone.

`python -m tests.fuzz` runs it; see docs/fuzz.md.
"""
