"""What `auto` makes of the check of one row: whether to look for a better method, and the words for its note."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check

CLOSE_MEANS = 5e-3  # nats that are no reason to look further


@dataclass(frozen=True)
class CheckedRow:
    """What the check of a row says, as the end of a sentence."""

    check: "Check | None"
    otherwise: str = ""

    @property
    def draws(self) -> float:
        return np.nan if self.check is None else self.check.log_likelihood

    @property
    def off(self) -> float:
        """How far ln P(evidence) is from that of the draws; 0 where these say nothing."""
        if self.check is None or self.check.estimate is None or not self.check.reliable:
            return 0.0
        return abs(self.check.estimate - self.check.log_likelihood)

    @property
    def is_off(self) -> bool:
        """Whether that is more than chance and a little."""
        return self.check is not None and self.off > CLOSE_MEANS + 2 * self.check.standard_error

    def __str__(self) -> str:
        if self.check is None:
            return self.otherwise
        if not self.check.reliable:
            return "; its check could not confirm it, as too few samples carry weight"
        if not self.is_off:
            return f"; {self.check.sampler} agrees with it"
        return f"; {self.check.sampler} differs from it by {self.off:.2g} (+- {self.check.standard_error:.1g})"
