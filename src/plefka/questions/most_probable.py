"""The most probable states of hidden units together, given the evidence; others of them may be summed out.

All hidden units at once is what others call the most probable explanation (MPE), and some of them the marginal MAP. All
ways start from the same terms of ln P (exact/state_terms.py): look at every state, eliminate with maxima, or branch and
bound, by integer programs or, where units are summed out, by eliminations.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply, nearest
from plefka.exact.best_states import BestStates, eliminated, enumerated
from plefka.exact.cost import LITTLE_WORK, QUICK, QUICK_TABLES, THOROUGH
from plefka.exact.groups import Cost
from plefka.exact.log_factors import TooManyParents
from plefka.exact.marginal_states import SEARCH_SECONDS, MarginalSearch
from plefka.exact.ordering import TooWide, greedy_plan
from plefka.exact.state_programs import CLOSED, FEW_NUMBERS, StateProgram
from plefka.exact.state_terms import StateTerms, units_above
from plefka.exact.states import too_many_states
from plefka.inference.contradictions import with_contradiction
from plefka.inference.infer import infer
from plefka.inference.ranking import chosen_units
from plefka.inference.solution import InferenceFailed
from plefka.methods.posterior import EXACT, UPPER_BOUND, Status
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.fields import bits
from plefka.networks.hierarchy import with_implied
from plefka.networks.index_arrays import mask_of
from plefka.networks.intervention import intervened, interventions
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.questions.most_probable_states import MostProbable

METHODS = ("auto", "enumeration", "elimination", "branch-and-bound")
MOST_COUNT = 1000  # states that may be asked for
MOST_BITS = 10  # chosen units all of whose states are rows of evidence, where others are summed out
RUNS = 5.0  # eliminations for each further state
MOST_FLIPPED, MOST_MOVES, RESTS = 48, 32, 6  # units that a search looks at, steps, and for how many a unit rests
SEARCHED = "a search that changes one unit at a time"
OTHERS = "Use auto, which takes another way."


def most_probable(
    network: Network,
    evidence: Any = None,
    units: str | Sequence[str | int] | None = None,
    count: int = 1,
    method: str = "auto",
    *,
    do: Any = None,
) -> MostProbable:
    """The most probable joint states of hidden units given the evidence, and whether that is proven.

    The units that are each probably on need not be on together: one cause explains another away. This is the question
    which causes there are together.

    **Arguments:**

    - `network`: a BeliefNetwork, a BoltzmannMachine or a MarkovNetwork.
    - `evidence`: as for `infer`, soft evidence and several rows included.
    - `units`: the hidden units whose states are chosen; the others are summed out. "causes" are those without parents,
        and None or "all" are all hidden units.
    - `count`: the number of states, the most probable first.
    - `method`: "auto", or one of "enumeration", "elimination" and "branch-and-bound".
    - `do`: {unit: 0 or 1}, the units that are set from outside, as for `infer`.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.most_probable(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, units="causes", count=2)
    >>> found.on(0), found.on(1)
    (['limescale', 'stale_beans'], ['clogged_screen', 'stale_beans'])
    """
    network, given = intervened(network, _checked(network, evidence, count, method), do)
    chosen = _chosen(network, given, units)
    if isinstance(network, MarkovNetwork):
        asked = [network.names[unit] for unit in np.flatnonzero(chosen & np.isnan(given.rows).any(axis=0))]
        places = list(map(network.index, asked)) or None
        try:
            found = most_probable(network.carrier, network.widened(given), places, count, method)
        except InferenceFailed:
            infer(network, given)  # which names what contradicts each other here
            raise
        logs = {name: getattr(found, name) + network.constant for name in ("log_joint", "bound")}
        return replace(found, states=found.states[..., : network.size], units=tuple(asked), network=network,
                       evidence=given, **logs)  # fmt: skip
    found = [_of_row(network, given.take([row]), chosen, count, method) for row in range(len(given.rows))]
    if not given.batched and not len(found[0][0].log_joint):
        solution = infer(network, given, throw=False)
        if solution.status is Status.IMPOSSIBLE:
            raise InferenceFailed(with_contradiction(solution))
        raise InvalidEvidence("no state of the hidden units that fits the evidence was found.")
    number = max(len(best.log_joint) for best, _ in found)
    states, logs, bounds = (np.full((len(found), number, *more), np.nan) for more in ((network.size,), (), ()))
    logs[:], bounds[:] = -np.inf, -np.inf
    for row, (best, _) in enumerate(found):
        for array, of_row in zip((states, logs, bounds), best, strict=True):
            array[row, : len(of_row)] = of_row
    off, on = network.values
    states = off + (on - off) * states
    ways = dict.fromkeys(way for _, way in found)
    shown = chosen & np.isnan(with_implied(network, given.rows)).any(axis=0)
    names = tuple(name for name, is_shown in zip(network.names, shown, strict=True) if is_shown)
    if not given.batched:
        states, logs, bounds = states[0], logs[0], bounds[0]
    return MostProbable(states, logs, bounds, names, " and ".join(ways), interventions(network, given), network, given)


def _checked(network: Network, evidence: Any, count: int, method: str) -> Evidence:
    if not isinstance(network, Network) or network.stack is not None:
        got = f"a stack of {network.stack}" if isinstance(network, Network) else type(network).__name__
        raise InvalidInput(f"most_probable takes one network; got {got}. Take one of a stack: network.take(0).")
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= MOST_COUNT:
        raise InvalidInput(f"count must be a whole number from 1 to {MOST_COUNT:,}; got {count!r}.")
    if method not in METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(METHODS)}; got {method!r}.{nearest(str(method), METHODS)}"
        )
    return as_evidence(network, evidence)


def _chosen(network: Network, given: Evidence, units: str | Sequence[str | int] | None) -> np.ndarray:
    """The units (n,) whose states are asked for, where they are hidden."""
    found = mask_of(chosen_units(network, "all" if units is None else units), network.size)
    hidden = np.isnan(with_implied(network, given.rows)).any(axis=0)
    if not isinstance(units, str | None) and (found & ~hidden).any():
        name = network.names[np.flatnonzero(found & ~hidden)[0]]
        raise InvalidEvidence(f"units must be hidden; {name!r} is observed. Leave it out of units or of the evidence.")
    if not isinstance(units, str | None) and not found.any():
        raise InvalidInput("units must have at least one unit; got none. Pass None for all hidden units.")
    return found


# ---- of one row ------------------------------------------------------------------------------------------------------


Found = tuple[BestStates, str]  # and the way


def _of_row(network: Network, given: Evidence, chosen: np.ndarray, count: int, method: str) -> Found:
    """The states of all units, of which those that are chosen and hidden are found."""
    known = with_implied(network, given.rows)
    hidden = np.isnan(known[0])
    used = units_above(network, np.asarray(given.informed[0]) | (chosen & hidden))
    terms, sums = StateTerms(network, given, used), _Sums(network, given, np.flatnonzero(chosen & hidden))
    is_chosen = chosen[terms.units]
    if is_chosen.all():
        found = _of_terms(terms, count, method)
        if found is None or (found[0].bound[:1] - found[0].log_joint[:1] > CLOSED).any():
            found = sums.searched(count, lambda some: terms.log_joint(some.T), sums.highest, found and found[0])
    else:
        found = _of_sums(terms, np.flatnonzero(is_chosen), sums, count, method)
    states = np.repeat(known, len(found[0].states), axis=0)
    states[:, sums.units] = found[0].states
    return found[0]._replace(states=states), found[1]


def _of_terms(terms: StateTerms, count: int, method: str) -> Found | None:
    """All units are chosen: the way that is asked for, or the quickest; None where there is none."""
    work = 2.0 ** min(len(terms.units), 1000) * (1 + len(terms.units) + len(terms.fields) + len(terms.tables))
    if method == "enumeration" or not len(terms.units) or (method == "auto" and work <= LITTLE_WORK / 8):
        if work > 64 * LITTLE_WORK:
            raise MethodDoesNotApply(f"enumeration does not apply: {too_many_states(len(terms.units))}. Use auto.")
        return enumerated(terms, count), "enumeration"
    try:
        factors = terms.factors()
        plan = greedy_plan(factors.structure)
        seconds = float(Cost.of(plan).seconds(1)) * (1 + RUNS * (count - 1))
    except (TooWide, TooManyParents) as error:
        if method == "elimination":
            raise MethodDoesNotApply(f"elimination does not apply: its tables would be too wide. {OTHERS}") from error
        factors, plan, seconds = None, None, np.inf
    found = None
    is_tight = not terms.tables and all(term.unit < 0 for term in terms.fields)  # programs without products
    if method == "branch-and-bound" or (method == "auto" and seconds > (QUICK if is_tight else QUICK_TABLES)):
        found = _of_program(terms, count)
        if found is None and method != "auto":
            raise MethodDoesNotApply(f"branch-and-bound does not apply: its program would be too large. {OTHERS}")
        if method != "auto" or (found is not None and (found[0].bound - found[0].log_joint <= CLOSED).all()):
            return found
    if factors is None or plan is None or (method == "auto" and seconds > THOROUGH):
        return found
    return eliminated(factors, plan, count), "elimination with maxima"


def _of_program(terms: StateTerms, count: int) -> Found | None:
    """None where the program would be too large, or has found nothing."""
    try:
        program = StateProgram(terms)
    except TooManyParents:
        return None
    best = program.best(count) if sum(len(columns) for columns, _, _ in program.rows) <= FEW_NUMBERS else None
    if best is None or (program.is_cut_short and not len(best.states)):
        return None
    is_short = program.is_cut_short and len(best.states) < count
    return best, f"branch and bound{', which ended before it had found all states' * is_short}"


def _of_sums(terms: StateTerms, chosen: np.ndarray, sums: "_Sums", count: int, method: str) -> Found:
    """Other units are summed out: proven where that is not too long, and otherwise a search with a bound."""
    log_joint, bound, moves = sums.log_joint, sums.highest, MOST_MOVES
    if method != "enumeration":
        try:
            search = MarginalSearch(terms.factors(), chosen)
            best, rest = search.best(count)
            if len(best.states) == count or np.isneginf(rest):
                return best, "branch and bound"
            log_joint, bound = search.log_joint, min(rest, bound)
            moves = int(np.clip(SEARCH_SECONDS / (MOST_FLIPPED * search.row_seconds), 1, MOST_MOVES))
        except (TooWide, TooManyParents):
            if method != "auto":
                raise MethodDoesNotApply(f"{method} does not apply: its tables would be too wide. {OTHERS}") from None
    if method == "enumeration" or len(chosen) <= MOST_BITS:
        if len(chosen) > MOST_BITS:
            raise MethodDoesNotApply(
                f"enumeration does not apply: each of the 2^{len(chosen)} states of the chosen units is a sum over the "
                f"others (the limit is 2^{MOST_BITS}). Use auto."
            )
        states = bits(np.arange(2 ** len(chosen)), np.arange(len(chosen))).T
        logs = log_joint(states)
        best = np.argsort(-logs, kind="stable")[:count]
        bounds = logs[best] if sums.is_exact else np.full(len(best), bound)
        return BestStates.of(states[best], logs[best], bounds, len(chosen)), "enumeration"
    return sums.searched(count, log_joint, bound, moves=moves)


class _Sums:
    """Sums over all units that are not chosen, by `infer`: a row of evidence for each state of the chosen ones."""

    def __init__(self, network: Network, given: Evidence, units: np.ndarray):
        self.network, self.units = network, units
        self.given = given._replace(batched=True, wanted=np.zeros(network.size, bool))
        self.is_exact = True  # whether all sums so far are

    def log_joint(self, states: np.ndarray) -> np.ndarray:
        """(rows,) of states (rows, chosen units); an estimate where the sum is."""
        given = self.given.take(np.zeros(len(states), int))
        given.rows[:, self.units] = states
        solution = infer(self.network, given, throw=False)
        self.is_exact &= bool(np.all(solution.codes.log_partition == EXACT))
        return np.nan_to_num(np.asarray(solution.log_partition), nan=-np.inf, neginf=-np.inf)

    @cached_property
    def highest(self) -> float:
        """What ln P of a state and the evidence cannot exceed: that of the evidence, where it is known."""
        solution = infer(self.network, self.given, throw=False)
        if solution.codes.log_partition[0] in (EXACT, UPPER_BOUND):
            return float(solution.log_partition[0])
        return float(np.ravel(self.given.highest)[0]) if self.network.is_normalised else np.inf

    def searched(
        self,
        count: int,
        log_joint: Callable[[np.ndarray], np.ndarray],
        bound: float,
        known: BestStates | None = None,
        moves: int = MOST_MOVES,
    ) -> Found:
        """From what is known, or the likelier state of each unit, the best change of one unit, again and again.

        A unit that was changed rests for some steps, so that the search leaves a state that is only locally the best.
        """
        means = np.nan_to_num(infer(self.network, self.given._replace(wanted=None), throw=False).means[0, self.units])
        flipped = np.argsort(np.abs(means - 0.5), kind="stable")[:MOST_FLIPPED]
        states, best = np.concatenate([(means > 0.5)[None] * 1.0, *([] if known is None else [known.states])]), 0
        logs, changed = log_joint(states), np.full(len(flipped), -MOST_MOVES)
        state = states[int(np.argmax(logs))]
        for move in range(moves if self.is_exact else 0):  # an estimate is too dear, and too coarse, to follow
            near = np.repeat(state[None], len(flipped), axis=0)
            near[np.arange(len(flipped)), flipped] = 1 - state[flipped]
            found = log_joint(near)
            states, logs = np.concatenate([states, near]), np.append(logs, found)
            best = int(np.argmax(np.where(move - changed > RESTS, found, -np.inf)))
            state, changed[best] = near[best], move
        _, first = np.unique(states, axis=0, return_index=True)
        order = first[np.argsort(-logs[first], kind="stable")][:count]
        bounds = np.full(len(order), bound)
        if known is not None:
            bounds[: len(known.bound)] = np.minimum(known.bound, bound)[: len(order)]
        return BestStates.of(states[order], logs[order], bounds, len(self.units)), SEARCHED
