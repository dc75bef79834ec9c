"""Good files of every format with a reader of its own, for `fuzz_formats` to damage."""

import numpy as np

import plefka as pf
from plefka.files import bif, spreadsheets, uai, xmlbif
from plefka.files.conditional_tables import TableNetwork, TableUnit

BIF = b"""network clinic { property "made by hand"; }
// the causes
variable flu { type discrete [ 2 ] { yes, no }; }
variable cold { type discrete [ 2 ] { absent, present }; property position = (1, 2); }
variable "sore throat" { type discrete [ 2 ] { no, yes }; }
probability ( flu ) { table 0.1, 0.9; }
probability ( cold | flu ) { table 0.7 0.2 0.3 0.8; }
probability ( "sore throat" | flu, cold ) { /* by rows,
  in any order */ (no, absent) 0.99, 0.01; (yes, absent) 0.2, 0.8; default 0.25, 0.75;
}
"""
XMLBIF = b"""<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>clinic</NAME><PROPERTY>made &lt;by hand&gt;</PROPERTY>
<VARIABLE TYPE="nature"><NAME>flu</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>fever</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<DEFINITION><FOR>flu</FOR><TABLE>0.1 0.9</TABLE></DEFINITION>
<DEFINITION><FOR>fever</FOR><GIVEN>flu</GIVEN><TABLE>0.2 0.8 <!-- if not --> 0.9 0.1</TABLE></DEFINITION>
</NETWORK></BIF>
"""
ERGO = b"""3
2 2 2
0
0
2 1 0
/* Probabilities */
2 0.9 0.1
2 0.8 0.2
8 1 0 0.5 0.5 0.4 0.6 0.2 0.8
/* Names */
a b c
"""
PAIRS = b"""MARKOV
3
2 2 2
4
1 0
2 0 1
2 1 2
1 2
2 1.5 0.25
4 1 2.5 3 0.5
4 0.1 7 2 1
2 1 1
"""
FACTORS = b"""MARKOV
4
2 2 2 2
4
3 0 1 3
2 3 2
1 2
0
8 1 0 0.5 2 0 3 1e-5 4
4 0 1
 1 0
2 1 2
1 0.5
"""
CAUSES = b"""cause,prior
flu,0.06
"cold, common",0.18
NA,0.1
"""
FINDINGS = b"""finding,cause,probability,leak
fever,flu,0.8,0.02
fever,"cold, common",0.26,
cough,flu,1,0.1

rash,NA,0.5,0
ward,fever,0.3,
"""
EVIDENCE = (b"2 0 1 3 0\n", b"2\n2 0 1 3 0\n1 5 1\n")
ROWS = b"""slow_flow, thin_crema,lukewarm_cup
1,0,
,1.0,1
0,nan,0
"""
LINES = b"""{"slow_flow": 1, "thin_crema": 0}
{"lukewarm_cup": 1, "slow_flow": null}

{}
"""


def _network(noisy_or: bool) -> TableNetwork:
    rng = np.random.default_rng(0)
    units = []
    for k in range(6):
        parents = tuple(range(max(0, k - 3), k))
        table = rng.random((2,) * len(parents))
        if noisy_or:
            fields = np.array([0.1 + 0.7 * sum(state) for state in np.ndindex(*table.shape)])
            table = -np.expm1(-fields).reshape(table.shape)
        units.append(TableUnit(f"unit {k}", ("no", "yes"), parents, np.array(table)))
    return TableNetwork(tuple(units))


_NETWORKS = [_network(noisy_or) for noisy_or in (False, True)]
ORIGINALS = {
    ".bif": lambda: [BIF, *map(bif.dumps, _NETWORKS)],
    ".xmlbif": lambda: [XMLBIF, *map(xmlbif.dumps, _NETWORKS)],
    ".uai": lambda: [*map(uai.dumps, _NETWORKS), uai.dumps(_NETWORKS[1]).replace(b"BAYES", b"MARKOV"), PAIRS, FACTORS],
    ".erg": lambda: [ERGO],
    ".csv": lambda: [(CAUSES, FINDINGS), spreadsheets.dumps_csv(pf.example("espresso"))],
    ".xlsx": lambda: [
        spreadsheets.dumps_excel(spreadsheets.loads_csv(CAUSES, FINDINGS)),
        spreadsheets.dumps_excel(pf.example("espresso")),
    ],
    ".evid": lambda: list(EVIDENCE),
    "rows.csv": lambda: [ROWS],
    "rows.jsonl": lambda: [LINES],
}
