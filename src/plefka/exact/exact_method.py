"""`exact` as data, and where it is computed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plefka.methods.method import Method

if TYPE_CHECKING:
    from plefka.methods.posterior import Posterior
    from plefka.networks.evidence import Evidence
    from plefka.networks.network import Network


@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units: one after another, or unit by unit where that is cheaper."""

    module = "plefka.exact.exact_answer"

    def answer(self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        from plefka.exact.exact_answer import answer

        return answer(self, network, evidence, prune=prune, dtype=dtype)

    @property
    def takes_soft_evidence(self) -> bool:
        return True

    @property
    def is_bound(self) -> bool:
        return True

    @property
    def keeps_barren(self) -> bool:
        return True
