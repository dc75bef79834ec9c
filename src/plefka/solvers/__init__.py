"""Solving the mean-field equations (53): one loop, and the policies that choose its steps."""
