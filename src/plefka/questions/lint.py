"""What is suspicious in a network: names, numbers and edges that are allowed, but seldom meant."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.networks.belief import BeliefNetwork
from plefka.reduction.certainty import Possible

MANY_CAUSES, PROBABLE, FEW = 4.0, 0.5, 3  # expected in a case; a prior; causes that may have equal priors by chance
MOST_GROUPS = 20  # that have a sentence of their own


class Suspicion(NamedTuple):
    """A kind of mistake, the units that it is about, and a sentence."""

    kind: str
    units: tuple[str, ...]
    sentence: str


def lint(network: BeliefNetwork) -> list[Suspicion]:
    """What is suspicious in a belief network, which need not be wrong; nothing where all is well.

    >>> import plefka as pf
    >>> for each in pf.lint(pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"])):
    ...     print(each.sentence)
    Units with a leak of 0 cannot be on without their causes: fever.
    """
    if not isinstance(network, BeliefNetwork) or network.stack is not None:
        raise InvalidInput(f"lint looks at one BeliefNetwork; got {network!r}.")
    found = ((kind, tuple(network.names[k] for k in units), text) for kind, units, text in _suspicions(network))
    return [Suspicion(kind, names, f"{text}: {listed(names)}.") for kind, names, text in found if names]


def _suspicions(network: BeliefNetwork) -> Iterator[tuple[str, Any, str]]:
    """The kind, the units and what is to be said of them; no units where all is well."""
    W, h, where = network.storage.to_sparse(), np.asarray(network.bias, float), np.flatnonzero
    V, may = W.tocsc(), Possible(network, range(network.size)).before
    parents, children = np.diff(W.indptr), np.diff(V.indptr)
    linear = np.broadcast_to(network.activation.is_linear_off(h), h.shape) & (parents > 0)
    child = np.repeat(np.arange(len(h)), parents)
    causes, findings = where((parents == 0) & (children > 0)), where(linear)
    prior = np.exp(network.activation.log_on(h[causes]))
    for units in _groups(re.sub(r"[\W_]+", "", name.casefold()) or name for name in network.names):
        yield "names", units, "Names differ only in case, spaces or punctuation"
    yield "isolated", where((parents == 0) & (children == 0)), "Units have neither causes nor findings"
    yield "never on", where(~may[:, 1]), "Units are never on, as nothing can switch them on"
    yield "always on", where(~may[:, 0]), "Units are always on"
    yield "leak", where(linear & (h <= 0) & may[:, 1]), "Units with a leak of 0 cannot be on without their causes"
    sure, below = (np.unique(child[z & linear[child]]) for z in (np.isinf(W.data), W.data < 0))
    yield "certain", sure, "Units have a cause of strength 1, which is impossible where they are off"
    yield "strength", below, "Units have a cause of a strength below 0, which is not a probability"
    yield "prior", causes[prior > PROBABLE], f"Causes have a prior above {PROBABLE:g}"
    if prior.sum() > MANY_CAUSES:
        yield "priors", causes[np.argsort(-prior)], f"Priors add up to {prior.sum():.3g} causes in every case"
    if len(prior) > FEW and np.ptp(prior) <= 1e-12 * prior[0]:
        yield "priors", causes, f"All causes have the same prior, {prior[0]:.4g}"
    alike = "Causes have the same findings with the same strengths, so that no evidence tells them apart"
    twice = "Findings have the same causes, strengths and leak; they may be one finding"
    for M, some, own, text in ((V, causes, np.zeros(len(h)), alike), (W, findings, h, twice)):
        parts = [slice(*M.indptr[unit : unit + 2]) for unit in some]
        keys = ((M.indices[z].tobytes(), M.data[z].tobytes(), own[unit]) for unit, z in zip(some, parts, strict=True))
        groups = [some[units] for units in _groups(keys)]
        if network.hierarchy is not None:  # what follows from another finding has its causes
            groups = [np.setdiff1d(units, network.hierarchy.above_and_below[0].of(units)) for units in groups]
        groups = [units for units in groups if len(units) > 1]
        yield from (("identical", units, text) for units in groups[:MOST_GROUPS])
        rest = groups[MOST_GROUPS:]
        yield "identical", np.concatenate([*rest, where([])]), f"{text} (in {len(rest):,} more groups)"


def _groups(keys: Iterator[Any]) -> list[list[int]]:
    """The places that share a key, of keys that come more than once."""
    found: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return [places for places in found.values() if len(places) > 1]
