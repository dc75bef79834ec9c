"""Free energies: functionals of the means whose minimum approximates -ln P(evidence)."""
