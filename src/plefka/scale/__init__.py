"""Many rows of evidence and many networks: in this process, in local processes or on a Dask cluster."""
