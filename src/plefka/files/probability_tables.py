"""What spreadsheets of causes and findings share: the two tables of a network, and the network of two tables."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidFile, InvalidInput
from plefka.files.stored import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import CAUSE, FINDING, ITS_CAUSE
from plefka.runtime.extras import pandas

if TYPE_CHECKING:
    import pandas as pd

CAUSES, FINDINGS = "causes", "findings"
NAMES = {*CAUSE, *FINDING, *ITS_CAUSE}  # of columns that hold names
LARGEST_PROBABILITY = np.nextafter(1.0, 0.0)  # the largest probability that is not certain


def check_activation(given: GivenActivation) -> None:
    """Tables of causes and findings have one activation only."""
    if given is not None and getattr(given, "name", None) != "noisy_or":
        raise InvalidFile(
            "tables of causes and findings always define a noisy-or network. Load them without `activation`."
        )


def check_writable(network: BeliefNetwork) -> None:
    """Only noisy-or networks whose edges all switch on are tables of probabilities."""
    if network.activation.name != "noisy_or" or network.stack is not None:
        kind = network.activation.name if network.stack is None else f"a stack of {network.stack}"
        raise InvalidInput(
            f"tables of causes and findings store a single noisy-or network; got {kind}. Save it as .json or .npz."
        )
    if any((weights < 0).any() for weights in network.storage.leaves()):
        raise InvalidInput(
            "tables of causes and findings store probabilities, and a negative weight is not one. "
            "Save the network as .json or .npz."
        )
    spaced = next((name for name in network.names if name != name.strip()), None)
    if spaced is not None:
        raise InvalidInput(f"names in a spreadsheet must not begin or end with a space; got {spaced!r}. Rename it.")


def frames_of(network: BeliefNetwork) -> dict[str, "pd.DataFrame"]:
    """Units without parents and their priors; the edges of the others, with the leak in the first row of each."""
    check_writable(network)
    child, parent, weight = network.storage.edge_list()
    order = np.lexsort((parent, child))
    child, parent, weight = child[order], parent[order], weight[order, 0]
    names, probability = np.array(network.names, dtype=object), _probability(np.asarray(network.bias, float))
    roots = np.ones(network.size, bool)
    roots[child] = False
    first = np.diff(child, prepend=-1) != 0
    causes = {"cause": names[roots], "prior": probability[roots]}
    leak = np.where(first, probability[child], np.nan)
    findings = {"finding": names[child], "cause": names[parent], "probability": _probability(weight), "leak": leak}
    return {CAUSES: pandas().DataFrame(causes), FINDINGS: pandas().DataFrame(findings)}


def _probability(fields: Any) -> np.ndarray:
    """1 - exp(-x); what is not certain stays so where it rounds to 1."""
    return np.where(np.isinf(fields), 1.0, np.minimum(-np.expm1(-fields), LARGEST_PROBABILITY))
