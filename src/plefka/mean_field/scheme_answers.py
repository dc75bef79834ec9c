"""What the methods of `schemes` compute: outside a trace, and inside one."""

from plefka.mean_field.minimisation import posterior as posterior
from plefka.mean_field.traced_minimisation import traced as traced
