"""Questions beyond the posterior of each unit: bounds, explanations, and what to observe next."""
