"""What comes back, field by field: the service is described by these (OpenAPI), and its answers are not checked."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from plefka.explorer import schemas
from plefka.explorer.schemas import described
from plefka.questions.advice import Advice
from plefka.questions.case_interview import NextQuestion
from plefka.questions.explain import Explanation
from plefka.questions.lint import Suspicion
from plefka.questions.sensitivity_answer import LeaderChange, SensitiveNumber

Accuracy = Literal["exact", "estimate", "observed"]
Interval = Annotated[list[float | None], Field(description="Where it lies: low, high; null where that is not known.")]
UsuallyOn = Annotated[list[str], Field(description="Units that are more probably on than off beforehand.")]
Kind = Literal["exact", "lower_bound", "upper_bound", "estimate"]
Files = Annotated[dict[str, str], Field(description="The content of each saved file in base64, by its name.")]


class DescribedProblem(BaseModel):
    code: Annotated[str, Field(examples=["unknown_unit"])]
    message: Annotated[str, Field(description="What must hold, what came, and what to do.")]


class Refusal(BaseModel):
    error: DescribedProblem


class FromNetwork(BaseModel):
    fingerprint: Annotated[str, Field(description="Tells the network that answered from others.")]
    network_version: Annotated[str | None, Field(description="What its users call it, if they do.")]


class Ranked(BaseModel):
    name: str
    state: Annotated[Literal[0, 1], Field(description="What the probabilities are of: 1 is on, 0 is off.")]
    probability: float | None
    accuracy: Accuracy
    prior: float | None
    prior_accuracy: Accuracy | None
    interval: Interval
    prior_interval: Interval


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
    interval: Interval
    kind: Kind
    frequency: Annotated[str, Field(description="How often such a case is seen, where that has a meaning.")]
    method: str
    status: str
    status_text: str
    converged: bool
    notes: list[str]
    warnings: list[str]
    ranking: list[Ranked]
    log_partition: Annotated[float | None, Field(description="Of a machine: ln Z with the evidence clamped.")] = None
    log_partition_kind: Kind | None = None
    order: Annotated[Literal["probability", "change"], Field(description="By what the ranking is sorted.")]
    units_total: int
    contradiction: str | None


class InferAnswer(FromNetwork, RowAnswer):
    seconds: float
    check: Checked | None


class RowsAnswer(FromNetwork):
    rows: list[RowAnswer]
    seconds: float


class TableCaseAnswer(FromNetwork):
    evidence: dict[str, int]


class TableRowsAnswer(FromNetwork, schemas.RowsAsCsv):
    """Beside their truth, with what /table-validation joins; otherwise the answers, and what a ranking puts first."""

    first: dict[int, Ranked] = {}


class TableValidationAnswer(FromNetwork):
    measures: dict[str, float | None]
    notes: list[str]
    page: Annotated[str, Field(description="HTML with pictures, as a file.")]


class Computed(FromNetwork):
    method: str
    notes: list[str]


class ExplainAnswer(described(Explanation, FromNetwork)):
    log_odds: float | None
    prior_log_odds: float | None


class JointState(BaseModel):
    state: dict[str, int]
    probability: float | None
    standard_error: float | None


class JointAnswer(Computed):
    units: list[str]
    usually_on: UsuallyOn
    words: Annotated[list[list[str]], Field(description="What off and on are called in each unit.")]
    states: Annotated[list[JointState], Field(description="Most probable first.")]
    accuracy: Accuracy


@partial(described, base=FromNetwork)
class SensitivityAnswer:
    target: str
    usually_on: UsuallyOn
    probability: float
    factor: float
    numbers: Annotated[list[SensitiveNumber], Field(description="Those that matter most first.")]
    numbers_total: int
    leading: str | None
    change: LeaderChange | None
    accuracy: Accuracy
    notes: list[str]


class ProbableState(BaseModel):
    on: Annotated[list[str], Field(description="The chosen units that are on.")]
    probability: float | None
    log_joint: float
    bound: float | None
    proven: bool
    interval: Interval


class MostProbableAnswer(Computed):
    units: list[str]
    states: Annotated[list[ProbableState], Field(description="Most probable first.")]
    accuracy: Annotated[Accuracy, Field(description="What the probabilities are.")]
    usually_on: UsuallyOn


class AskAnswer(described(Advice, FromNetwork)):
    targets_total: int
    usually_on: UsuallyOn


class InterviewAnswer(described(NextQuestion, Computed)):
    is_exact: bool


class Compared(BaseModel):
    method: str
    log_likelihood: float | None
    kind: str | None
    status: str
    status_text: str
    seconds: float | None
    means: dict[str, float | None]
    accuracy: dict[str, Accuracy]


class CompareAnswer(FromNetwork):
    faults: Annotated[dict[str, Literal[0, 1]], Field(description="The most probable ones: a state for each unit.")]
    methods: list[Compared]


class SampleAnswer(FromNetwork):
    names: list[str]
    rows: list[list[int]]


class HealthAnswer(BaseModel):
    status: str
    ready: bool
    version: str


class NetworkAnswer(FromNetwork):
    name: str
    title: str
    about: str | None
    kind: Literal["belief network", "Boltzmann machine"]
    values: Annotated[list[int], Field(description="The numbers of a machine for off and on.")]
    temperature: Annotated[float | None, Field(description="Of a machine.")]
    units: int
    edges: Annotated[int, Field(description="Links, or couplings of a machine, each of them once.")]
    causes: int
    findings: int
    kinds: dict[str, int]
    largest_in_degree: int
    questions: Annotated[list[str], Field(description="What can be asked about it: those of causes not of a machine.")]
    methods: list[str]
    default_method: str
    opens: Annotated[bool, Field(description="Whether visitors may open other networks.")]
    limits: dict[str, Any]


@described
class OpenedAnswer:
    network: Annotated[str | None, Field(description="The key with which questions are asked about it, if it is kept.")]
    name: str
    units: int
    edges: int
    notes: Annotated[list[str], Field(description="What was recognised and assumed when the files were read.")]
    suspicions: list[Suspicion]
    files: Files


class SavedAnswer(FromNetwork):
    files: Files


class TablesAnswer(FromNetwork):
    causes: Annotated[list[tuple[str, float]], Field(description="Causes and their priors.")]
    findings: Annotated[
        list[tuple[str, str | None, float, float | None]], Field(description="Finding, cause, probability and leak.")
    ]


class UnitAnswer(BaseModel):
    """Parents and children are the same in a machine: the units that it is coupled with."""

    index: int
    name: str
    role: Literal["cause", "finding", "unit"]
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
    """A coupling of a machine has no direction: either unit may be the parent."""

    parent: str
    child: str
    weight: float | None


class NeighbourhoodAnswer(BaseModel):
    nodes: list[Node]
    edges: list[EdgeAnswer]
    left_out: Annotated[int, Field(description="How many more units are within so many edges.")]
    parents: Annotated[int, Field(description="Of the units that were asked about, in the answer or not.")]
    children: int


class Case(BaseModel):
    title: str
    evidence: dict[str, Any]


class ExamplesAnswer(BaseModel):
    cases: list[Case]
