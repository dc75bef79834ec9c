"""Hugin (.net): data have the states of the child fastest, and need not add up to one; a model of them is not read."""

from plefka.files import conditional_tables
from plefka.files.braces import BETWEEN, TOKEN, read_block
from plefka.files.conditional_tables import Conditional, TableNetwork, Variable
from plefka.files.scanner import Scanner

FOR_HUGIN = {"position", "subtype", "state_values", "experience", "fading", "samples_per_interval", "model_nodes"}


def loads(content: bytes) -> TableNetwork:
    """The network in a file of Hugin."""
    scan = Scanner(content, BETWEEN, TOKEN)
    variables: dict[str, Variable] = {}
    tables: list[Conditional] = []
    if is_class := scan.word == b"class":  # the same, in braces and with the attributes of the network among its nodes
        scan.advance()
        scan.name("the name of a class")
        scan.expect(b"{")
    while not (scan.is_done or (is_class and scan.word == b"}")):
        place, kind = scan.place(), scan.name("'net', 'node' or 'potential'")
        kind = f"{kind} {scan.name('a node')}" if kind in ("discrete", "continuous") else kind
        if kind == "net":
            read_block(scan, kind, set())
        elif is_class and scan.word == b"=":
            scan.skip(b";")
        elif kind == "potential":
            name, parents = scan.family()
            child = variables.get(name, Variable(name, (), place))._replace(place=place)
            data = read_block(scan, name, set(), {*FOR_HUGIN, "model_data"}).get("data", ())
            tables.append(conditional_tables.whole_table(child, parents, data, are_weights=True))
        else:
            name = scan.name("the name of a node")
            if kind not in ("node", "discrete node"):
                conditional_tables.refuse_kind(place, name, kind)
            states = read_block(scan, name, {"states"}, FOR_HUGIN).get("states", ())
            conditional_tables.add_variable(Variable(name, states, place), variables)
    if is_class and (scan.expect(b"}") and not scan.is_done):
        raise scan.refuse("the end of the file")
    return conditional_tables.network_from(list(variables.values()), tables)
