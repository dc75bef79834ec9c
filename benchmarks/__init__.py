"""Benchmarks: speed as ratios, side by side in one run. Not run by the tests; `make bench` runs them all."""
