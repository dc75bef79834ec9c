"""`exact` as data, and where it is computed."""

from dataclasses import dataclass

from plefka.methods.method import Method
from plefka.methods.registry import library_method


@library_method("exact", place=1)
@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units: one after another, or unit by unit where that is cheaper."""

    module = "plefka.exact.exact_answer"

    @property
    def is_bound(self) -> bool:
        return True

    @property
    def keeps_barren(self) -> bool:
        return True
