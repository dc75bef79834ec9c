"""What everything stands on: compiled programs and their cache, precision, cores, whole files, provenance."""
