"""What comes back, field by field, for the description of the service (OpenAPI). Answers are not checked by these."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field


class DescribedProblem(BaseModel):
    code: Annotated[str, Field(examples=["unknown_unit"])]
    message: Annotated[str, Field(description="What must hold, what came, and what to do.")]


class Refusal(BaseModel):
    error: DescribedProblem


Accuracy = Literal["exact", "estimate", "observed"]


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


class DescribedCandidate(BaseModel):
    unit: str
    information: float | None
    probability: float | None
    accuracy: Accuracy


class AskAnswer(BaseModel):
    candidates: list[DescribedCandidate]
    targets: list[str]
    targets_total: int
    entropy: float | None
    method: str
    is_exact: bool
    notes: list[str]


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
