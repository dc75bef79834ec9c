"""Boltzmann machines: spin glasses, the price of a step, and digits beside scikit-learn.

`python -m benchmarks.boltzmann` writes the tables of docs/boltzmann.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks import real_machines
from benchmarks.measure import Row, at_most, best, best_of_both
from plefka.runtime import whole_files

PAGE = Path("docs/boltzmann.md")
GLASSES = ("G1", "G2", "bethe", "conditioned[bethe,k=8]")
AUTO = "auto[exact=no]"
DRAWS, SIZE = 500, 16
LARGE = 3163  # units of a machine with 10 million weights
HIDDEN, INK = 64, 7  # hidden units for digits, and what is more than this is ink
FEW, MANY = 5, 25  # steps of two runs, whose difference is the price of a step


def rows() -> Iterator[Row]:
    """What the methods miss on spin glasses, and what a step costs."""
    for scale, most in ((1.0, 0.02), (2.0, 0.1)):
        found = spin_glasses(scale, (*GLASSES, AUTO))
        error = {method: errors.mean() for method, (errors, _) in found.items()}
        if scale == 1:
            yield at_most("G2 over G1, |ln Z error|", error["G2"] / error["G1"], "", 0.25, error)
        auto, converged = found[AUTO]
        yield at_most(f"auto without exact, scale {scale:g}", auto.mean(), "nats", most, {"largest": float(auto.max())})
        yield at_most(f"not converged, scale {scale:g}", DRAWS - converged, "draws", 0, {})
    yield step_price()
    yield from digits()


def spin_glasses(scale: float, methods: Sequence[str]) -> dict[str, tuple[np.ndarray, int]]:
    """|ln Z error| of every draw, and how many of them converged, by method."""
    machines = pf.ensembles.spin_glass(SIZE, DRAWS, 0, scale=scale)
    exact = pf.infer(machines, None, "exact").log_partition
    found = {}
    for method in methods:
        solution = pf.infer(machines, None, method)
        found[method] = np.abs(solution.log_partition - exact), int(solution.converged.sum())
    return found


def step_price() -> Row:
    """A step of G2 on 10 million weights, over two products of NumPy with the matrix."""
    machine = pf.ensembles.spin_glass(LARGE, 1, 0, scale=0.5).take(0).converted()
    W, u = np.asarray(machine.weights), np.random.default_rng(0).uniform(size=LARGE)
    method = "G2[solve=yes,tol=1e-300,max_steps={}]"

    def steps(count: int) -> float:
        return best(lambda: pf.infer(machine, None, method.format(count), throw=False), 3)

    products = best(lambda: (W @ u, W @ u), 5)
    ratio = (steps(MANY) - steps(FEW)) / (MANY - FEW) / products
    return at_most("a step of G2 over two products, 10 million weights", ratio, "", 6, {"products": products})


def digits() -> Iterator[Row]:
    """The hidden units of a restricted machine for all digits of scikit-learn in one batch, over its `transform`.

    With all pixels observed the answer is exact. With half of them missing it is an approximation that takes steps.
    """
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    pixels = (load_digits(return_X_y=True)[0] > INK) * 1.0
    rbm = BernoulliRBM(n_components=HIDDEN, n_iter=5, random_state=0).fit(pixels)
    machine = pf.BoltzmannMachine.restricted(rbm.components_.T, rbm.intercept_visible_, rbm.intercept_hidden_)
    missing = np.random.default_rng(0).random(pixels.shape) < 0.5
    aims = {"all pixels observed": (pixels, 30.0), "half of them missing": (np.where(missing, np.nan, pixels), np.inf)}
    for name, (visible, most) in aims.items():
        rows = np.concatenate([visible, np.full((len(pixels), HIDDEN), np.nan)], axis=1)
        found = pf.infer(machine, rows, "G2")
        ours, theirs = best_of_both(lambda rows=rows: pf.infer(machine, rows, "G2"), lambda: rbm.transform(pixels), 15)
        details = {"seconds": ours, "transform": theirs, "converged": int(found.converged.sum())}
        if most < np.inf:
            details["largest difference"] = float(np.abs(found.means[:, -HIDDEN:] - rbm.transform(pixels)).max())
        row = at_most(f"1,797 digits by G2 over transform, {name}", ours / theirs, "x", most, details)
        yield row if most < np.inf else replace(row, aim="beside")


# ---- tables of the documentation -------------------------------------------------------------------------------------


def glass_table() -> str:
    """The errors on spin glasses."""
    lines = [f"| couplings | {' | '.join(f'`{method}`' for method in GLASSES)} |", "|---|" + "---|" * len(GLASSES)]
    for scale in (1.0, 2.0):
        found = spin_glasses(scale, GLASSES).values()
        cells = [f"{e.mean():.2g} (largest {e.max():.2g}, {n} of {DRAWS} converged)" for e, n in found]
        lines.append(f"| {'' if scale == 1 else 'twice as large, '}variance {scale**2:g}/16 | {' | '.join(cells)} |")
    return "\n".join(lines)


def written(page: str, mark: str, table: str) -> str:
    """The page with a table between its marks."""
    pattern = re.compile(f"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)


if __name__ == "__main__":
    made = {"spin glasses": glass_table(), "real machines": real_machines.tables()}
    text = PAGE.read_text(encoding="utf-8")
    for mark, table in made.items():
        text = written(text, mark, table)
    whole_files.write(PAGE, text.encode())
