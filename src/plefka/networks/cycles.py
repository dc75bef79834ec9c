"""Acyclic, or the cycle that says why not."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

LONGEST_PATH = 20  # units of a cycle that are printed


def find_cycle(weights: sp.csr_array) -> list[int] | None:
    """The units of a directed cycle, parent before child, or None where there is none."""
    children, parents = weights.nonzero()
    if np.all(children > parents) or np.all(children < parents):
        return None
    from scipy.sparse.csgraph import connected_components  # takes 0.1 s, and most networks are numbered in their order

    loops = children[children == parents]
    if loops.size:
        return [int(loops[0])]
    edges = sp.csr_array((np.ones(len(children)), (children, parents)), shape=weights.shape)  # no stored zeros
    _, component = connected_components(edges, directed=True, connection="strong")
    size = np.bincount(component)
    if size.max() == 1:
        return None
    inside = component[children] == component[parents]
    forwards = sp.csr_array(
        (np.ones(inside.sum()), (parents[inside], children[inside])), shape=weights.shape
    )  # [parent, child]
    start = int(np.flatnonzero(size[component] > 1)[0])
    return _shortest_cycle_through(forwards, start)


def _shortest_cycle_through(forwards: sp.csr_array, start: int) -> list[int]:
    """Breadth first from `start` until an edge leads back to it."""
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(forwards, start, directed=True)
    back = set(forwards.tocsc()[:, [start]].nonzero()[0].tolist())
    path = [next(int(unit) for unit in order if int(unit) in back)]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return path[::-1]


def cycle_text(names: Sequence[str], cycle: list[int]) -> str:
    """'a -> b -> a', with the middle of a long cycle left out."""
    path = [names[unit] for unit in (*cycle, cycle[0])]
    left_out = path[LONGEST_PATH // 2 : -LONGEST_PATH // 2]
    if len(left_out) > 1:
        path[LONGEST_PATH // 2 : -LONGEST_PATH // 2] = [f"... {len(left_out)} more ..."]
    return " -> ".join(path)
