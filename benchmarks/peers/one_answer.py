"""One library on one network, in a process of its own."""

import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from benchmarks.measure import peak_memory, resident_memory
from benchmarks.peers.cases import Asked, Case
from benchmarks.peers.libraries import LIBRARIES, Model

LATER = 3  # answers, of which the quickest counts
INSTALL = "not installed here; pip install -r benchmarks/peers/requirements.txt, or make peers"


def imported(library: str, case: Case) -> dict:
    """All modules that an answer needs, some of which are imported on the way: imports are no part of the times."""
    measured(library, case)
    return {"modules": sorted(sys.modules)}


def measured(library: str, case: Case, modules: Sequence[str] = ()) -> dict:
    """Seconds to the first answer, of a later one, bytes beyond imports, and errors; or why there is none."""
    warnings.simplefilter("ignore")
    try:
        for module in LIBRARIES[library].imports:
            import_module(module)
    except ImportError:
        return {"unfinished": INSTALL}
    for module in modules:
        with suppress(Exception):  # some are only there in a certain order
            import_module(module)
    try:
        return _measured(LIBRARIES[library].model, case)
    except MemoryError:
        return {"unfinished": "out of memory"}
    except Exception as error:  # of other libraries: any kind
        return {"unfinished": f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"}


def _measured(model: type[Model], case: Case) -> dict:
    first, later = case.asked
    wanted = {unit: state for unit, (state, _) in first.probabilities.items()}
    before, start = resident_memory(), time.perf_counter()
    made = model(case.network)
    built = time.perf_counter() - start
    answers = [(first, made.answer(first.evidence, wanted))]
    seconds = time.perf_counter() - start
    wanted = {unit: state for unit, (state, _) in later.probabilities.items()}
    times = []
    for _ in range(LATER):
        begin = time.perf_counter()
        answers.append((later, made.answer(later.evidence, wanted)))
        times.append(time.perf_counter() - begin)
    errors = [_error(asked, found) for asked, (_, found) in answers]
    logs = [abs(found - asked.log_likelihood) for asked, (found, _) in answers if found is not None]
    return {
        "first": seconds, "build": built, "later": min(times), "memory": peak_memory() - before,
        "error": float(max(errors)), "log_likelihood_error": float(max(logs)) if logs else None,
    }  # fmt: skip


def _error(asked: Asked, found: dict[str, float]) -> float:
    return max(abs(found[unit] - p) for unit, (_, p) in asked.probabilities.items())
