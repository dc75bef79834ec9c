"""From a network with evidence to a small question that needs neither, and back to all units of the network."""
