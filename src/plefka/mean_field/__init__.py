"""Mean-field methods: free energies of the means, whose minimum approximates -ln P(evidence)."""
