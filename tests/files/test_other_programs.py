"""Files of GeNIe, Hugin, Netica and Microsoft, BIF as others write it, and names that others cannot read."""

import warnings

import numpy as np
import pytest
from benchmarks.fuzz_originals import DSC, HUGIN, NETICA, XDSL
from table_zoo import BIF, READERS, XMLBIF, change, joint, joint_of, noisy_or

import plefka as pf
from plefka.errors import InvalidFile, PlefkaWarning
from plefka.files import bif
from plefka.files.conditional_tables import TableNetwork
from plefka.files.from_tables import network_of, tabled
from plefka.files.scanner import Scanner

TEXTS = {".xdsl": XDSL.decode("latin-1"), ".net": HUGIN.decode(), ".dne": NETICA.decode(), ".dsc": DSC.decode()}


def read(suffix: str, text: str) -> TableNetwork:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlefkaWarning)
        return READERS[suffix](text.encode("latin-1" if suffix == ".xdsl" else "utf-8"))


def states_and_tables(tables):
    return [(unit.name, unit.states, unit.parents, unit.table.tolist()) for unit in tabled(tables).units]


def test_genie_by_hand():
    """The columns of a `noisymax` are those of flu = yes and no, cold = State0 and State1, and the leak."""
    tables = read(".xdsl", TEXTS[".xdsl"])
    flu, cold, fever, either = states_and_tables(tables)
    assert flu == ("flu", ("no", "yes"), (), 0.1)
    assert cold[:3] == ("cold", ("State0", "State1"), (0,))
    assert cold[3] == [0.8, 0.7]
    assert fever[1] == ("State1", "State0")  # what a noisy-or brings about is on
    assert np.allclose(fever[3], [[0.01, 1 - 0.99 * 0.5], [1 - 0.99 * 0.2, 1 - 0.99 * 0.1]], rtol=1e-15)
    assert either == ("either", ("false", "true"), (0, 1), [[1, 0], [1, 1]])
    network = network_of(tables)
    assert np.abs(joint_of(network) - joint(tabled(tables))).max() < 1e-12
    assert str(network.units[2].kind) == "NoisyOr()"


def test_hugin_by_hand():
    with pytest.warns(
        PlefkaWarning, match="probabilities of C4, C1 did not add up to one, by up to 99, and were divided"
    ):
        tables = READERS[".net"](HUGIN)
    c4, c1, c2 = states_and_tables(tables)
    assert c4 == ("C4", ("State 1", "State 2"), (), 0.9)
    assert np.allclose(c1[3], [0.9, 2 / 3], rtol=1e-6)
    assert c2 == ("C2", ("false", "true"), (0, 1), [[0, 0.5], [0.75, 0.998]])


def test_a_class_of_hugin_is_its_network():
    nodes = TEXTS[".net"].partition("}\n")[2].replace("\n", "\r\n")
    head = 'class Clinic\r\n{\r\n    inputs = ();\r\n    node_size = (80 40);\r\n    HR_Desc = "";\r\n'
    tables = read(".net", f"{head}{nodes}\r\n}} % class Clinic\r\n")
    assert states_and_tables(tables) == states_and_tables(read(".net", TEXTS[".net"]))
    with pytest.raises(InvalidFile, match="must be the end of the file; got 'class'"):
        read(".net", f"{head}{nodes}}} class Other {{ }}")
    with pytest.raises(InvalidFile, match="'Ward' is of the kind 'instance'"):
        read(".net", f"{head}{nodes} instance Ward : Other () {{ }} }}")
    with pytest.raises(InvalidFile, match="Was it cut off"):
        read(".net", f"{head}{nodes}")


def test_places_are_lines_and_columns():
    """Asked for one after the other, on one line and on several."""
    scan = Scanner(b"ab c\n\n  d e // x\nf", bif.SKIPPED, bif.WORD)
    places = []
    while not scan.is_done:
        places += [scan.place(), scan.place()]
        scan.advance()
    expected = [(1, 1), (1, 4), (3, 3), (3, 5), (4, 1)]
    assert places == [f"line {line}, column {column}: " for line, column in expected for _ in range(2)]


