"""Learning: `fit` a network to binary rows, and what was learned, scored."""
