"""Markov networks: P(S) is proportional to a product of factors, each a table over a few units; zeros stay zeros.

The network is solved as a belief network of more units: fair coins, and for each factor phi a unit that is observed on
and has P(on | its units) = phi / max phi. Its ln P(evidence) plus a constant is ln Z. So every sum, message and chain
for tables serves factors too, and a state that a factor forbids stays impossible.
"""

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import equinox as eqx
import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, InvalidNetwork, listed
from plefka.networks import checks
from plefka.networks.activations import MOST_PARENTS, Table
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.fields import rows_of_states
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.networks.units import Unit

Factor = tuple[tuple[int, ...], np.ndarray]  # units, and a number of at least 0 for each of their states
WIDEST = 600  # ln of the ratio of two numbers of a table; a factor of more is a product of several


class MarkovNetwork(Network):
    """P(S) = product of factors / Z. Also called a Markov random field, or a factor graph.

    `infer` gives ln Z with the evidence clamped as `solution.log_partition`, and `most_probable` the states of most
    weight. For factors of at most two units without zeros, a `BoltzmannMachine` is quicker.

    **Arguments:**

    - `size`: the number of units.
    - `factors`: pairs of units, by their indices, and a table of shape `(2,) * units` of numbers of at least 0; at most
        16 units each. `table[0, 1]` is the weight of the first unit off and the second one on.
    - `names`: a name for each unit. Without names, units are identified by their index.

    **Example:**

    >>> import plefka as pf
    >>> network = pf.MarkovNetwork(3, [((0, 1), [[1, 0], [2, 4]]), ((1, 2), [[3, 1], [1, 3]]), ((2,), [1, 2])])
    >>> network
    <MarkovNetwork: 3 units, 3 factors of up to 2 units>
    >>> solution = pf.infer(network, {2: 1})
    >>> print(f"P(0 | 2) = {solution[0]:.3f}, ln Z = {solution.log_partition:.3f}")
    P(0 | 2) = 0.933, ln Z = 3.401
    """

    carrier: BeliefNetwork  # the units, and then those that stand for factors
    factors: tuple[Factor, ...]
    constant: float
    given_names: tuple[str, ...] | None = eqx.field(static=True)

    def __init__(self, size: int, factors: Sequence[tuple[Sequence[int], Any]], names: Sequence[str] | None = None):
        if not isinstance(size, int | np.integer) or size < 1:
            raise InvalidNetwork(f"a network must have at least one unit; got size {size!r}.")
        self.factors = tuple(_checked(factor, int(size)) for factor in factors)
        self.given_names = checks.check_names(None if names is None else tuple(names), int(size))
        own, tables = np.zeros((int(size), 2)), []  # ln of what is said of each unit alone
        for units, table in self.factors:
            if len(units) == 1 and table.all():
                own[units[0]] += np.log(table) - np.log(table.max())
                continue
            times = 1 + int(np.log(table.max()) - np.log(table[table > 0].min())) // WIDEST  # so that none becomes zero
            tables += times * [Unit(None, units, Table(table ** (1 / times) / table.max() ** (1 / times)))]
        coins = [Unit(None, (), "sigmoid", (), on - off) for off, on in own.tolist()]
        self.carrier = BeliefNetwork.of_units([*coins, *tables])
        tops = (math.log(table.max()) for _, table in self.factors)
        self.constant = math.fsum((*tops, *np.logaddexp(*own.T).tolist()))

    @property
    def size(self) -> int:
        return self.carrier.size - self.num_observed

    @property
    def num_observed(self) -> int:
        """How many further units stand for factors."""
        return len(self.carrier.conditionals.units) if self.carrier.conditionals else 0

    @property
    def storage(self) -> Storage:  # pyright: ignore
        """The weights of the belief network that it is solved as."""
        return self.carrier.storage

    @property
    def bias(self) -> np.ndarray:  # pyright: ignore
        return self.carrier.bias[: self.size]

    def take(self, networks: Any) -> "MarkovNetwork":
        raise InvalidNetwork("a MarkovNetwork is one network and no stack. Use it as it is.")

    def log_joint(self, S: Any) -> Any:
        """The sum of ln phi over all factors, of a state (n,) or of each of a batch; -inf where one forbids it."""
        states = np.asarray(S, float)
        rows_of_states(self, states, "networks")
        if not np.all((states == 0) | (states == 1)):
            raise InvalidInput("a state consists of zeros and ones; use infer for units that are not known.")
        states = states.astype(int)
        with np.errstate(divide="ignore"):
            logs = [np.log(table)[tuple(states[..., unit] for unit in units)] for units, table in self.factors]
        return sum(logs, np.zeros(states.shape[:-1]))[()]

    def sample(self, seed: int, count: int, evidence: Any = None) -> np.ndarray:
        """Draw `count` states (count, n) from the network, given the evidence."""
        given = self.widened(as_evidence(self, evidence))
        try:
            return self.carrier.sample(seed, count, given)[:, : self.size]
        except InvalidEvidence:
            raise InvalidEvidence(
                "states of a MarkovNetwork are drawn from a list of all: some must be possible, and at most 20 units "
                "hidden. Observe more of them, or use infer for their means."
            ) from None

    def widened(self, given: Evidence) -> Evidence:
        """What evidence says of the belief network that it is solved as."""
        more = np.ones((len(given.rows), self.num_observed))
        tilt = None if given.tilt is None else np.concatenate([given.tilt, 0 * more], axis=1)
        wanted = None if given.wanted is None else np.concatenate([given.wanted, np.zeros(self.num_observed, bool)])
        return given._replace(rows=np.concatenate([given.rows, more], axis=1), tilt=tilt, wanted=wanted)

    def in_words(self, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        found: list[tuple[str, ...]] = []
        for unit in range(min(most, self.size)):
            near = [others for others, _ in self.factors if unit in others]
            words = (f"({', '.join(self.names[other] for other in others)})" for others in near)
            found.append((self.names[unit], str(len(near)), listed(words)))
        return ("unit", "factors", "of"), found

    def __repr__(self) -> str:
        most = max((len(units) for units, _ in self.factors), default=0)
        factors = f"{len(self.factors):,} factors of up to {most} units"
        return f"<MarkovNetwork: {self.size:,} units, {factors}{self._names_shown}>"


def _checked(factor: Any, size: int) -> Factor:
    """A factor of units of the network, each once, of numbers of which one at least is above 0."""
    try:
        units, table = factor
        scope = tuple(map(index, units))
    except (TypeError, ValueError):
        raise InvalidNetwork(
            f"a factor must be a pair of units, by their indices, and a table; got {factor}."
        ) from None
    values = checks.as_float(table, "the table of a factor")
    if len(set(scope)) < len(scope) or not all(0 <= unit < size for unit in scope) or len(scope) > MOST_PARENTS:
        raise InvalidNetwork(
            f"a factor must have at most {MOST_PARENTS} different units from 0 to {size - 1}; got {listed(scope)}."
        )
    if values.shape != (2,) * len(scope):
        raise InvalidNetwork(f"the table of a factor must have shape (2,) * units; got {values.shape} for {scope}.")
    if not ((values >= 0) & (values < np.inf)).all() or not (values > 0).any():
        raise InvalidNetwork(f"a factor must have numbers of at least 0, one of them above 0; got others for {scope}.")
    values.setflags(write=False)
    return scope, values