def test_netica_by_hand():
    flu, cold, fever, both = states_and_tables(read(".dne", TEXTS[".dne"]))
    assert flu == ("flu", ("absent", "present"), (), 0.01)
    assert cold == ("cold", ("FALSE", "TRUE"), (0,), [0.3, 0.8])
    assert fever[:3] == ("fever", ("absent", "present"), (1, 0))
    assert np.allclose(fever[3], [[0.1, 1 - 0.9 * 0.2], [1 - 0.9 * 0.5, 1 - 0.9 * 0.1]], rtol=1e-15)
    assert both == ("both", ("false", "true"), (0, 1), [[0, 0], [1, 0]])


def test_dsc_by_hand():
    asia, tub, xray = states_and_tables(read(".dsc", TEXTS[".dsc"]))
    assert asia == ("asia", ("no", "yes"), (), 0.01)
    assert tub == ("tub", ("absent", "present"), (0,), [0.01, 0.05])
    assert xray == ("xray", ("low", "high"), (0, 1), [[0.7, 0.5], [0.1, 0.5]])


def wide_genie(count, states=("yes", "no"), strengths="0 1"):
    shown = f'<state id="{states[0]}"/><state id="{states[1]}"/>'
    causes = "".join(f'<cpt id="c{k}">{shown}<probabilities>0.1 0.9</probabilities></cpt>' for k in range(count))
    parents = " ".join(f"c{k}" for k in range(count))
    columns = "0.5 0.5 0 1 " * count if strengths == "0 1" else "0 1 0.5 0.5 " * count
    inside = f"<strengths>{f'{strengths} ' * count}</strengths><parameters>{columns} 0.01 0.99</parameters>"
    child = f'<noisymax id="x">{shown}<parents>{parents}</parents>{inside}</noisymax>'
    return f"<smile><nodes>{causes}{child}</nodes></smile>"


def wide_netica(count):
    nodes = "".join(f"node c{k} {{ states = (yes, no); probs = (0.1, 0.9); }};" for k in range(count))
    names = [f"c{k}" for k in range(count)]
    terms = ", ".join(f"{name}, 0.5" for name in names)
    equation = f"x ({', '.join(names)}) = NoisyOrDist (x, 0.01, {terms})"
    child = f'states = (yes, no); parents = ({", ".join(names)}); equation = "{equation}";'
    return f"bnet n {{ {nodes} node x {{ {child} }}; }};"


@pytest.mark.parametrize(("suffix", "text"), [(".xdsl", wide_genie(300)), (".dne", wide_netica(300))])
def test_a_noisy_or_of_300_parents_stays_one(suffix, text, tmp_path):
    (tmp_path / f"wide{suffix}").write_text(text)
    network = pf.load(tmp_path / f"wide{suffix}")
    assert (network.activation.name, network.num_edges) == ("noisy_or", 300)
    expected = 1 - 0.99 * 0.95**300
    assert abs(pf.infer(network, None, "exact")["x"] - expected) < 1e-12
    pf.convert(tmp_path / f"wide{suffix}", tmp_path / "wide.json")
    assert pf.load(tmp_path / "wide.json").num_edges == 300
    with pytest.raises(InvalidFile, match="unit 'x' has 300"):
        pf.load_tables(tmp_path / f"wide{suffix}")
    for approximate in (None, 0.01):
        with pytest.raises(InvalidFile, match="unit 'x' has 300"):
            pf.convert(tmp_path / f"wide{suffix}", tmp_path / "wide.bif", approximate)


