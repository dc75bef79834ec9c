"""Many rows of evidence, block by block: where they come from, what is asked of each block, and what is kept."""
