"""What `fit` returns: the network that was learned, how it went, and why it stopped."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from plefka.methods import Method
    from plefka.networks.belief import BeliefNetwork


class Stopped(Enum):
    """Why learning ended; the value is the sentence for the user."""

    EPOCHS = "all epochs are done"
    VALIDATION = "the validation rows stopped improving; the network is the best seen on them"
    CALLBACK = "the callback asked for it"
    INTERRUPTED = "it was interrupted; the network is what had been learned so far"
    NOT_FINITE = (
        "no row could be solved any more, or the parameters left the finite numbers; use a smaller step, "
        "as in optimizer=optax.adam(0.01), or a first order method such as G12"
    )


COLUMNS = ("epoch", "objective", "log_likelihood", "validation", "converged", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """- `network`: the network with the learned parameters.
    - `history`: arrays with an entry for each epoch (of a stack, a row with an entry for each network):
        `epoch`; `objective`, the method's estimate of ln P per row as it was during the epoch; `log_likelihood`, the
        exact one after it, nan where that costs too much; `validation`, the estimate on the validation rows;
        `converged`, the share of rows that were solved to `tol` in the few evaluations that a step has; `seconds`
        since the start.
    - `stopped`: why it ended. `optimizer_state`: to go on from.
    """

    network: "BeliefNetwork"
    history: dict[str, np.ndarray]
    stopped: Stopped
    method: "Method"
    optimizer_state: Any

    @property
    def epochs(self) -> int:
        """How many epochs were done."""
        return len(self.history["epoch"])

    def __repr__(self) -> str:
        if not self.epochs:
            return f"<Fitted by {self.method}: no epoch done, {self.stopped.name.lower()}>"
        last = np.max(self.history["objective"][-1])
        kind = "best objective" if self.network.stack is not None else "objective"
        return (
            f"<Fitted by {self.method}: {self.epochs} epochs, {kind} {last:.4f} per row, {self.stopped.name.lower()}>"
        )
