"""A text that is not ours says what is wrong, and where."""

import copy
import json

import numpy as np
import pytest
from format_zoo import GOOD

from plefka.errors import InvalidFile
from plefka.files import load


def change(name, *path_and_value):
    """The text of a good file with one value replaced."""
    *path, key, value = path_and_value
    content = inner = copy.deepcopy(GOOD[name])
    for step in path:
        inner = inner[step]
    inner[key] = value
    return json.dumps(content)


def without(name, key):
    return json.dumps({k: v for k, v in GOOD[name].items() if k != key})


EDGES = ("weights", "edges")
JSON_ERRORS = {
    "empty": ("", "must be a JSON object; got an empty file"),
    "blank": (" \n ", "got an empty file"),
    "cut off": ('{"format": "plefka",\n "bias": [1', "line 2, column 12: must be JSON; got the end of the file"),
    "syntax": (
        '{"format": "plefka",\n  bias: 1}',
        r"line 2, column 3: must be JSON; got 'bias: 1}' .*Correct it there",
    ),
    "no text": (b"{\n\n\xff}", "line 3: must be text in UTF-8; got the byte 0xff"),
    "foreign bytes": (b"PK\x03\x04\x80", "must be text in UTF-8"),
    "deep": ("[" * 200_000, "brackets inside brackets"),
    "deep inside": ('{"format": ' * 200_000, "brackets inside brackets"),
    "thousands of digits": (f'{{"version": {"9" * 5000}}}', "numbers with thousands of digits"),
    "a list": ("[1, 2]", r"the file must be an object with the keys format, .*; got \[1, 2\]"),
    "a key twice": (
        '{"format": "plefka", "format": "plefka"}',
        "every key of an object must occur once; got 'format' twice",
    ),
    "foreign": ('{"nodes": []}', "format must be 'plefka'; got nothing. Is this a network"),
    "another format": (change("dense", "format", "json-graph"), "format must be 'plefka'; got 'json-graph'"),
    "no version": (without("dense", "version"), "version must be a whole number from 1 on; got None"),
    "version true": (change("dense", "version", True), "version must be a whole number from 1 on; got True"),
    "newer": (change("dense", "version", 5), "version must be at most 4; got 5. Update plefka"),
    "unknown key": (change("dense", "biases", []), "keys must be among format, .*; got 'biases'. Did you mean 'bias'?"),
    "odd key": (change("dense", "?", []), r"got '\?'. Remove it."),
    "missing key": (
        without("dense", "bias"),
        "the key 'bias' is missing; got format, version, activation, weights.",
    ),
    "activation": (
        change("dense", "activation", "sigmoyd"),
        "activation must be one of .*'sigmoyd'. Did you mean 'sigmoid'?",
    ),
    "activation type": (change("dense", "activation", 3), 'activation must be a name, or {"custom": name}; got 3'),
    "custom key": (change("dense", "activation", {"costum": "f"}), "activation: keys must be .*Did you mean 'custom'?"),
    "custom type": (change("dense", "activation", {"custom": 3}), "activation.custom must be a string; got 3"),
    **{
        f"text in {encoding}": (
            change("dense", "stack", 1).encode(encoding),
            f"must be text in UTF-8; got {name}. Save",
        )
        for encoding, name in (("utf-16", "UTF-16"), ("utf-16-le", "UTF-16-LE"), ("utf-32-be", "UTF-32-BE"))
    },
    "stack": (change("dense", "stack", 0), "stack must be a whole number from 1 on; got 0"),
    "stack type": (change("dense", "stack", 1.0), "stack must be a whole number from 1 on; got 1.0"),
    "a stack of one network": (
        change("dense", "stack", 3),
        "bias must be a list of 3 rows, one for each network .*; got 4",
    ),
    "huge stack": (
        change("dense stack", "stack", 10**30),
        "bias must be a list of 1000000000000000000000000000000 rows",
    ),
    "names type": (change("dense", "names", "abcd"), "names must be a list of names; got 'abcd'"),
    "no names": (change("dense", "names", []), r"names must be the names of all units; got \[\]. Leave it out"),
    "a name type": (change("dense, upwards", "names", 1, 5), r"names\[1\] must be a string; got 5"),
    "names twice": (
        change("dense, upwards", "names", 1, "flu"),
        "names must be unique; these occur more than once: flu",
    ),
    "names that do not print": (
        change("dense, upwards", "names", 1, "\ud800"),
        r"must be printable words; got '\\ud800'",
    ),
    "too few names": (change("dense", "names", ["a"]), "bias must be a list of 1 numbers; got 4"),
    "bias type": (change("dense", "bias", 1), "bias must be a list of numbers; got 1"),
    "no bias": (change("dense", "bias", []), r"bias must be numbers, one for each unit; got \[\]"),
    "no bias in a stack": (change("dense stack", "bias", 0, []), r"bias\[0\] must be a list of 4 numbers; got 0"),
    "bias item": (change("dense", "bias", 2, None), r"bias\[2\] must be a number that is finite .*; got None"),
    "bias true": (change("dense", "bias", 2, True), r"bias\[2\] must be a number .*; got True"),
    "bias nan": (
        change("dense", "bias", 2, np.nan),
        r"bias\[2\] must be a number that is finite in float64.*; got nan",
    ),
    "bias inf": (change("dense", "bias", 2, "inf"), "biases must be finite; got inf at unit 2"),
    "bias row": (change("dense stack", "bias", 1, 2, "x"), r"bias\[1\]\[2\] must be a number .*; got 'x'"),
    "bias without names": (change("dense", "bias", {"a": 1}), "bias must be a list where units have no names"),
    "bias by name in a stack": (change("dense stack", "bias", {"a": 1}), "bias must be a list in a stack"),
    "bias of nobody": (
        change("dense, upwards", "bias", "flo", 1),
        "bias: keys must be among .*; got 'flo'. Did you mean 'flu'?",
    ),
    "bias missing": (change("dense, upwards", "bias", {"flu": 1}), "bias: the key 'größe' is missing; got flu"),
    "bias by name": (
        change("dense, upwards", "bias", "雨 rain", []),
        r'bias\["\\u96e8 rain"\] must be a number .*; got \[\]',
    ),
    "weights type": (
        change("dense", "weights", []),
        r"weights must be an object with one of the keys edges .*; got \[\]",
    ),
    "no weights": (change("dense", "weights", {}), "weights must be an object with one of the keys"),
    "weights twice": (change("dense", "weights", "edges", []), "weights must be an object with one of the keys"),
    "weights key": (change("dense", "weights", "layer", []), "weights: keys must be among matrix; got 'layer'"),
    "matrix type": (change("dense", "weights", "matrix", "x"), "weights.matrix must be a list of 4 rows; got 'x'"),
    "matrix rows": (change("dense", "weights", "matrix", [[]]), "weights.matrix must be a list of 4 rows; got 1"),
    "matrix columns": (
        change("dense", "weights", "matrix", 1, [0]),
        r"weights.matrix\[1\] must be a list of 4 numbers; got 1",
    ),
    "matrix item": (
        change("dense", "weights", "matrix", 1, 0, "Inf"),
        r"weights.matrix\[1\]\[0\] must be a number .*; got 'Inf'",
    ),
    "Infinity": (
        change("dense, certain", "weights", "matrix", 1, 0, np.inf),
        r'weights.matrix\[1\]\[0\] .* or "inf" .*; got inf',
    ),
    "huge": (
        change("dense", "weights", "matrix", 1, 0, 10**400),
        r"weights.matrix\[1\]\[0\] must be a number that is finite",
    ),
    "huge with a point": (
        change("dense", "bias", 0, 0.5).replace("0.5", "1e999"),
        r"bias\[0\] must be a number that is finite",
    ),
    "matrix of a stack": (
        change("dense stack", "weights", "matrix", [[]]),
        "weights.matrix must be a list of 2 matrices; got 1",
    ),
    "cycle": (
        change("dense", "weights", "matrix", 0, 3, 2),
        "weights must be acyclic; got the cycle 0 -> 3 -> 0. Remove",
    ),
    "domain": (
        change("dense, certain", "bias", 0, -1),
        "fields of a noisy_or network must not be below 0; the field of unit 0",
    ),
    "inf in a sigmoid network": (
        change("dense", "weights", "matrix", 1, 0, "inf"),
        "sigmoid network must be finite; got inf",
    ),
    "edges type": (change("sparse", *EDGES, {}), "weights.edges must be a list of edges; got {}"),
    "edge type": (
        change("sparse", *EDGES, 3, 7),
        r"weights.edges\[3\] must be a list of 3 entries: parent, child, weight; got 7",
    ),
    "edge length": (change("sparse", *EDGES, 3, [0, 1]), r"weights.edges\[3\] must be a list of 3 entries: .*; got 2"),
    "edge weight": (change("sparse", *EDGES, 3, 2, None), r"weights.edges\[3\]\[2\] must be a number .*; got None"),
    "edge weight in a stack": (
        change("sparse stack", *EDGES, 3, 2, 1),
        r"edges\[3\]\[2\] must be a list of 2 numbers; got 1",
    ),
    "edge in a stack": (
        change("sparse stack", *EDGES, 3, 2, 1, "x"),
        r"edges\[3\]\[2\]\[1\] must be a number .*; got 'x'",
    ),
    "index below": (
        change("sparse", *EDGES, 3, 0, -1),
        r"weights.edges\[3\]\[0\] must be the index of a unit, from 0 to 3; got -1",
    ),
    "index above": (change("sparse", *EDGES, 3, 1, 4), r"weights.edges\[3\]\[1\] must be the index .*; got 4"),
    "huge index": (change("sparse", *EDGES, 3, 1, 2**70), r"weights.edges\[3\]\[1\] must be the index"),
    "index type": (change("sparse", *EDGES, 3, 1, True), r"weights.edges\[3\]\[1\] must be the index .*; got True"),
    "a name without names": (
        change("sparse", *EDGES, 3, 1, "a"),
        r"weights.edges\[3\]\[1\] .*without names are identified by their index",
    ),
    "an index despite names": (
        change("sparse, named", *EDGES, 3, 1, 0),
        r"weights.edges\[3\]\[1\] must be the name .*; got 0",
    ),
    "a list for a name": (
        change("sparse, named", *EDGES, 3, 1, []),
        r"weights.edges\[3\]\[1\] must be the name .*; got \[\]",
    ),
    "unknown unit": (
        change("sparse, named", *EDGES, 3, 0, "grösse"),
        r"edges\[3\]\[0\] .*'grösse'. Did you mean 'größe'?",
    ),
    "strange unit": (change("sparse, named", *EDGES, 3, 0, "zzz"), "got 'zzz'. Add it to names, or remove the edge"),
    "edge twice": (
        change("sparse", *EDGES, 3, [0, 2, 7]),
        r"weights.edges\[3\] repeats weights.edges\[0\]",
    ),
    "self": (change("sparse, named", *EDGES, 3, ["flu", "flu", 7]), "got the cycle flu -> flu"),
    "layers type": (change("layered", "weights", "layers", 3), "weights.layers must be a list of sizes; got 3"),
    "layer type": (
        change("layered", "weights", "layers", 1, 3.0),
        r"weights.layers\[1\] must be a whole number .*; got 3.0",
    ),
    "layer size": (
        change("layered", "weights", "layers", 1, -3),
        r"weights.layers\[1\] must be a whole number from 0 on; got -3",
    ),
    "layers sum": (
        change("layered", "weights", "layers", 1, 10**30),
        "weights.layers must be sizes that add up to the 6 units",
    ),
    "no layers": (change("layered", "weights", "layers", []), "weights.layers must be sizes that add up"),
    "blocks count": (
        change("layered", "weights", "blocks", []),
        "weights.blocks must be a list of 2 blocks, one for each layer but",
    ),
    "blocks missing": (change("layered", "weights", {"layers": [6]}), "weights: the key 'blocks' is missing"),
    "block rows": (
        change("layered", "weights", "blocks", 1, []),
        r"weights.blocks\[1\] must be a list of 1 rows; got 0",
    ),
    "block row": (
        change("layered", "weights", "blocks", 0, 2, 1),
        r"weights.blocks\[0\]\[2\] must be a list of 2 numbers; got 1",
    ),
}


@pytest.mark.parametrize(("text", "message"), JSON_ERRORS.values(), ids=JSON_ERRORS)
def test_what_is_wrong_with_a_text(text, message, tmp_path):
    path = tmp_path / "wrong.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidFile, match=f"wrong.json: (?s:.*){message}"):
        load(path)
