"""Ergo (.erg), the forerunner of the UAI format: the parents of each variable, then their tables. It is only read."""

from plefka.files import conditional_tables
from plefka.files.conditional_tables import TableNetwork
from plefka.files.uai import expect_end, open_text, read_scope, read_table, read_variables


def loads(content: bytes) -> TableNetwork:
    """The network that a text describes; names and labels at its end are left out, as evidence goes by number."""
    scan = open_text(content)
    variables = read_variables(scan)
    families = [
        read_scope(scan, scan.whole("the number of parents", len(variables) - 1), variables, variable.name)
        for variable in variables
    ]
    found = [read_table(scan, *family) for family in families]
    for section, words in (("the name", 1), ("the labels", 2)):
        for variable in () if scan.is_done else variables:  # all of them have it, or none
            for _ in range(words):
                if scan.is_done:
                    raise scan.refuse(f"{section} of variable {variable.name}, as for those before it")
                scan.advance()
    expect_end(scan, "the labels of all variables")
    return conditional_tables.network_from(variables, found, named=False)
