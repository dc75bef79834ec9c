"""G1 in large batches."""

import numpy as np

import plefka as pf


def test_a_large_stack_converges_as_fast_as_a_small_one():
    """XLA once gave derivatives that were not those of the value, in batches of this size alone."""
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, 520, 0, "sigmoid")
    found = pf.infer(stack, np.where(np.arange(12) < 6, np.nan, 0.0), "G1[max_steps=30]")
    assert found.converged.all()
