"""A noisy-or as the files of other programs have it: leak and failures, of any two states of each variable."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class IndependentCauses(NamedTuple):
    """Parents in their state `active` turn the child into `effect`, if they do not fail; states go by their places."""

    child: str
    parents: tuple[str, ...]
    effect: int
    active: tuple[int, ...]
    leak: float
    failures: Float[np.ndarray, " parent"]
    place: str = ""

    def is_of_on(self, on: dict[str, int]) -> bool:
        """Whether states that are on bring about one that is on, and not even without a cause."""
        states = zip((self.child, *self.parents), (self.effect, *self.active), strict=True)
        return self.leak < 1 and all(on[name] == state for name, state in states)

    @property
    def values(self) -> Float[np.ndarray, "..."]:
        """The table, the states of the child last."""
        quiet = np.array(1 - self.leak)
        for state, failure in zip(self.active, self.failures, strict=True):
            quiet = np.multiply.outer(quiet, [failure, 1.0] if state == 0 else [1.0, failure])
        return np.stack([1 - quiet, quiet] if self.effect == 0 else [quiet, 1 - quiet], -1)
