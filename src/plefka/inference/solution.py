"""What `infer` returns: the answer, whether to believe that it was reached, and how to check it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply, PlefkaError
from plefka.inference import intervals
from plefka.inference.batched_types import Checks, Counts, Flags, NumberByRow, Statuses
from plefka.inference.ranking import ranked
from plefka.inference.solution_tables import as_dict, frame, of_unit, quantity_column
from plefka.inference.solution_text import solution_html, solution_table
from plefka.inference.solution_words import as_json
from plefka.methods.posterior import ACCURACIES, ESTIMATE, EXACT, LOWER_BOUND, OBSERVED, Accuracy, Status, proposals_of

if TYPE_CHECKING:
    import pandas

    from plefka.inference.pair_posteriors import PairPosteriors
    from plefka.methods.method import Method
    from plefka.methods.posterior import ProposedComponents
    from plefka.networks.evidence import Evidence
    from plefka.networks.network import Network
    from plefka.sampling.chain_draws import Draws


ABOVE_ZERO = "ln P(evidence) above 0 cannot be the logarithm of a probability; compare with another method"
ABOVE_LIKELIHOODS = (
    "ln P(evidence) above what its Likelihoods allow cannot be the logarithm of a probability; compare with another "
    "method"
)
BY_ROW = ("means", "log_partition", "status", "num_steps", "residual", "num_cycles", "observed", "checked",
          "standard_error", "means_error", "degrees_of_freedom", "predicted")  # fmt: skip
LIKELIHOOD_ROUNDING = 1e-6  # how far above 0 a log-likelihood of 0 may come out, in float32 too


class InferenceFailed(PlefkaError):
    """A single inference that did not converge; `solution` is what was reached.

    >>> import plefka as pf
    >>> try:
    ...     pf.infer(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, "G12[max_steps=2]")
    ... except pf.InferenceFailed as error:
    ...     print(error.solution.status.name)
    OUT_OF_STEPS
    """

    def __init__(self, solution: "Solution"):
        self.solution = solution
        if solution.status is Status.IMPOSSIBLE:  # whatever the method, and the last note says what contradicts what
            said = "".join(f" {note[0].upper()}{note[1:]}." for note in solution.notes[-1:])
            super().__init__(f"{solution.status.value}.{said}")
            return
        super().__init__(
            f"{solution.method} {solution.status.value}. "
            f"After {solution.num_steps} steps the residual is {solution.residual:.2g}. "
            f"{''.join(f'{note[0].upper()}{note[1:]}. ' for note in solution.notes)}"
            "Pass throw=False to get the solution as it is."
        )


class Codes(NamedTuple):
    """What the numbers of a solution are, as positions in `tuple(Accuracy)`."""

    log_partition: Any  # one, or (B,)
    means: Any  # (n,) or (B, n)

    def estimated(self) -> "Codes":
        """All that was not observed."""
        return Codes(
            np.full_like(self.log_partition, ESTIMATE)[()], np.where(self.means == OBSERVED, OBSERVED, ESTIMATE)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Posterior means and ln P(evidence), of one row of evidence or of a batch, where every field gains an axis.

    - `means`: (n,) or (B, n), the probability of each unit to be on; observed units have their value.
    - `log_likelihood`: ln P(evidence), and `log_likelihood_accuracy`: whether that is exact, a bound or an estimate.
    - `log_partition`: ln Z with the evidence clamped, and `log_partition_accuracy`. In a belief network it is the same
        as `log_likelihood`; in a Boltzmann machine see there.
    - `accuracy`: (n,) or (B, n), what each mean is: an `Accuracy`.
    - `is_exact`: whether all of it is exact or observed, in every row; `is_bound`: whether no `log_partition` exceeds
        the truth. Of an upper bound it is false: `log_partition_accuracy` says "upper bound".
    - `status`, `converged`, `num_steps`, `residual`: how the solver ended, and by how much a further step would
        change the means at most.
    - `num_restarts`: how many further starting points were tried.
    - `notes`: how it was computed, where that was chosen or approximated for this network.
    - `predicted`: (n,) or (B, n), the units that no observation depends on and whose mean was computed as if parents
        were independent of each other. None inside a trace.
    - `checked`: what `infer(..., check=True)` found, see `check`.
    - `methods`: the method that answered each row, as a tuple: what `auto` chose, or the method that was asked for.
    - `standard_error`, `means_error`: of `log_likelihood` and `means` where these are averages of draws, nan where they
        are not; None where nothing is.
    - `degrees_of_freedom`: of these errors, where few independent populations stand behind them; nan or None where many
        do. `log_likelihood_interval` and `intervals` take it into account.
    - `warnings`: what speaks against an answer although it converged.

    The probability of a unit is `solution["its name"]`; see also `ranking`, `to_frame`, `to_dict` and `to_json`.

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
    >>> solution = pf.infer(net, {"fever": 1})
    >>> round(solution["flu"], 3)
    0.653
    >>> round(solution.log_likelihood, 3)
    -2.063
    >>> print(solution)
    ln P(evidence) = -2.06...
    ...
    unit  P(on | evidence)     prior  accuracy
    ------------------------------------------
    flu           0.65...   0.095163     exact
    """

    means: np.ndarray
    log_partition: NumberByRow
    status: Statuses
    num_steps: Counts
    residual: NumberByRow
    num_restarts: int
    num_cycles: Counts
    method: "Method"
    names: tuple[str, ...]
    observed: np.ndarray
    network: "Network"
    evidence: "Evidence"
    codes: Codes
    notes: tuple[str, ...] = ()
    prune: bool = True
    proposals: "Sequence[ProposedComponents]" = ()
    checked: "Checks | None" = None
    predicted: np.ndarray | None = None
    methods: tuple["Method", ...] = ()
    standard_error: NumberByRow | None = None
    means_error: np.ndarray | None = None
    degrees_of_freedom: NumberByRow | None = None

    @property
    def log_likelihood(self) -> NumberByRow:
        """ln P(evidence).

        Of a Boltzmann machine it is the difference of `log_partition` to ln Z of the machine without evidence, by the
        same method. That is computed when this is first asked for, and kept as long as the machine is; this is nan
        where it does not converge. A difference of two bounds is no bound: there `is_bound` speaks of `log_partition`
        alone.
        """
        if self.network.is_normalised:
            return self.log_partition
        from plefka.inference.free_machine import log_likelihood

        return log_likelihood(self)

    @property
    def accuracy(self) -> np.ndarray:
        """What the mean of each unit is, (n,) or (B, n); inside a trace, positions in `tuple(Accuracy)`.

        >>> import plefka as pf
        >>> net = pf.example("espresso")
        >>> solution = pf.infer(net, {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}, "G12")
        >>> solution.accuracy[net.index("stale_beans")] is pf.Accuracy.ESTIMATE
        True
        """
        return _named(self.codes.means)

    @property
    def log_partition_accuracy(self) -> "Accuracy | np.ndarray":
        """What `log_partition` is; of a batch, one for each row."""
        return cast(Any, _named(self.codes.log_partition))

    @property
    def log_likelihood_accuracy(self) -> "Accuracy | np.ndarray":
        """What `log_likelihood` is; of a Boltzmann machine, a difference: exact where both numbers are."""
        if self.network.is_normalised:
            return self.log_partition_accuracy
        from plefka.inference.free_machine import accuracy_of_difference

        return cast(Any, _named(accuracy_of_difference(self)))

    @property
    def log_likelihood_interval(self) -> tuple[NumberByRow, NumberByRow]:
        """(low, high): where ln P(evidence) lies; of a batch, two arrays.

        An exact number is both. A bound is one of them, and the other is the most or least that is known. Of an average
        of draws it is the interval that contains the truth in 95 of 100 cases, by its standard error and Student's t.
        Both are nan where nothing is known, and where the answer has not converged.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> low, high = pf.infer(net, {"fever": 1}).log_likelihood_interval
        >>> low == high == pf.infer(net, {"fever": 1}).log_likelihood
        True
        """
        return intervals.log_likelihood_interval(self)

    @property
    def log_partition_interval(self) -> tuple[NumberByRow, NumberByRow]:
        """An interval of 95 % for `log_partition`, which differs from `log_likelihood` in a Boltzmann machine."""
        return intervals.log_partition_interval(self)

    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of the mean of each unit, (n,) or (B, n), within [0, 1]; nan where nothing is known.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> solution = pf.infer(net, {"fever": 1}, "gibbs[seed=0]")
        >>> low, high = solution.intervals()
        >>> bool(0 <= low[0] <= solution["flu"] <= high[0] <= 1), float(low[1]), float(high[1])
        (True, 1.0, 1.0)
        """
        return intervals.mean_intervals(self)

    @property
    def is_exact(self) -> bool:
        """Whether `log_partition` and all means are exact, or observed, in every row."""
        log_partition, means = self.codes
        if not isinstance(means, np.ndarray):  # inside a trace, where it is known without them
            return bool(np.all(log_partition == EXACT))
        return bool(np.all(log_partition == EXACT) and np.all((means == EXACT) | (means == OBSERVED)))

    @property
    def is_bound(self) -> bool:
        """Whether `log_partition` is exact or a lower bound, in every row. An upper bound is told by its accuracy."""
        code = self.codes.log_partition
        return bool(np.all((code == EXACT) | (code == LOWER_BOUND)))

    @property
    def magnetisations(self) -> np.ndarray:
        """The mean of each unit in the values of its network: for values (-1, 1), 2 P(on) - 1; else P(on)."""
        off, on = self.network.values
        return off + (on - off) * self.means

    @property
    def free_energy(self) -> NumberByRow:
        """-log_partition: what the method minimised."""
        return -self.log_partition

    @property
    def is_batch(self) -> bool:
        """Whether there is more than a single row."""
        return np.ndim(self.log_partition) > 0

    @property
    def num_rows(self) -> int:
        """How many rows of evidence were answered."""
        return len(self.log_partition) if self.is_batch else 1

    def row(self, number: int) -> "Solution":
        """One row of a batch as a solution of its own; a single row is itself."""
        if not -self.num_rows <= number < self.num_rows:
            raise InvalidInput(f"row must be a number from 0 to {self.num_rows - 1}; got {number}.")
        if not self.is_batch:
            return self
        row = int(number) % self.num_rows
        fields = {name: _at(getattr(self, name), row) for name in BY_ROW}
        return replace(
            self, **fields, codes=Codes(*(each[row] for each in self.codes)), methods=self.methods[row : row + 1],
            proposals=proposals_of(self.proposals, [row]),
            network=self.network if self.network.stack is None else self.network.take(row),
            evidence=self.evidence.take([row])._replace(batched=False),
        )  # fmt: skip

    @property
    def converged(self) -> Flags:
        """True, or one for each row."""
        converged = np.asarray(self.status) == Status.CONVERGED
        return cast(Flags, converged if self.is_batch else bool(converged))

    @property
    def warnings(self) -> list:
        """Sentences, none where all is well; of a batch, such a list for each row."""
        if not self.network.is_normalised:  # ln Z may have any value
            return [[] for _ in range(self.num_rows)] if self.is_batch else []
        highest = self.evidence.highest
        above = np.atleast_1d(self.converged & (np.asarray(self.log_likelihood) > highest + LIKELIHOOD_ROUNDING))
        sentence = ABOVE_ZERO if np.all(highest == 0) else ABOVE_LIKELIHOODS
        found = [[sentence] if doubtful else [] for doubtful in above]
        return found if self.is_batch else found[0]

    def check(self, *, seed: int, num_samples: int | None = None) -> Checks:
        """Draw states and weigh them by the network as it is defined: ln P(evidence) and means with their errors.

        States of a belief network are drawn near the solution or, where noisy-or units are on and it is not exact, as
        by `findings`; those of a Boltzmann machine by population annealing from infinite temperature.
        The verdict says in words whether they can be believed, and whether they contradict the solution. Of a batch, a
        list with one `Check` for each row.
        """
        from plefka.inference.check import check

        refuse_group(self.evidence, "the check")
        return cast(Checks, check(self, seed, num_samples))

    def contradiction(self, row: int | None = None) -> str | None:
        """Which observations of an impossible row cannot all be true, in words; None where the row is possible.

        `row`: its number, in a batch. Nothing is looked for until this is called.
        """
        from plefka.inference.contradictions import in_words

        return in_words(self, row)

    def pairs(self, units: Sequence[str | int] | None = None) -> "PairPosteriors":
        """How units vary together: covariances, and the four probabilities of every pair, by the method of each row.

        Exact where the solution is: from rows in which one unit after another is observed as well. For free energies
        and `bethe` it is linear response, how the means follow the log-odds of units; for `gibbs` it is what its chains
        visited. `units`: those to look at, all by default. What the numbers are is in `accuracy` and `how`.

        >>> import plefka as pf
        >>> solution = pf.infer(pf.example("espresso"), {"slow_flow": 1})
        >>> table = solution.pairs(["limescale", "clogged_screen"])["limescale", "clogged_screen"]
        >>> abs(float(table[1].sum()) - solution["limescale"]) < 1e-12
        True
        """
        from plefka.inference.pair_posteriors import pair_posteriors

        refuse_group(self.evidence, "covariance()")
        return pair_posteriors(self, units)

    def covariance(self, *, units: Sequence[str | int] | None = None) -> np.ndarray:
        """cov(S_i, S_j | evidence), (n, n) or (B, n, n), of all units or of some: `pairs` says what it is."""
        return self.pairs(units).covariance

    def covariance_product(self, vector: Any) -> np.ndarray:
        """covariance() @ vector for a single row; for free energies and `bethe` without forming the matrix."""
        from plefka.inference.pair_posteriors import covariance_product

        refuse_group(self.evidence, "covariance_product()")
        return covariance_product(self, np.asarray(vector, float))

    def __getitem__(self, unit: str | int) -> NumberByRow:
        """P(on | evidence) of a unit, by its name: a plain number, or an array with one for each row of a batch.

        >>> import plefka as pf
        >>> solution = pf.infer(pf.example("espresso"), {"slow_flow": 1})
        >>> 0 < solution["clogged_screen"] < 1
        True
        """
        return of_unit(self, self.network.index(unit))

    def __iter__(self) -> Iterator[str]:
        """The names of the units."""
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def marginals(self) -> dict[str, NumberByRow]:
        """{name: P(on | evidence)} of all units, plain numbers; of a batch, {name: an array with one for each row}.

        >>> import json
        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0.0]], [0.0], names=["coin"])
        >>> json.dumps(pf.infer(net).marginals())
        '{"coin": 0.5}'
        """
        return {name: of_unit(self, unit) for unit, name in enumerate(self.names)}

    def ranking(self, top: int | None = 10, *, units: str | Sequence[str | int] = "causes") -> list:
        """Hidden units, most probable first: [(name, P(on | evidence)), ...]; of a batch, such a list for each row.

        **Arguments:**

        - `top`: how many of them at most; None for all.
        - `units`: "causes", the hidden units that have no hidden parent (in a network of diagnosis: the diseases);
            "all", every hidden unit; or a list of names, of which those that are observed are left out.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> pf.infer(net, {"fever": 0}).ranking() == [("flu", pf.infer(net, {"fever": 0})["flu"])]
        True
        >>> [name for name, probability in pf.infer(net).ranking(units="all")]
        ['fever', 'flu']
        """
        found = ranked(self, top, units)
        return found if self.is_batch else found[0]

    def to_frame(self, *, wide: bool = False) -> "pandas.DataFrame":
        """A pandas DataFrame with one row for each unit: name, kind, probability, log_odds, observed and accuracy.

        A batch has such rows for each row of evidence, numbered in the column `row`. With `wide` there is one row for
        each row of evidence instead: row, status, log_likelihood, its accuracy, how many of its means are estimates,
        and the probability of each unit in a column of its name.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> frame = pf.infer(net, {"fever": 1}).to_frame()
        >>> list(frame.columns)
        ['name', 'kind', 'probability', 'log_odds', 'observed', 'accuracy']
        >>> frame.loc[~frame.observed, "name"].tolist()
        ['flu']
        >>> list(pf.infer(net, [{}, {"fever": 1}]).to_frame(wide=True).columns)
        ['row', 'status', 'log_likelihood', 'accuracy', 'estimates', 'flu', 'fever']
        """
        return frame(self, wide=wide)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and words: `method`, `log_likelihood`, `status`, `means` {name: P(on)}, ...

        A batch has a list `rows` of what differs by row. Numbers may be infinite: -inf is ln P of impossible evidence.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0.0]], [0.0], names=["coin"])
        >>> pf.infer(net, method="exact").to_dict()["means"]
        {'coin': 0.5}
        """
        return as_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as a JSON document, the same as that of `plefka infer --json`.

        JSON has no infinities and no nan: they are written as null, and `status` says why.

        >>> import json
        >>> import plefka as pf
        >>> solution = pf.infer(pf.BeliefNetwork([[0.0]], [0.0]))
        >>> json.loads(solution.to_json()) == solution.to_dict()
        True
        """
        return as_json(self.to_dict(), indent)

    def draws(self, most: int = 1000) -> "Draws":
        """States drawn from the posterior by the chains of gibbs, in the layout of ArviZ: (chain, draw, unit).

        For solutions by `gibbs`, of a single row. The chains are run again from their seed, with no unit summed out, so
        that a state has all units. At most `most` draws of each chain are kept, evenly spaced, one byte for each unit.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.5], "noisy_or", ["flu", "fever"])
        >>> draws = pf.infer(net, {"fever": 1}, "gibbs[seed=0]").draws(most=100)
        >>> draws.states.shape
        (8, 100, 2)
        >>> draws["flu"].shape
        (8, 100)
        """
        from plefka.sampling.chain_draws import draws

        refuse_group(self.evidence, "draws()")
        return draws(self, most)

    def __repr__(self) -> str:
        name = quantity_column(self)
        if self.is_batch:
            done = f"{int(np.sum(self.converged)):,} of {self.num_rows:,} rows converged"
            return f"<Solution by {self.method}: {done}, mean {name} {np.mean(self.log_partition):.6g}>"
        return f"<Solution by {self.method}: {name} {self.log_partition:.6g}, {self.status.name.lower()}>"

    def __str__(self) -> str:
        return solution_table(self)

    def _repr_html_(self) -> str:
        """A table for notebooks: the answer, and the most probable hidden units."""
        return solution_html(self)


def refuse_group(evidence: "Evidence", what: str) -> None:
    """For what does not know of groups."""
    if evidence.exclusive is not None:
        raise MethodDoesNotApply(
            f"{what} does not take exclusive into account. Ask with one unit of the group as evidence at a time."
        )


def _at(field: Any, row: int) -> Any:
    """What a field says of one row: a plain number, where it is one."""
    found = None if field is None else field[row]
    return found.item() if isinstance(found, np.generic) else found


def _named(codes: Any) -> Any:
    """Codes as words; those of a trace stay as they are."""
    if isinstance(codes, np.ndarray | np.generic):
        return np.array(ACCURACIES, object)[cast(Any, codes)]
    return codes
