"""Ergo (.erg), the forerunner of the UAI format: the parents of each variable, then their tables. It is only read."""

from plefka.formats import tables
from plefka.formats.tables import TableNetwork
from plefka.formats.uai import open_text, read_scope, read_table, read_variables


def loads(content: bytes) -> TableNetwork:
    """The network that a text describes; the names at its end are left out, as evidence goes by number."""
    scan = open_text(content)
    variables = read_variables(scan)
    families = [
        read_scope(scan, scan.whole("the number of parents", len(variables) - 1), variables, variable.name)
        for variable in variables
    ]
    return tables.network_from(variables, [read_table(scan, *family) for family in families], named=False)
