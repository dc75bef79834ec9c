"""The sum over the states of a part, planned once: what was planned to learn its cost is then there to be done."""

from weakref import WeakKeyDictionary

from plefka.exact.machine_sums import MachineStateSum
from plefka.exact.state_sum import StateSum
from plefka.reduction.question import PairModel, Part, Question

_PLANNED: WeakKeyDictionary[Part, StateSum] = WeakKeyDictionary()


def planned_sum(part: Part) -> StateSum:
    """Always the same sum for the same part."""
    found = _PLANNED.get(part)
    if found is None:
        found = _PLANNED[part] = state_sum(part.question)
    return found


def state_sum(question: Question) -> StateSum:
    """How the states of a question are summed over, and what that will cost."""
    return MachineStateSum(question) if isinstance(question.model, PairModel) else StateSum(question)
