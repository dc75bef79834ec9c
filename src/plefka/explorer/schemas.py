"""What may be asked and what comes back, field by field: the description of the service (OpenAPI) is made of these.

Questions are checked by them first; answers are not.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

MOST_TOP = 1000
LONGEST_NAME = 1000  # characters of a unit's name or of a method's spelling
Name = Annotated[StrictStr, Field(max_length=LONGEST_NAME)]
Method = Annotated[Name, Field(description="auto, exact, bethe, G12[tol=1e-10], ...")]
Top = Annotated[StrictInt, Field(ge=1, le=MOST_TOP)]
Units = Annotated[Literal["causes", "all"] | list[Name], Field(description="Which hidden units are ranked.")]
Accuracy = Literal["exact", "estimate", "observed"]


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


class Conditions(Strict):
    do: Do = {}
    exclusive: Annotated[
        Literal["causes"] | list[Name | None] | None,
        Field(description="Units of which exactly one is on; with null in the list, at most one."),
    ] = None


class Infer(Conditions):
    evidence: Evidence = {}
    method: Method = "auto"
    check: Annotated[StrictBool, Field(description="Check the answer by importance sampling.")] = False
    top: Top = 20
    units: Units = "causes"


class Rows(Conditions):
    rows: Annotated[list[Evidence], Field(min_length=1)]
    method: Method = "auto"
    top: Top = 20
    units: Units = "causes"


class Explain(Strict):
    evidence: Evidence = {}
    unit: Name
    method: Method = "auto"
    top: Top = 10


class Ask(Conditions):
    evidence: Evidence = {}
    candidates: list[Name] | None = None
    targets: list[Name] | None = None
    method: Method = "auto"
    top: Top = 10
    costs: Annotated[dict[Name, float] | None, Field(description="{unit: cost}; other units cost 1")] = None
    together: Annotated[int, Field(ge=1, le=5, description="How many units to observe together.")] = 1
    stop_below: Annotated[float | None, Field(ge=0, description="Nats per cost.")] = None
    certain_above: Annotated[float | None, Field(gt=0, le=1)] = None


class JointUnits(Strict):
    evidence: Evidence = {}
    units: Annotated[list[Name], Field(min_length=1, max_length=MOST_TOP, description="At most 12 hidden units.")]
    method: Method = "auto"


class TargetSensitivity(Strict):
    evidence: Evidence = {}
    target: Name
    factor: Annotated[float, Field(gt=1, le=1e6, description="By which odds are divided and multiplied.")] = 2.0
    top: Top = 10


class ChosenUnits(Strict):
    evidence: Evidence = {}
    do: Do = {}
    units: Annotated[Units, Field(description="The hidden units whose states are chosen; others are summed out.")] = (
        "causes"
    )
    count: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    method: Annotated[Name, Field(description="auto, enumeration, elimination or branch-and-bound.")] = "auto"


class Compare(Strict):
    evidence: Evidence = {}
    methods: Annotated[list[Name], Field(min_length=1, max_length=12)] | None = None


class Sample(Strict):
    evidence: Evidence = {}
    count: Annotated[StrictInt, Field(ge=1)] = 10
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = 0


class DescribedProblem(BaseModel):
    code: Annotated[str, Field(examples=["unknown_unit"])]
    message: Annotated[str, Field(description="What must hold, what came, and what to do.")]


class Refusal(BaseModel):
    error: DescribedProblem


class Ranked(BaseModel):
    name: str
    probability: float | None
    accuracy: Accuracy
    prior: float | None
    prior_accuracy: Accuracy | None


class Checked(BaseModel):
    trusted: bool
    verdict: str
    log_likelihood: float | None
    standard_error: float | None
    pareto_k: float | None
    effective_samples: float | None
    num_samples: int


class RowAnswer(BaseModel):
    log_likelihood: float | None
    kind: Literal["exact", "lower_bound", "upper_bound", "estimate"]
    method: str
    status: str
    status_text: str
    converged: bool
    notes: list[str]
    warnings: list[str]
    ranking: list[Ranked]
    units_total: int
    contradiction: str | None


class InferAnswer(RowAnswer):
    seconds: float
    check: Checked | None


class RowsAnswer(BaseModel):
    rows: list[RowAnswer]
    seconds: float


class DescribedMove(BaseModel):
    unit: str
    state: str
    shift: float | None
    probability: float | None
    accuracy: Accuracy


class DescribedPossibleMove(DescribedMove):
    chance: float | None


class ExplainAnswer(BaseModel):
    unit: str
    probability: float | None
    prior: float | None
    log_odds: float | None
    prior_log_odds: float | None
    accuracy: Accuracy
    prior_accuracy: Accuracy
    observations: list[DescribedMove]
    changes: list[DescribedPossibleMove]
    method: str
    is_exact: bool
    notes: list[str]


class JointState(BaseModel):
    state: dict[str, int]
    probability: float | None
    standard_error: float | None


class JointAnswer(BaseModel):
    units: list[str]
    words: Annotated[list[list[str]], Field(description="What off and on are called in each unit.")]
    states: Annotated[list[JointState], Field(description="Most probable first.")]
    accuracy: Accuracy
    method: str
    notes: list[str]


class DescribedOutcome(BaseModel):
    state: str
    chance: float | None
    leading: list[tuple[str, float | None]]
    changed: tuple[str, float | None, float | None]


class DescribedNumber(BaseModel):
    name: str
    kind: Literal["prior", "leak", "link", "entry", "bias", "weight"]
    unit: str
    parent: str | None
    value: float | None
    low: float | None
    high: float | None
    derivative: float | None
    at_low: float | None
    at_high: float | None


class DescribedLeaderChange(BaseModel):
    number: DescribedNumber
    value: float
    odds_factor: float
    cause: str


class SensitivityAnswer(BaseModel):
    target: str
    probability: float
    factor: float
    numbers: Annotated[list[DescribedNumber], Field(description="Those that matter most first.")]
    numbers_total: int
    leading: str | None
    change: DescribedLeaderChange | None
    accuracy: Accuracy
    notes: list[str]


class ProbableState(BaseModel):
    on: Annotated[list[str], Field(description="The chosen units that are on.")]
    probability: float | None
    log_joint: float
    bound: float | None
    proven: bool


class MostProbableAnswer(BaseModel):
    units: list[str]
    states: Annotated[list[ProbableState], Field(description="Most probable first.")]
    accuracy: Annotated[Accuracy, Field(description="What the probabilities are.")]
    method: str
    notes: list[str]


class DescribedCandidate(BaseModel):
    unit: str
    information: float | None
    probability: float | None
    accuracy: Accuracy
    cost: float
    outcomes: list[DescribedOutcome]


class DescribedSet(BaseModel):
    units: list[str]
    information: float | None
    cost: float
    is_best: bool
    bound: float | None
    sum_of_best: float | None
    accuracy: Accuracy


class AskAnswer(BaseModel):
    candidates: list[DescribedCandidate]
    targets: list[str]
    targets_total: int
    entropy: float | None
    method: str
    is_exact: bool
    notes: list[str]
    leading: list[tuple[str, float | None]]
    best_set: DescribedSet | None
    stop: bool
    reason: str


class Compared(BaseModel):
    method: str
    log_likelihood: float | None
    kind: str | None
    status: str
    status_text: str
    seconds: float | None
    means: dict[str, float | None]
    accuracy: dict[str, Accuracy]


class CompareAnswer(BaseModel):
    methods: list[Compared]


class SampleAnswer(BaseModel):
    names: list[str]
    rows: list[list[int]]


class HealthAnswer(BaseModel):
    status: str
    ready: bool
    version: str


class NetworkAnswer(BaseModel):
    name: str
    title: str
    about: str | None
    units: int
    edges: int
    causes: int
    findings: int
    kinds: dict[str, int]
    largest_in_degree: int
    methods: list[str]
    default_method: str
    limits: dict[str, Any]


class UnitAnswer(BaseModel):
    index: int
    name: str
    role: Literal["cause", "finding"]
    kind: str
    states: list[str]
    parents: int
    children: int


class OneUnitAnswer(UnitAnswer):
    prior: float | None
    parent_names: list[str]
    child_names: list[str]


class UnitsAnswer(BaseModel):
    total: int
    offset: int
    units: list[UnitAnswer]


class NamesAnswer(BaseModel):
    names: list[str]
    roles: str
    states: dict[str, Any]


class Node(BaseModel):
    name: str
    role: str
    hops: int


class EdgeAnswer(BaseModel):
    parent: str
    child: str
    weight: float | None


class NeighbourhoodAnswer(BaseModel):
    nodes: list[Node]
    edges: list[EdgeAnswer]
    left_out: int


class Case(BaseModel):
    title: str
    evidence: dict[str, Any]


class ExamplesAnswer(BaseModel):
    cases: list[Case]
