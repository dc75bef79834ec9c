"""`infer` and what it returns; methods made of other methods (`auto`, `conditioned`, `mixture`); the check."""
