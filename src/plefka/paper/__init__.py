"""The paper's experiments again, section 4: a frozen configuration for each, a compute that writes rows, and a render.

Only `compute` and what it imports need JAX; everything that draws a report reads rows.
"""
