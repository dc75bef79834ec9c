"""How a computation ended, as a sentence for the user and as a number inside a computation."""

from enum import Enum


class Status(Enum):
    """How a computation ended; the value is the sentence for the user.

    >>> import plefka as pf
    >>> pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact").status is pf.Status.CONVERGED
    True
    """

    CONVERGED = "converged"
    OUT_OF_STEPS = (
        "ran out of steps before the means settled; raise max_steps or tol, as in G12[max_steps=10000], "
        "of gibbs its sweeps and temperatures, of findings k and samples, or try another method"
    )
    DIVERGED = (
        "diverged: the free energy fell below what any probability allows, as it is unbounded below here; use a first "
        "order scheme such as G12, or a bound"
    )
    NOT_FINITE = (
        "the free energy is not a finite number at the starting point; look for weights of extreme size, "
        "or use a method that does not expand the energy"
    )
    IMPOSSIBLE = (
        "the evidence is impossible: its probability is zero; correct it, give a unit that is observed on a leak, "
        "or make a certain edge less than certain"
    )
    WITHOUT_LEAK = (
        "has no finite answer, as a noisy-or unit that is on or hidden has no leak, or one below 1e-12; give it one "
        "(a positive bias), or use bethe, which needs none"
    )


STATUS_CODES = tuple(Status)  # inside a computation a status is its position in this list, from 1
RUNNING, CONVERGED, OUT_OF_STEPS, DIVERGED, NOT_FINITE, IMPOSSIBLE, WITHOUT_LEAK = range(7)
