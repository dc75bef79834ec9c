"""Networks of tables for the tests, and the truth by summing over all states."""

import gzip
import itertools

import numpy as np
from benchmarks import fuzz_originals
from tests.data import path_of

import plefka as pf
from plefka.files import bif, ergo, genie, hugin, microsoft, netica, uai, xmlbif
from plefka.files.conditional_tables import TableNetwork, TableUnit

READERS = {
    ".bif": bif.loads,
    ".xmlbif": xmlbif.loads,
    ".uai": uai.loads,
    ".erg": ergo.loads,
    ".xdsl": genie.loads,
    ".net": hugin.loads,
    ".dne": netica.loads,
    ".dsc": microsoft.loads,
}
OTHER_SUFFIXES = {".xml", ".bifxml", ".dnet"}
WRITERS = {".bif": bif.dumps, ".xmlbif": xmlbif.dumps, ".uai": uai.dumps}
REAL = ("asia", "cancer", "earthquake", "win95pts", "andes")

BIF = """network clinic {
  property made by hand;
}
// the causes
variable flu { type discrete [ 2 ] { yes, no }; }
variable cold { type discrete [ 2 ] { absent, present }; property position = (1, 2); }
variable "sore throat" { type discrete [ 2 ] { no, yes }; }
probability ( flu ) { table 0.1, 0.9; }
probability ( cold ) { table 0.7 0.3; }
probability ( "sore throat" | flu, cold ) { /* by rows,
  in any order */
  (no, absent) 0.99, 0.01;
  (yes, absent) 0.2, 0.8;
  default 0.25, 0.75;
}
"""
XMLBIF = """<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>clinic</NAME>
<VARIABLE TYPE="nature"><NAME>flu</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>fever</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<DEFINITION><FOR>flu</FOR><TABLE>0.1 0.9</TABLE></DEFINITION>
<DEFINITION><FOR>fever</FOR><GIVEN>flu</GIVEN><TABLE>0.2 0.8 <!-- if not --> 0.9 0.1</TABLE></DEFINITION>
</NETWORK></BIF>
"""
UAI = """BAYES
3
2 2 2
3
1 0
1 1
3 1 0 2

2
 0.9 0.1
2
 0.8 0.2
8
 1 0
 0.5 0.5
 0.4 0.6
 0.2 0.8
"""
ERGO = fuzz_originals.ERGO.decode()
TEXTS = {".bif": BIF, ".xmlbif": XMLBIF, ".uai": UAI, ".erg": ERGO}


def change(text, old, new):
    """A text with something else in the place of what must be there."""
    assert old in text
    return text.replace(old, new, 1)


def random_tables(size, most_parents, seed, zeros=False):
    rng = np.random.default_rng(seed)
    units = []
    for k in range(size):
        count = int(rng.integers(0, min(k, most_parents) + 1))
        table = rng.random((2,) * count)
        table = np.round(table) if zeros and rng.random() < 0.3 else table
        parents = tuple(map(int, rng.permutation(k)[:count]))
        units.append(TableUnit(f"unit_{k}", ("absent", "present"), parents, np.array(table)))
    return TableNetwork(tuple(units))


def joint(tables):
    """P(S) of all states, an axis for each unit."""
    size = len(tables.units)
    probability = np.ones((2,) * size)
    for state in itertools.product((0, 1), repeat=size):
        for unit, own in zip(tables.units, state, strict=True):
            on = unit.table[tuple(state[parent] for parent in unit.parents)]
            probability[state] *= on if own else 1 - on
    return probability


def joint_of(network):
    states = np.array(list(itertools.product((0, 1), repeat=network.size)))
    return np.exp(network.log_joint(states)).reshape((2,) * network.size)


def read_real(name):
    return bif.loads(gzip.decompress(path_of(f"bif/{name}.bif.gz").read_bytes()))


def noisy_or(weights, bias, names=None, states=None):
    return pf.BeliefNetwork(np.array(weights, float), bias, "noisy_or", names, states=states)
