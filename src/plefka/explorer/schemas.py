"""What may be asked, field by field: questions are checked by these first, and OpenAPI describes them so."""

from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, create_model

MOST_TOP = 1000
LONGEST_NAME = 1000  # characters of a unit's name or of a method's spelling
Name = Annotated[StrictStr, Field(max_length=LONGEST_NAME)]
Method = Annotated[Name, Field(description="auto, exact, bethe, G12[tol=1e-10], ...")]
Top = Annotated[StrictInt, Field(ge=1, le=MOST_TOP)]
Units = Annotated[Literal["causes", "all"] | list[Name], Field(description="Which hidden units are ranked.")]
Faults = Annotated[
    Literal["on", "rarer"] | dict[Name, Literal[0, 1]],
    Field(description="The state that is ranked: on, or the rarer one beforehand, except for units given by name."),
]


class Strict(BaseModel):
    """Unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Soft(Strict):
    """Soft evidence: how probable what was seen is if the unit is on, and if it is off."""

    on: Annotated[float, Field(ge=0)]
    off: Annotated[float, Field(ge=0)]


State = StrictBool | StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=LONGEST_NAME)] | Soft | None
Evidence = Annotated[
    dict[Name, State],
    Field(
        description='{unit: 0, 1, a word for a state, null (hidden) or {"on": 0.9, "off": 0.2}}',
        examples=[{"slow_flow": 1, "thin_crema": {"on": 0.9, "off": 0.2}}],
    ),
]
Do = Annotated[
    dict[Name, StrictBool | StrictInt | Name], Field(description="The units that are set from outside: {unit: 0 or 1}")
]


class OneCase(Strict):
    evidence: Evidence = {}


class OneCaseByMethod(OneCase):
    method: Method = "auto"


class Group(Strict):
    exclusive: Annotated[
        Literal["causes"] | list[Name | None] | None,
        Field(description="Units of which exactly one is on; with null in the list, at most one."),
    ] = None


class Conditions(Group):
    do: Do = {}


class Infer(Conditions, OneCaseByMethod):
    check: Annotated[StrictBool, Field(description="Check the answer by importance sampling.")] = False
    top: Top = 20
    units: Units = "causes"
    order: Annotated[
        Literal["probability", "change", "auto"],
        Field(description="What comes first; auto: by change from the prior where some fault is common beforehand."),
    ] = "probability"
    faults: Faults = "on"
    leave_out: Annotated[list[Name], Field(description="Units that are not ranked.")] = []


class Rows(Conditions):
    rows: Annotated[list[Evidence], Field(min_length=1)]
    method: Method = "auto"
    top: Top = 20
    units: Units = "causes"


class TableCase(Strict):
    csv: Annotated[str, Field(description="Rows of a file below its header.")]
    line: Annotated[StrictInt, Field(description="Added to the numbers of lines in messages.")] = 0
    ids: Annotated[list[Name], Field(description="The columns that are no units.")] = []


class TableRows(TableCase, Conditions):
    method: Method = "auto"
    units: Units = "all"
    top: Top | None = None
    row: Annotated[StrictInt, Field(ge=0, description="The number of the first of these rows.")] = 0
    visits: Annotated[list[StrictInt], Field(description="Of each row, how often its ids have come by then.")] = []
    truth: Annotated[list[Name], Field(description="A column that names the true causes, or columns of causes.")] = []


class RowsAsCsv(Strict):
    csv: Annotated[str, Field(description="What infer_rows writes, or the cases of a validation.")]
    sums: Annotated[list[list[list[float]]], Field(description="Of the calibration of all causes, by chunk.")] = []
    known: Annotated[list[StrictInt], Field(description="How many rows of a chunk have a truth.")] = []
    ignored: list[Name] = []
    unknown: list[str] = []


class TableValidation(RowsAsCsv):
    method: Method = "auto"


class Explain(OneCaseByMethod):
    unit: Name
    top: Top = 10


class Ask(Conditions, OneCaseByMethod):
    candidates: list[Name] | None = None
    targets: list[Name] | None = None
    top: Top = 10
    costs: Annotated[dict[Name, float] | None, Field(description="{unit: cost}; other units cost 1")] = None
    together: Annotated[int, Field(ge=1, le=5, description="How many units to observe together.")] = 1
    stop_below: Annotated[float | None, Field(ge=0, description="Nats per cost.")] = None
    certain_above: Annotated[float | None, Field(gt=0, le=1)] = None
    without: Annotated[list[Name], Field(description="Units that are no candidates.")] = []


class InterviewSoFar(Group, OneCaseByMethod):
    unknown: Annotated[list[Name], Field(description="Units of unknown states, which are not asked again.")] = []
    later: Annotated[list[Name], Field(description="Units in the order in which they were put back, each time.")] = []
    stop_below: Annotated[float, Field(ge=0, description="Nats per cost.")] = 0.01
    certain_above: Annotated[float, Field(gt=0, description="A probability; above 1: no cause ends it.")] = 0.95


class JointUnits(OneCaseByMethod):
    units: Annotated[list[Name], Field(min_length=1, max_length=MOST_TOP, description="At most 12 hidden units.")]


class TargetSensitivity(OneCase):
    target: Name
    factor: Annotated[float, Field(gt=1, le=1e6, description="By which odds are divided and multiplied.")] = 2.0
    top: Top = 10


class ChosenUnits(OneCase):
    do: Do = {}
    units: Annotated[Units, Field(description="The hidden units whose states are chosen; others are summed out.")] = (
        "causes"
    )
    count: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    method: Annotated[Name, Field(description="auto, enumeration, elimination or branch-and-bound.")] = "auto"


class Neighbourhood(Strict):
    units: Annotated[list[Name], Field(min_length=1, max_length=MOST_TOP)]
    hops: Annotated[StrictInt, Field(ge=0, le=6)] = 1
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_TOP, description="How many units may be in the answer.")] = 60
    each_hop: Annotated[
        StrictInt, Field(ge=1, le=MOST_TOP, description="How many of them may be so many edges away, for each number.")
    ] = MOST_TOP


class Compare(OneCase):
    methods: Annotated[list[Name], Field(min_length=1, max_length=12)] | None = None
    faults: Faults = "on"


class Sample(OneCase):
    count: Annotated[StrictInt, Field(ge=1)] = 10
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = 0


class Save(Strict):
    suffix: Annotated[str, Field(pattern=r"^\.[a-z]{1,10}$", examples=[".json", ".csv"])]
    name: Annotated[str, Field(pattern=r"^[\w-]{1,100}$", description="Of the files.")] = "network"


class Open(Strict):
    files: Annotated[
        dict[Annotated[str, Field(max_length=200)], str],
        Field(min_length=1, max_length=2, description='{"net.json": content in base64}; two for a pair of CSV files'),
    ]
    keep: Annotated[StrictBool, Field(description="Whether questions will be asked about it.")] = True
    save: Annotated[Save | None, Field(description="As what it is written, too.")] = None


# ---- answers of the library ------------------------------------------------------------------------------------------


@cache
def described(source: type, base: type[BaseModel] = BaseModel) -> type[BaseModel]:
    """An answer of the library as it is sent: its fields, and what its docstring says of them."""
    hints = get_type_hints(source, include_extras=True)
    fields: dict[str, Any] = {name: (_as_sent(kind), ...) for name, kind in hints.items()}
    return create_model(source.__name__, __base__=base, __doc__=(source.__doc__ or "").partition("**Ex")[0], **fields)


def _as_sent(kind: Any) -> Any:
    """JSON has null for numbers that are not finite, and objects for what has fields."""
    if kind is float:
        return float | None
    if hasattr(kind, "__match_args__"):
        return described(kind)
    inside = tuple(map(_as_sent, get_args(kind)))
    return (Union if isinstance(kind, UnionType) else get_origin(kind))[inside] if inside else kind
