"""Good files of every format with a reader of its own, for `fuzz_formats` to damage."""

import numpy as np

import plefka as pf
from plefka.files import bif, spreadsheets, uai, xmlbif
from plefka.files.conditional_tables import TableNetwork, TableUnit
from plefka.tables.workbooks import workbook

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
XDSL = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="Network1" numsamples="10000">
  <nodes>
    <cpt id="flu"><state id="yes" fault="true" /><state id="no" /><probabilities>0.1 0.9</probabilities></cpt>
    <cpt id="cold">
      <state id="State0" /><state id="State1" /><parents>flu</parents>
      <probabilities>0.3 0.7 0.2 0.8</probabilities><property id="source">a book</property>
    </cpt>
    <noisymax id="fever">
      <state id="State0" /><state id="State1" /><parents>flu cold</parents><strengths>0 1 1 0</strengths>
      <parameters>0.8 0.2 0 1 0 1 0.5 0.5 0.01 0.99</parameters>
    </noisymax>
    <deterministic id="either">
      <state id="true" /><state id="false" /><parents>flu cold</parents>
      <resultingstates>true true true false</resultingstates>
    </deterministic>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe" name="a &amp; b"><node id="flu"><name>Gr\xf6\xdfe</name></node></genie>
  </extensions>
</smile>
"""
HUGIN = rb"""net
{
    node_size = (80 40);
    HR_Desc = "50 % of \"them\"; }";
}
node C4
{
    label = "";
    position = (457 413);
    states = ("State 1" "State 2");
    HR_LinkMode = "[C1:0]";
}
discrete node C1 { states = ("no" "yes"); subtype = boolean; state_values = (0 1); }
node C2 { states = ("false" "true"); }
potential (C4) { data = ( 10 90 ); experience = 12669; }
potential (C1 | C4)
{
    data
     = (( 0.1 0.9 )  %  C4=State 1
  ( 0.333333 .666666 ));  %  C4=State 2
}
potential (C2 | C4 C1) { model_nodes = (); model_data = ( if (C1, 0.5, 0.25) );
    data = (((1 0) (.5 .5)) ((0.25 0.75) (2E-3 0.998))); }
"""
NETICA = rb"""// ~->[DNET-1]->~

// File created by someone using Netica 5.15 on Nov 09, 2016 at 17:33:54.

bnet clinic {
AutoCompile = TRUE;
whenchanged = 1478673234;
visual V1 {
  nodefont = font {shape= "Arial"; size= 9;};
  NodeSet Node {BuiltIn = 1; Color = 0x00E1E1E1;};
  };
node flu {
  kind = NATURE;
  discrete = TRUE;
  chance = CHANCE;
  states = (present, absent);
  parents = ();
  probs =
    // present      absent
      (0.01,        0.99);
  title = "a \"title\", with } and ;";
  visual V1 {
    center = (84, 42);
    };
  };
node cold { kind = NATURE; discrete = TRUE; states = (FALSE, TRUE); parents = (flu); probs =
  ((0.2, 0.8),   // present
   (0.7, 0.3));  // absent  ;
  };
node fever { states = (present, absent); parents = (cold, flu); inputs = (, F);
  equation = "P (fever | cold, flu) = NoisyOrDist (fever, 0.1, flu, 0.8, cold == TRUE, 0.5)"; };
node both { chance = DETERMIN; states = (true, false); parents = (flu, cold); functable = ((true, false), (#1, #1)); };
node NOTE1 { kind = CONSTANT; discrete = FALSE; title = "nothing"; };
ElimOrder = (flu, cold, fever, both);
};
"""
DSC = b"""belief network "clinic"
// from MSBNx
node asia {
  name: "Visit to Asia";
  type : discrete [ 2 ] = { "yes", "no" };
  position : (207, 95);
}
node tub { type = discrete[2] = { "absent", "present" }; }
node xray { type : discrete[2] = { "low", "high" }; }
probability ( asia ) {
   0.01, 0.99;
}
probability ( tub | asia ) { (0) : 0.95, 0.05; (1) : 0.99, 0.01; }
probability ( xray | asia, tub ) { default : 0.5, 0.5; (0, 0) : 0.9, 0.1; (1, 0) = 0.3, 0.7; }
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
MATRIX = b"""cause,prior,fever,dry cough
flu,10%,0.8,0.3
cold,0.2,,60 %
leak,,0.02,0.01
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
        units.append(TableUnit(f"unit_{k}", ("no", "yes"), parents, np.array(table)))
    return TableNetwork(tuple(units))


def _european(content: bytes) -> bytes:
    """As Excel writes it where decimals have a comma."""
    return content.replace(b",", b";").replace(b".", b",").replace(b"\n", b"\r\n").replace(b"flu", b"fl\xfc")


def _cells(content: bytes) -> list[list]:
    return [line.split(",") for line in content.decode().splitlines() if line]


_NETWORKS = [_network(noisy_or) for noisy_or in (False, True)]
ORIGINALS = {
    ".bif": lambda: [BIF, *map(bif.dumps, _NETWORKS)],
    ".xmlbif": lambda: [XMLBIF, *map(xmlbif.dumps, _NETWORKS)],
    ".uai": lambda: [*map(uai.dumps, _NETWORKS), uai.dumps(_NETWORKS[1]).replace(b"BAYES", b"MARKOV"), PAIRS, FACTORS],
    ".erg": lambda: [ERGO],
    ".xdsl": lambda: [XDSL],
    ".net": lambda: [HUGIN],
    ".dne": lambda: [NETICA],
    ".dsc": lambda: [DSC],
    ".csv": lambda: [
        (CAUSES, FINDINGS),
        spreadsheets.dumps_csv(pf.example("espresso")),
        tuple(_european(content) for content in (CAUSES, FINDINGS)),
        (b"cause,prior\nflu,0.1\ncold,0.2\n", b"finding,flu,cold,leak\nfever,0.8,,\ncough,0.3,60%,0.01\n"),
    ],
    "matrix.csv": lambda: [MATRIX, _european(MATRIX), _european(MATRIX).decode("cp1252").encode("utf-16")],
    ".xlsx": lambda: [
        spreadsheets.dumps_excel(spreadsheets.loads_csv(CAUSES, FINDINGS)),
        spreadsheets.dumps_excel(pf.example("espresso")),
    ],
    ".evid": lambda: list(EVIDENCE),
    "rows.csv": lambda: [ROWS, _european(ROWS), b"\xef\xbb\xbf" + ROWS.replace(b",", b"\t")],
    "rows.xlsx": lambda: [workbook({"rows": (header, rows)}) for header, *rows in [_cells(ROWS)]],
    "rows.jsonl": lambda: [LINES],
}
