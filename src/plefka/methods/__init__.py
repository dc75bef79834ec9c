"""What a method is: a name with options, a status, and what it finds row by row. Nothing here needs JAX."""