def test_a_noisy_or_of_states_that_are_off_becomes_a_table():
    """As long as it has few parents; P(x = no) grows with the number of parents in the state no."""
    tables = tabled(read(".xdsl", wide_genie(2, ("no", "yes"))))
    assert tables.units[2].states == ("no", "yes")
    assert np.allclose(tables.units[2].table, [[0.99 * 0.25, 0.99 * 0.5], [0.99 * 0.5, 0.99]], rtol=1e-14)
    some = tabled(read(".xdsl", wide_genie(2, strengths="1 0")))
    assert np.allclose(some.units[2].table, [[1 - 0.99 * 0.25, 1 - 0.99 * 0.5], [1 - 0.99 * 0.5, 0.01]], rtol=1e-14)
    with pytest.raises(
        InvalidFile, match="in the noisy-or 'x' of 11 parents, what is on must come from parents that are"
    ):
        read(".xdsl", wide_genie(11, ("no", "yes")))


def test_a_noisy_or_with_a_leak_of_one():
    text = change(wide_genie(3), "0.01 0.99", "1 0")
    network = network_of(read(".xdsl", text))
    assert pf.infer(network, None, "exact")["x"] == (network.states[3][1] == "yes")


@pytest.mark.parametrize("suffix", [".bifxml", ".dnet", ".net", ".dne", ".dsc", ".xdsl"])
def test_suffixes_select_the_reader(suffix, tmp_path):
    text = {".bifxml": XMLBIF, ".dnet": TEXTS[".dne"], **TEXTS}[suffix]
    path = tmp_path / f"net{suffix}"
    path.write_bytes(text.encode("latin-1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlefkaWarning)
        network = pf.load(path)
    assert abs(joint_of(network).sum() - 1) < 1e-12
    if suffix != ".bifxml":
        with pytest.raises(InvalidFile, match=r"can be read but not written\. Choose one of \.bif"):
            pf.save(noisy_or(np.zeros((1, 1)), [1.0]), path)


BINARY = "<state id='y'/><state id='n'/>"
BAD = {
    "genie: decision": (
        ".xdsl",
        '<cpt id="cold"',
        '<decision id="cold"',
        r"line 5: nodes must be .*'cold' is of the kind 'decision'",
    ),
    "genie: three states": (
        ".xdsl",
        '<state id="no" />',
        '<state id="no" /><state id="x" />',
        "line 4: .*'flu' has 3: yes, no, x",
    ),
    "genie: entity": (".xdsl", "?>", '?><!DOCTYPE a [<!ENTITY b "c">]>', "must not declare entities"),
    "genie: other XML": (
        ".xdsl",
        "<smile ",
        "<BIF ",
        "line 2: must be an element of GeNIe's .* got 'BIF'",
    ),
    "genie: unknown": (
        ".xdsl",
        "<strengths>",
        "<temporal/><strengths>",
        "line 10: must be an element of GeNIe's .* got 'temporal'",
    ),
    "genie: twice": (
        ".xdsl",
        "<strengths>",
        "<parents>flu</parents><strengths>",
        "line 10: must be an element of GeNIe's .* got 'parents'",
    ),
    "genie: columns": (
        ".xdsl",
        "0.8 0.2 0 1 0 1",
        "0.8 0.2 0 1 0.1 0.9",
        "line 9: each parent of the noisy-or 'fever' must have a state",
    ),
    "genie: strengths": (".xdsl", "0 1 1 0<", "0 1 1 1<", "line 9: each parent of the noisy-or 'fever'"),
    "genie: too few": (".xdsl", "0.8 0.2 0 1 0 1", "0.8 0.2 0 1", "line 9: in the table of 'fever', .* got the end"),
    "genie: result": (
        ".xdsl",
        "true true true false",
        "true true true maybe",
        "'either' must have its states true, false here; got",
    ),
    "genie: parent": (
        ".xdsl",
        "<parents>flu<",
        "<parents>flue<",
        "a parent of 'cold' must be .* got 'flue'. Did you mean 'flu'",
    ),
    "hugin: decision": (
        ".net",
        "discrete node C1",
        "decision C1",
        "line 13, column 1: nodes must be .*'C1' is of the kind 'decision'",
    ),
    "hugin: utility": (".net", "node C2 {", "utility C2 {", "'C2' is of the kind 'utility'"),
    "hugin: continuous": (
        ".net",
        "discrete node C1",
        "continuous node C1",
        "'C1' is of the kind 'continuous node'",
    ),
    "hugin: three states": (".net", '"State 2"', '"State 2" "x"', "'C4' has 3: State 1, State 2, x"),
    "hugin: no data": (
        ".net",
        "data = ( 10 90 );",
        "",
        "line 15, .*the table of 'C4' must have 2 probabilities, .*; got 0",
    ),
    "hugin: parentheses": (".net", "( 10 90 )", "( 10 90 ", "preceded by as many"),
    "hugin: unknown": (".net", "subtype = boolean", "subtyp = boolean", "does not know the attribute 'subtyp' of 'C1'"),
    "hugin: zeros": (
        ".net",
        "( 10 90 )",
        "( 0 0 )",
        "probabilities must be between 0 and 1; got nan in the table of 'C4'",
    ),
    "hugin: string": (".net", '; }";', "; };", "must be|a word"),
    "netica: decision": (
        ".dne",
        "kind = NATURE;\n",
        "kind = DECISION;\n",
        "line 12, .*'flu' is of the kind 'DECISION'",
    ),
    "netica: continuous": (".dne", "discrete = TRUE;\n", "discrete = FALSE;\n", "'flu' is of the kind 'continuous'"),
    "netica: three states": (".dne", "(FALSE, TRUE)", "(FALSE, TRUE, MAYBE)", "'cold' has 3: FALSE, TRUE, MAYBE"),
    "netica: unknown": (".dne", "chance = CHANCE", "chanc = CHANCE", "does not know the attribute 'chanc' of 'flu'"),
    "netica: twice": (".dne", "parents = ();", "parents = (); parents = ();", "'flu' must have 'parents' once"),
    "netica: impossible": (".dne", "0.99)", "@imposs)", "must be a probability or ';'; got '@imposs'"),
    "netica: equation": (
        ".dne",
        "NoisyOrDist (",
        "NormalDist (",
        "'fever' must have probs, a functable, or an equation NoisyOrDist",
    ),
    "netica: one minus": (".dne", "= NoisyOrDist", "= 1 - NoisyOrDist", "'fever' must have probs"),
    "netica: probability": (".dne", "TRUE, 0.5)", "TRUE, 1.5)", "'fever' must have probs"),
    "netica: parents": (".dne", "flu, 0.8, ", "", "'fever' must have probs"),
    "netica: state": (".dne", "== TRUE,", "== MAYBE,", "an equation must name a state of 'cold', FALSE, TRUE; got"),
    "netica: end": (".dne", "fever, both);\n};", "fever, both);\n}; node", "must be the end of the file; got 'node'"),
    "dsc: function": (".dsc", "default :", "function : max; default :", "line 14, .*must be a row .*; got 'function'"),
    "dsc: numbers of states": (".dsc", "(0, 0)", "(0, 2)", "must be a state of 'tub'; got '2'"),
    "dsc: three states": (".dsc", '[2] = { "low", "high" }', '[3] = { "low", "high", "x" }', "'xray' has 3"),
    "dsc: decision": (
        ".dsc",
        "node tub",
        "decision tub",
        "must be 'belief' or 'node' or 'probability'; got 'decision'",
    ),
    "dsc: all at once": (
        ".dsc",
        "default : 0.5, 0.5;",
        "0.5, 0.5, 0.5, 0.5, 1, 0, 1, 0;",
        "must be a row .*; got '0.5'",
    ),
}


@pytest.mark.parametrize(("suffix", "old", "new", "message"), BAD.values(), ids=BAD)
def test_what_is_not_understood_is_refused_by_name(suffix, old, new, message):
    with pytest.raises(InvalidFile, match=message):
        read(suffix, change(TEXTS[suffix], old, new))


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".net", "node a " + "{" * 10**5),
        (".net", "node a { states = " + "(" * 10**5),
        (".dne", "bnet a { visual V1 " + "{" * 10**5),
        (".dne", "bnet a { node b { title = " + "(" * 10**5 + ";"),
        (".dne", 'bnet a { node b { states = (y, n); equation = "NoisyOrDist(' + " " * 10**5 + 'x"; }; };'),
        (".dne", f"bnet a {{ node b {{ states = (y, n); parents = ({', '.join('p' * 2000)}); probs = (1); }}; }};"),
        (".dsc", 'belief network "a" node b { type : ' + "[" * 10**5),
        (".dsc", 'belief network "a" node b { type : discrete[99999999999] = { y, n }; }'),
        (".xdsl", "<smile>" + "<nodes>" * 10**5),
        (".xdsl", f"<smile><nodes><cpt id='a'>{BINARY}<parents>{'p ' * 60}</parents></cpt></nodes></smile>"),
        (
            ".xdsl",
            f"<smile><nodes><noisymax id='a'>{BINARY}<parents>{'p ' * 10**4}</parents></noisymax></nodes></smile>",
        ),
    ],
)
def test_bombs_are_refused(suffix, text):
    with pytest.raises(InvalidFile):
        read(suffix, text)


