"""Drawing states from a network."""
