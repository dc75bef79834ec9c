"""Pieces of work that do not depend on each other, mapped over this process, local processes or a Dask cluster."""