# ---- BIF as others write it, and for others --------------------------------------------------------------------------


def test_comments_may_follow_a_word_at_once():
    glued = change(BIF, "yes, no }; }", "yes/* one */, no// the other\n }; }")
    glued = change(glued, "0.99, 0.01;", "0.99|0.01// x\n;")
    again, tables = bif.loads(glued.encode()), bif.loads(BIF.encode())
    assert states_and_tables(again) == states_and_tables(tables)


def test_words_with_a_slash_are_words():
    tables = bif.loads(
        change(BIF, "yes, no }", "yes/no, no/yes }").replace("(yes,", "(yes/no,").replace("(no,", "(no/yes,").encode()
    )
    assert tables.units[0].states == ("yes/no", "no/yes")
    with pytest.warns(PlefkaWarning):
        assert states_and_tables(bif.loads(bif.dumps(tables))) == states_and_tables(tables)


def test_rounded_rows_are_normalised_and_said():
    rounded = change(BIF, "table 0.1, 0.9;", "table 0.333333, 0.666666;")
    with pytest.warns(PlefkaWarning, match="the probabilities of flu did not add up to one, by up to 1e-06"):
        tables = bif.loads(rounded.encode())
    assert abs(float(tables.units[0].table) - 1 / 3) < 1e-15


@pytest.mark.parametrize(
    ("names", "states", "odd"),
    [
        (["flu", "fever-2"], ("no", "yes"), None),
        (["flu", "_a"], ("0", "1"), None),
        (["sore throat", "größe"], ("no", "yes"), "'sore throat', 'größe'"),
        (["a//b", "1a"], ("no", "yes"), "'a//b', '1a'"),
        (["a", "b"], ("not seen", "seen"), "'not seen'"),
    ],
)
def test_names_that_others_may_not_read_are_said(names, states, odd, tmp_path):
    network = noisy_or([[0, 0], [1, 0]], [0.1, 0.2], names, [states] * 2)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pf.save(network, tmp_path / "net.bif")
    again = pf.load(tmp_path / "net.bif")
    assert (again.names, again.states) == (network.names, network.states)
    assert len(found) == (odd is not None)
    if odd is not None:
        assert f"may not read {odd}. Rename them, or write .xmlbif, which holds any name." in str(found[0].message)
    pf.save(network, tmp_path / "net.bifxml")
    assert pf.load(tmp_path / "net.bifxml").names == network.names
