"""What may be asked, field by field: the description of the service (OpenAPI) and its first check are made of these."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

MOST_TOP = 1000
LONGEST_NAME = 1000  # characters of a unit's name or of a method's spelling


class Strict(BaseModel):
    """Unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Soft(Strict):
    """Soft evidence: how probable what was seen is if the unit is on, and if it is off."""

    on: Annotated[float, Field(ge=0)]
    off: Annotated[float, Field(ge=0)]


State = StrictBool | StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=LONGEST_NAME)] | Soft | None
Name = Annotated[StrictStr, Field(max_length=LONGEST_NAME)]
Evidence = Annotated[
    dict[Name, State],
    Field(
        description='{unit: 0, 1, a word for a state, null (hidden) or {"on": 0.9, "off": 0.2}}',
        examples=[{"slow_flow": 1, "thin_crema": {"on": 0.9, "off": 0.2}}],
    ),
]
Method = Annotated[Name, Field(description="auto, exact, bethe, G12[tol=1e-10], ...")]
Top = Annotated[StrictInt, Field(ge=1, le=MOST_TOP)]
Units = Annotated[Literal["causes", "all"] | list[Name], Field(description="Which hidden units are ranked.")]


class Infer(Strict):
    evidence: Evidence = {}
    method: Method = "auto"
    check: Annotated[StrictBool, Field(description="Check the answer by importance sampling.")] = False
    top: Top = 20
    units: Units = "causes"


class Rows(Strict):
    rows: Annotated[list[Evidence], Field(min_length=1)]
    method: Method = "auto"
    top: Top = 20
    units: Units = "causes"


class Explain(Strict):
    evidence: Evidence = {}
    unit: Name
    method: Method = "auto"
    top: Top = 10


class Ask(Strict):
    evidence: Evidence = {}
    candidates: list[Name] | None = None
    targets: list[Name] | None = None
    method: Method = "auto"
    top: Top = 10


class Compare(Strict):
    evidence: Evidence = {}
    methods: Annotated[list[Name], Field(min_length=1, max_length=12)] | None = None


class Sample(Strict):
    evidence: Evidence = {}
    count: Annotated[StrictInt, Field(ge=1)] = 10
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = 0
