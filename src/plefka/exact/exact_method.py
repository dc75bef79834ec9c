"""`exact` and `minibucket` as data, and where they are computed."""

from dataclasses import dataclass

from plefka.methods.method import Method, option, steps_at_most, tolerance
from plefka.methods.registry import library_method


@library_method("exact", place=1)
@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units: one after another, or unit by unit where that is cheaper."""

    module = "plefka.exact.exact_answer"
    keeps_barren = True

    @property
    def is_bound(self) -> bool:
        return True


@library_method("minibucket", place=5)
@dataclass(frozen=True)
class MiniBucketMethod(Method):
    """Weighted mini-buckets: an upper bound on ln P(evidence) for networks of every kind, in float64 always.

    - `i`: how many axes the tables have at most. The time doubles with each, and the bound comes closer.
    - `tol`: how many nats a further step of the search for the best bound may still gain.
    - `max_steps`: evaluations of the bound at most. It holds after any number of them.
    """

    module = "plefka.exact.mini_bucket_answer"
    i: int = option(10, lambda axes: 2 <= axes <= 20, "i must be a whole number from 2 to 20")
    tol: float = tolerance(1e-4)
    max_steps: int = steps_at_most(500)
