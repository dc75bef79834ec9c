"""Which columns of a table are units, and which only name its rows."""

import difflib
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import PlefkaWarning, listed, nearest
from plefka.tables.columns import INDEX, INDEX_LEVEL, INDEX_NAMES, Columns
from plefka.tables.values import NO_STATE, is_numeric, meaning, states_of

SPELLED_ALIKE = 0.85  # from which likeness on a name is taken for a slip of the pen
IdColumns = str | Sequence[str] | None


class Roles(NamedTuple):
    """The places of the columns that are units, and of those that name the rows."""

    units: list[int]
    names: list[str] | None  # of the units; None where columns have no names
    ids: dict[str, int]
    notes: list[str]  # what was recognised, in sentences

    def ids_in(self, columns: Columns) -> dict[str, list[Any]]:
        """The names of some rows."""
        found = {name: _plain(columns.values[at]) for name, at in self.ids.items()}
        return {**{name: values for name, values in columns.index.items() if name not in found}, **found}

    def report(self, where: str = "") -> None:
        """Warn of what was recognised, as nobody asked for it."""
        for note in self.notes:
            warnings.warn(f"{where}{note}", PlefkaWarning, stacklevel=3)


def roles_of(sample: Columns, known: Collection[str] | None, id_columns: IdColumns = None) -> Roles:
    """What each column is, by its name and by some of its values.

    `known` are names of units; None where every column that holds states becomes one.
    """
    given = [id_columns] if isinstance(id_columns, str) else list(id_columns or ())
    if sample.names is None:
        if given:
            raise ValueError(
                f"there is no column {given[0]!r} to identify the rows, because the columns have no names."
            )
        return Roles(list(range(sample.width)), None, {}, [])
    _check_names(sample)
    missing = next((name for name in given if name not in sample.names and name not in sample.index), None)
    if missing is not None:
        raise ValueError(f"there is no column {missing!r} to identify the rows.{nearest(missing, sample.names)}")
    ids: dict[str, int] = {}
    notes: list[str] = []
    units, unknown = [], []
    for at, name in enumerate(sample.names):
        if name in given:
            ids[name] = at
        elif known is not None and name in known:
            units.append(at)
        elif why := reason_for_id(sample, at, known):
            ids[INDEX if _is_index(name, at) else name] = at
            notes.append(id_note(name, why))
        elif known is None:
            units.append(at)
        else:
            unknown.append(name)
    if unknown:
        raise ValueError(_unknown_text(unknown, known or ()))
    return Roles(units, [sample.names[at] for at in units], ids, notes)


def reason_for_id(sample: Columns, at: int, known: Collection[str] | None) -> str:
    """Why a column that is no unit names the rows; nothing where it does not."""
    names, values = sample.names or [], sample.values[at]
    if _is_index(names[at], at):
        return "has no name" if _all_differ(values) or _is_text(values) else ""
    if _spelled_alike(names[at], known):
        return ""
    if _is_text(values):
        return "holds text"
    return "has a different whole number in each row" if _counts(values) else ""


def _is_index(name: str, at: int) -> bool:
    return (at == 0 and name in INDEX_NAMES) or name == INDEX_LEVEL


def _is_text(values: Any) -> bool:
    """Words or dates, and not a single state, which would be a column of states with slips in it."""
    if is_numeric(values):
        return False
    present = {value for value in map(_hashable, values) if not _is_missing(value)}
    return bool(present) and all(meaning(v) == NO_STATE for v in present) and not all(map(_is_number, present))


def _counts(values: Any) -> bool:
    """Whole numbers that all differ; a single one that is no state may be a slip."""
    if not all(_is_number(value) and float(value).is_integer() for value in values) or not _all_differ(values):
        return False
    others = int((states_of(values) == NO_STATE).sum())
    return others >= 2 or others == len(values)


def _all_differ(values: Any) -> bool:
    values = [_hashable(value) for value in values]
    return bool(values) and len(set(values)) == len(values)


def _is_missing(value: Any) -> bool:
    found = meaning(value)
    return found != found


def _hashable(value: Any) -> Any:
    """A value, or its text where it cannot be looked up."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _plain(values: Any) -> list[Any]:
    """As Python's own values; whole numbers stay whole."""
    if not is_numeric(values):
        return [value.strip() if isinstance(value, str) else value for value in values]
    if values.dtype.kind == "f" and np.all(np.isfinite(values)) and np.all(values == np.floor(values)):
        return [int(value) for value in values.tolist()]
    return values.tolist()


# ---- words -----------------------------------------------------------------------------------------------------------


def _check_names(sample: Columns) -> None:
    names = sample.names or []
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        from_file = " A first line of only 0 and 1 is read as a row, not as a header." if sample.lines else ""
        raise ValueError(
            f"columns must differ in their names; got {listed(map(repr, repeated))} more than once.{from_file}"
        )
    if "" in names[1:]:
        raise ValueError(f"every column must have a name in the header; column {names.index('', 1) + 1} has none.")


def _spelled_alike(name: str, known: Collection[str] | None) -> bool:
    return bool(difflib.get_close_matches(name.casefold(), map(str.casefold, known or ()), 1, SPELLED_ALIKE))


def id_note(name: str, why: str, kind: str = "unit") -> str:
    """What was recognised, in a sentence; `kind` is what the column is not."""
    called = f"the column {name!r}" if name else "the first column"
    advice = f" To avoid this warning, pass --id {name} (id_columns={name!r}), or make it the index of a DataFrame."
    confirm = advice if name and kind == "unit" else ""
    return f"{called} is not a {kind} and {why}, so it is used to identify the rows.{confirm}"


def _unknown_text(unknown: list[str], known: Collection[str]) -> str:
    if unknown[0] == "":
        return "every column must have a name; column 1 has none, and its values repeat, so it cannot be an index."
    hints = list(dict.fromkeys(filter(None, (nearest(name, known) for name in unknown[:6]))))
    named = next((name for name in unknown if not nearest(name, known)), unknown[0])
    return (
        f"columns must be units of the network; there is no {listed(map(repr, unknown))}.{''.join(hints)} "
        f"Rename or drop the column, or pass --id {named!r} (id_columns) if it identifies the rows."
    )
