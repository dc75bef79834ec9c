"""Plefka's expansion to high orders, for small networks: G(u, gamma) as a power series in gamma. Sections 2 and 3."""
