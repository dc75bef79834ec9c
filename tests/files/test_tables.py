"""Formats of tables: what is read, that writing and reading keep the distribution, and what is said of bad files."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from format_zoo import ZOO
from table_zoo import (
    BIF,
    OTHER_SUFFIXES,
    READERS,
    REAL,
    TEXTS,
    UAI,
    WRITERS,
    XMLBIF,
    change,
    joint,
    joint_of,
    noisy_or,
    random_tables,
    read_real,
)

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput
from plefka.files import TABLE_FORMATS, bif, convert, load_evidence, load_tables, uai, xmlbif
from plefka.files.from_tables import tables_of
from plefka.tables import disk


def test_bif_by_hand():
    flu, cold, throat = bif.loads(BIF.encode()).units
    assert (flu.states, flu.table) == (("no", "yes"), 0.1)
    assert (cold.states, cold.table) == (("absent", "present"), 0.3)
    assert (throat.name, throat.parents) == ("sore throat", (0, 1))
    assert throat.table.tolist() == [[0.01, 0.75], [0.8, 0.75]]  # by flu and cold, off first


def test_a_whole_table_of_bif_has_the_states_of_the_child_slowest():
    text = BIF[: BIF.index("{ /* by rows")] + "{ table 0.25, 0.2, 0.5, 0.99, 0.75, 0.8, 0.5, 0.01; }"
    throat = bif.loads(text.encode()).units[2]
    assert throat.table[1].tolist() == [0.75, 0.8]  # flu, which the file has first


def test_xmlbif_by_hand():
    flu, fever = xmlbif.loads(XMLBIF.encode()).units
    assert (flu.states, flu.table) == (("no", "yes"), 0.1)
    assert (fever.states, fever.table.tolist()) == (("low", "high"), [0.1, 0.8])


@pytest.mark.parametrize("suffix", [".uai", ".erg"])
def test_uai_by_hand(suffix):
    tables = READERS[suffix](TEXTS[suffix].encode())
    assert not tables.named
    assert tables.states is None
    assert tables.units[2].parents == (1, 0)
    assert tables.units[2].table.tolist() == [[0, 0.5], [0.6, 0.8]]  # the last varies fastest: the child, then unit 0


@pytest.mark.parametrize(
    ("states", "on"),
    [
        ("yes no", "yes"),
        ("No Yes", "Yes"),
        ("True False", "True"),
        ("present absent", "present"),
        ("1 0", "1"),
        ("positive negative", "positive"),
        ("low high", "high"),
        ("a b", "b"),
        ("severe no", "severe"),
        ("on off", "on"),
    ],
)
def test_which_state_is_on(states, on):
    text = f"variable x {{ type discrete [ 2 ] {{ {states} }}; }} probability ( x ) {{ table 0.25, 0.75; }}"
    unit = bif.loads(text.encode()).units[0]
    assert unit.states[1] == on
    assert unit.table == (0.25 if on == states.split()[0] else 0.75)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_written_reads_back_as_the_same_tables(suffix, seed):
    tables = random_tables(8, 5, seed, zeros=True)
    again = READERS[suffix](WRITERS[suffix](tables))
    assert np.abs(joint(again) - joint(tables)).max() < 1e-15
    if suffix != ".uai":
        assert (again.names, again.states) == (tables.names, tables.states)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", REAL)
def test_real_networks_keep_their_tables(name, suffix):
    tables = read_real(name)
    again = READERS[suffix](WRITERS[suffix](tables))
    for before, after in zip(tables.units, again.units, strict=True):
        assert before.parents == after.parents
        assert np.abs(before.table - after.table).max() < 1e-15


NETWORKS = {
    "noisy-or": noisy_or(
        [[0, 0, 0], [1, 0, 0], [0.5, np.inf, 0]], [0.1, 0.2, 0], ["a", "b-b", "c"], [("no", "yes")] * 3
    ),
    "inhibitor": noisy_or([[0, 0, 0], [0, 0, 0], [1, -0.5, 0]], [0.1, 0.2, 0.7], ["a", "b", "c"]),
    "sigmoid": pf.BeliefNetwork(np.tril(np.ones((4, 4)), -1), [0, -1, 1, -3], names=list("abcd")),
}


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("suffix", [*WRITERS, ".xml"])
@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_saved_as_tables_has_the_same_distribution(kind, suffix, gz, tmp_path):
    network = NETWORKS[kind]
    pf.save(network, tmp_path / f"net{suffix}{gz}")
    again = pf.load(tmp_path / f"net{suffix}{gz}")
    assert again.activation.name == network.activation.name
    assert np.abs(joint_of(again) - joint_of(network)).max() < 1e-12
    if suffix != ".uai":
        assert (again.names, again.states) == (network.names, network.states)


@pytest.mark.parametrize("suffix", [".json.gz", ".npz.gz"])
def test_native_files_may_be_packed(suffix, tmp_path):
    network = NETWORKS["noisy-or"]
    pf.save(network, tmp_path / f"net{suffix}")
    again = pf.load(tmp_path / f"net{suffix}")
    assert (again.names, again.states) == (network.names, network.states)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_states_are_saved(suffix, tmp_path):
    states = [("no", "yes"), ("größe", "雨"), ("0", "1")]
    network = pf.BeliefNetwork(np.zeros((3, 3)), np.zeros(3), states=states)
    pf.save(network, tmp_path / f"net{suffix}")
    assert pf.load(tmp_path / f"net{suffix}").states == tuple(states)
    assert pf.BeliefNetwork(np.zeros((1, 1)), [0], states=[("0", "1")]).given_states is None


def test_evidence_of_the_competitions(tmp_path):
    assert uai.loads_evidence(b"2 5 1 3 0") == {5: "1", 3: "0"}
    assert uai.loads_evidence(b"1\n2 5 1 3 0\n") == {5: "1", 3: "0"}
    assert uai.loads_evidence(b"2\n1 5 1\n1 3 0\n") == [{5: "1"}, {3: "0"}]
    assert uai.loads_evidence(b"0") == {}
    (tmp_path / "net.uai").write_text(UAI)
    (tmp_path / "net.uai.evid").write_text("1 2 1")
    tables, evidence = load_tables(tmp_path / "net.uai"), load_evidence(tmp_path / "net.uai.evid")
    assert (len(tables.units), evidence) == (3, {2: "1"})
    network = noisy_or(np.zeros((3, 3)), np.ones(3))
    assert pf.infer(network, evidence, "exact").log_likelihood == pytest.approx(np.log(1 - np.exp(-1)))
    for text in (b"", b"2 5 1", b"1 5 2", b"2 5 1 5 0", b"1 x 0"):
        with pytest.raises(InvalidFile, match=r"must be|must have|must occur"):
            uai.loads_evidence(text)
    with pytest.raises(InvalidFile, match=r"must end with .evid"):
        load_evidence(tmp_path / "net.uai")


def bif_with(old, new, message):
    """A case of a BIF file with a change, and what is said of it."""
    return ".bif", change(BIF, old, new), message


BAD = {
    "rows": (
        ".bif",
        change(BIF, "0.99, 0.01", "0.99, 0.02"),
        r"line 10, .*must add up to one; those of 'sore throat' add up to 1.01",
    ),
    "root": (".bif", change(BIF, "0.1, 0.9", "0.1, 0.8"), "must add up to one; those of 'flu' add up to 0.9"),
    "outside": (".bif", change(BIF, "0.1, 0.9", "-0.1, 1.1"), r"between 0 and 1; got -0.1 in the table of 'flu'"),
    "huge": (".bif", change(BIF, "0.1, 0.9", "1e999, 0"), r"between 0 and 1; got inf"),
    "unknown parent": (
        ".bif",
        change(BIF, "| flu,", "| flue,"),
        "a parent of 'sore throat' must be a variable .*got 'flue'. Did you mean 'flu'",
    ),
    "unknown child": (".bif", change(BIF, "( flu )", "( flue )"), "the child of a table must be .*'flue'"),
    "a table twice": (".bif", BIF + "probability ( flu ) { table 0.1, 0.9; }", "one table; got a second one for 'flu'"),
    "no table": (
        ".bif",
        change(BIF, "probability ( flu ) { table 0.1, 0.9; }", ""),
        "every variable must have a table; there is none for 'flu'",
    ),
    "twice": (
        ".bif",
        change(BIF, "variable cold", "variable flu"),
        "line 6, column 10: the names of variables must be unique; got 'flu' twice",
    ),
    "cycle": (
        ".bif",
        change(BIF, "( flu ) { table 0.1, 0.9; }", '( flu | "sore throat" ) { (no) 0.1, 0.9; (yes) 0.2, 0.8; }'),
        "acyclic; got the cycle .*flu -> sore throat",
    ),
    "loop": (
        ".bif",
        change(BIF, "( flu ) { table 0.1, 0.9; }", "( flu | flu ) { (no) 0.1, 0.9; (yes) 0.2, 0.8; }"),
        "acyclic; got the cycle flu -> flu",
    ),
    "parent twice": (
        ".bif",
        change(BIF, "| flu, cold", "| flu, flu").replace("absent) ", "no) "),
        "parents of 'sore throat' must differ|rows of",
    ),
    "three": (
        ".bif",
        change(BIF, "[ 2 ] { yes, no }", "[ 3 ] { yes, no, maybe }"),
        "line 5, column 10: variables must have two states; 'flu' has 3: yes, no, maybe",
    ),
    "count": bif_with("[ 2 ] { yes, no }", "[ 2 ] { yes, no, maybe }", "must be 2 states; got 3: yes, no, maybe"),
    "the same": bif_with("{ yes, no }", "{ yes, yes }", "the states of 'flu' must differ; got 'yes' twice"),
    "a state": bif_with("(no, absent)", "(no, abset)", "must be a state of 'cold'; got 'abset'. Did you mean 'absent'"),
    "states": bif_with("(no, absent)", "(no)", "a state for each of the 2 parents .*got 1"),
    "a row twice": bif_with("(no, absent)", "(yes, absent)", "rows of 'sore throat' must differ"),
    "numbers": bif_with("0.99, 0.01", "0.99", "a probability for each of the two states .*got 1"),
    "a row missing": bif_with("default 0.25, 0.75;", "", "a row for each of the 4 states of its parents; got 2"),
    "short": bif_with("0.1, 0.9", "0.1", "'flu' must have 2 probabilities.*got 1"),
    "both": bif_with("default 0.25, 0.75;", "default 0.25, 0.75; table 1 1 1 1 0 0 0 0;", "has both"),
    "a word": bif_with("0.99, 0.01", "0.99, x", "line 12, column 22: must be a probability or ';'; got 'x'"),
    "a key": bif_with(
        "variable flu",
        "varable flu",
        "line 5, column 1: must be 'network' or 'variable' or 'probability'; got 'varable'",
    ),
    "a comment": (".bif", BIF + "/* the end", r"line 16, column 1: a comment must end"),
    "cut off": (".bif", BIF[:-3], "got the end of the file. Was it cut off"),
    "empty": (".bif", " ", "empty file"),
    "not UTF-8": (".bif", BIF.replace("flu", "fl\xff").encode("latin1"), "in UTF-8"),
    "the other order": (
        ".bif",
        change(BIF[: BIF.index("{ /*")] + "{ table 0.9 0.1 0.2 0.8 0.3 0.7 0.6 0.4; }", " | flu,", " | flu"),
        "would if the states of the child came first",
    ),
    "xml rows": (".xmlbif", change(XMLBIF, "0.1 0.9<", "0.1 0.8<"), "line 5: .*add up to 0.9"),
    "xml count": (".xmlbif", change(XMLBIF, "0.1 0.9<", "0.1<"), "in the table of 'flu', .*got the end"),
    "xml more": (
        ".xmlbif",
        change(XMLBIF, "0.1 0.9<", "0.1 0.9 0.2<"),
        "in the table of 'flu', .*the end of the table after 2",
    ),
    "xml number": (
        ".xmlbif",
        change(XMLBIF, "0.1 0.9<", "0.1 x<"),
        "in the table of 'flu', line 1, column 5: must be a probability; got 'x'",
    ),
    "xml syntax": (".xmlbif", change(XMLBIF, "</VARIABLE>", ""), "line 7, column 3: must be XML; got mismatched tag"),
    "xml cut off": (".xmlbif", XMLBIF[:300], "must be XML; got"),
    "xml empty": (".xmlbif", "", "must be XML; got no element found"),
    "other xml": (".xmlbif", "<html></html>", "must be XMLBIF"),
    "xml without": (
        ".xmlbif",
        change(XMLBIF, "<FOR>flu</FOR>", ""),
        "line 5: there must be one FOR element here; got 0",
    ),
    "xml three": (
        ".xmlbif",
        change(XMLBIF, "<OUTCOME>yes", "<OUTCOME>maybe</OUTCOME><OUTCOME>yes"),
        "line 3: .*two states; 'flu' has 3",
    ),
    "xml parent": (".xmlbif", change(XMLBIF, "<GIVEN>flu", "<GIVEN>flue"), "a parent of 'fever' must be a variable"),
    "xml deep": (".xmlbif", "<a>" * 40, "must not be nested more than 32 levels deep"),
    "entities": (".xmlbif", '<!DOCTYPE b [<!ENTITY a "aaaa">]><BIF>&a;</BIF>', "line 1: XML must not declare entities"),
    "outer entities": (
        ".xmlbif",
        '<!DOCTYPE b [<!ENTITY a SYSTEM "file:///etc/passwd">]><BIF>&a;</BIF>',
        "must not declare entities",
    ),
    "undefined entity": (
        ".xmlbif",
        change(XMLBIF, "<NAME>fever", "<NAME>fe&eacute;ver"),
        "line 4: XML must only use the entities amp, .*; got &eacute;, which is not defined. Write out",
    ),
    "skipped entity": (
        ".xmlbif",
        change(change(XMLBIF, "<BIF", '<!DOCTYPE BIF SYSTEM "bif.dtd"><BIF'), "<NAME>fever", "<NAME>fe&eacute;ver"),
        "line 4: XML must only use the entities .*; got &eacute;, which is not defined",
    ),
    "skipped entity in a table": (
        ".xmlbif",
        change(change(XMLBIF, "<BIF", "<!DOCTYPE BIF [ %more; ]><BIF"), "0.1 0.9<", "0.1 0.9&nine;<"),
        "line 5: XML must only use the entities .*; got &nine;, which is not defined",
    ),
    "undefined entity in an attribute": (
        ".xmlbif",
        change(XMLBIF, 'TYPE="nature"><NAME>fever', 'TYPE="a&amp;&nature;"><NAME>fever'),
        "line 4: XML must only use .*; got &nature;,",
    ),
    "undefined entity in UTF-16": (
        ".xmlbif",
        change(XMLBIF, "<NAME>fever", "<NAME>fe&eacute;ver").encode("utf-16"),
        "line 4: XML must only use .*; got &eacute;,",
    ),
    "encoding": (".xmlbif", '<?xml version="1.0" encoding="klingon"?><BIF/>', "encoding"),
    "multi-byte encoding": (
        ".xmlbif",
        '<?xml version="1.0" encoding="UTF-7"?><BIF/>',
        "known encoding, preferably UTF-8",
    ),
    "other kind": (".uai", change(UAI, "BAYES", "BAYS"), "line 1, column 1: must be 'BAYES' or 'MARKOV'; got 'BAYS'"),
    "no header": (".uai", change(UAI, "BAYES\n", ""), "line 1, column 1: must be 'BAYES' or 'MARKOV'; got '3'"),
    "uai three": (".uai", change(UAI, "2 2 2", "2 3 2"), "line 3, column 3: variables must have two states; '1' has 3"),
    "uai tables": (".uai", change(UAI, "2 2 2\n3", "2 2 2\n2"), "a table for each of the 3 variables; got 2"),
    "uai unknown": (
        ".uai",
        change(UAI, "3 1 0 2", "3 1 7 2"),
        "line 7, column 5: must be the index of a variable, a whole number from 0 to 2; got '7'",
    ),
    "uai size": (
        ".uai",
        change(UAI, "8\n 1 0", "6\n 1 0"),
        "line 13, column 1: the table of '2' must have 8 probabilities.*got 6",
    ),
    "uai cut off": (".uai", UAI[:-12], "cut off"),
    "uai twice": (".uai", change(UAI, "1 1\n", "1 0\n"), "second one for '0'"),
    "uai empty scope": (".uai", change(UAI, "1 1\n", "0\n"), "table of at least one variable"),
    "uai wide": (
        ".uai",
        f"BAYES 40 {'2 ' * 40} 40 "
        + "".join(f"{k + 1} {' '.join(map(str, range(k + 1)))} " for k in range(40))
        + "2 1 0 " * 40,
        "at most 20 parents|probabilities",
    ),
    "uai empty": (".uai", "", "empty file"),
    "uai more": (
        ".uai",
        UAI + "garbage",
        "line 18, column 1: must be the end of the file after the last table; got 'ga",
    ),
    "uai another table": (".uai", UAI + "2\n 0.5 0.5\n", "must be the end of the file after the last table; got '2'"),
    "erg more": (
        ".erg",
        TEXTS[".erg"] + "no yes " * 3 + "x",
        "must be the end of the file after the labels .*; got 'x'",
    ),
    "erg a word": (".erg", TEXTS[".erg"][: TEXTS[".erg"].index("b c")], "must be the name of variable 1, as for those"),
    "erg labels": (
        ".erg",
        TEXTS[".erg"] + "no yes no",
        "must be the labels of variable 1, as for those before it; got the",
    ),
    "erg parents": (".erg", "2 2 2 5 1", "the number of parents, a whole number from 0 to 1; got '5'"),
}


@pytest.mark.parametrize(("suffix", "text", "message"), BAD.values(), ids=BAD)
def test_bad_files_say_what_is_wrong_and_where(suffix, text, message, tmp_path):
    path = tmp_path / f"net{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidFile, match=message) as error:
        load_tables(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_parent_of_many_is_not_counted_in_full():
    parents = "".join(f"<GIVEN>{k}</GIVEN>" for k in range(20_000))
    text = f"<BIF><NETWORK><DEFINITION><FOR>x</FOR>{parents}<TABLE>1</TABLE></DEFINITION></NETWORK></BIF>"
    with pytest.raises(InvalidFile, match="at most 20 parents; 'x' has 20000"):
        xmlbif.loads(text.encode())


def test_defaults_do_not_take_all_memory():
    names = [f"x{k}" for k in range(40)]
    text = "".join(f"variable {n} {{ type discrete [ 2 ] {{ a, b }}; }}" for n in names)
    tables = "".join(f"probability ( {n} | {', '.join(names[:20])} ) {{ default 0.5, 0.5; }}" for n in names[20:])
    with pytest.raises(InvalidFile, match="'default' must have at most 4,194,304 entries"):
        bif.loads((text + tables).encode())


def test_bombs_are_refused(tmp_path):
    bomb = tmp_path / "bomb.bif.gz"
    bomb.write_bytes(gzip.compress(b" " * (disk.LARGEST_UNPACKED + 1), 9))
    with pytest.raises(InvalidFile, match="at most 67,108,864 bytes when unpacked"):
        pf.load(bomb)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" * (disk.LARGEST_JSON + 1)))
    with pytest.raises(InvalidFile, match="Unpack it yourself"):
        pf.load(bomb)


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(BIF.encode())[:-20]])
def test_what_is_not_packed_is_refused(content, tmp_path):
    (tmp_path / "net.bif.gz").write_bytes(content)
    with pytest.raises(InvalidFile, match=r"must be a gzip file|empty file"):
        pf.load(tmp_path / "net.bif.gz")


def test_networks_that_no_table_holds(tmp_path):
    wide = np.zeros((18, 18))
    wide[17, :17] = 1
    for network, message in [
        (
            noisy_or(wide, np.ones(18)),
            "at most 16 parents, .*unit '17' has 17. Keep this network in plefka's own format",
        ),
        (ZOO["dense stack"], "store one network; got a stack of 2"),
        ("net", "must be a BeliefNetwork; got str"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            pf.save(network, tmp_path / "net.bif")
    with pytest.raises(InvalidFile, match="quotation mark"):
        pf.save(noisy_or(np.zeros((1, 1)), [1], ['a "b"']), tmp_path / "net.bif")
    with pytest.raises(
        InvalidFile, match=r"can be read but not written. Choose one of .bif, .xmlbif, .bifxml, .xml, .uai\."
    ):
        pf.save(NETWORKS["sigmoid"], tmp_path / "net.erg")
    with pytest.raises(InvalidFile, match=r"activation is only for \.json and \.npz files"):
        pf.load(tmp_path / "net.bif", activation="sigmoid")
    with pytest.raises(InvalidFile, match="approximate is only for formats of tables"):
        pf.load(tmp_path / "net.json", approximate=0.1)
    assert list(tmp_path.iterdir()) == []


def test_tables_of_a_network_are_its_conditionals():
    for network in NETWORKS.values():
        assert np.abs(joint(tables_of(network)) - joint_of(network)).max() < 1e-15


def test_converting_between_tables_keeps_what_no_network_holds(tmp_path):
    tables = random_tables(6, 3, 1)
    (tmp_path / "a.bif").write_bytes(bif.dumps(tables))
    forms = convert(tmp_path / "a.bif", tmp_path / "b.xmlbif")
    assert len(forms) == 6
    assert np.abs(joint(load_tables(tmp_path / "b.xmlbif")) - joint(tables)).max() < 1e-15
    pf.save(NETWORKS["noisy-or"], tmp_path / "c.json")
    assert convert(tmp_path / "c.json", tmp_path / "d.bif") == []
    convert(tmp_path / "d.bif", tmp_path / "e.npz")
    assert np.abs(joint_of(pf.load(tmp_path / "e.npz")) - joint_of(NETWORKS["noisy-or"])).max() < 1e-12


def test_all_formats_of_tables_have_a_reader():
    assert {*TABLE_FORMATS} == {*READERS, *OTHER_SUFFIXES}


def test_a_large_network_of_small_tables_is_quick(tmp_path):
    n = 3_000
    chain = sp.csr_array((np.ones(n - 1), (np.arange(1, n), np.arange(n - 1))), shape=(n, n))
    pf.save(pf.BeliefNetwork(chain, np.ones(n), "noisy_or"), tmp_path / "chain.uai")
    assert pf.load(tmp_path / "chain.uai").num_edges == n - 1
