"""The type checker of the tests: beartype, for which an int is a float, as everywhere in Python."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
