"""Boltzmann machines in the native formats: their values, temperature and constant, beside biases and weights."""

from typing import Any

import numpy as np

from plefka.errors import InvalidFile, InvalidInput
from plefka.files import json_layout
from plefka.files.archive import Archive
from plefka.files.strict_json import Place
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.storage import Storage

MACHINE_KEY = "boltzmann"
MACHINE_ENTRIES = (MACHINE_KEY, "temperature", "constant")


def text(machine: BoltzmannMachine) -> str:
    """The numbers that are of the machine as a whole, as JSON."""
    constant = np.asarray(machine.constant, float)
    return json_layout.fields(
        {
            "values": str(list(machine.values)),
            "temperature": json_layout.numbers(float(machine.temperature)),
            "constant": json_layout.numbers(constant.tolist()),
        }
    )


def numbers(place: Place, lead: tuple[int, ...]) -> dict[str, Any]:
    """The arguments of a machine in a text."""
    fields = place.fields(("values", "temperature"), ("constant",))
    values = tuple(fields["values"].items(2, "numbers, those for off and on"))
    constant: Any = 0.0
    if "constant" in fields:
        constant = fields["constant"].numbers(lead) if lead else fields["constant"].number()
    return {"values": values, "temperature": fields["temperature"].number(), "constant": constant}


def arrays(machine: BoltzmannMachine) -> dict[str, np.ndarray]:
    """The numbers that are of the machine as a whole, as entries of an archive."""
    numbers = (np.array(machine.values), np.array(machine.temperature), np.asarray(machine.constant, float))
    return dict(zip(MACHINE_ENTRIES, numbers, strict=True))


def numbers_in(archive: Archive, lead: tuple[int, ...]) -> dict[str, Any]:
    """The arguments of a machine in an archive."""
    constant = archive.numbers("constant", lead, "a number, or one for each machine of a stack")
    return {
        "values": tuple(archive.indices(MACHINE_KEY, (2,), "the numbers for off and on").tolist()),
        "temperature": float(archive.numbers("temperature", (), "one number")),
        "constant": constant if lead else float(constant),
    }


def machine_from(
    storage: Storage, layers: tuple[int, ...] | None, bias: Any, names: Any, **numbers: Any
) -> BoltzmannMachine:
    """The machine with the weights of a file, which have a coupling once, or in a matrix twice."""
    try:
        if layers is not None:
            if len(layers) != 2:
                raise InvalidFile(f"a restricted machine must have two layers, visible and hidden; got {len(layers)}.")
            return BoltzmannMachine(storage, bias, names=names, layers=layers, **numbers)
        weights = storage.weights[0] if isinstance(storage, Blocks) else _symmetric(storage)
        return BoltzmannMachine(weights, bias, names=names, **numbers)
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise InvalidFile(str(error)) from error


def _symmetric(storage: Storage) -> Any:
    halves = storage.to_sparse() if storage.stack is not None else [storage.to_sparse()]
    both = [abs(L).multiply(abs(L.T)).tocoo() for L in halves]
    for matrix in both:
        if matrix.nnz and np.any(matrix.coords[0] != matrix.coords[1]):
            i, j = sorted((int(matrix.coords[0][0]), int(matrix.coords[1][0])))
            raise InvalidFile(
                f"every coupling must occur once; got that of units {i} and {j} twice. Remove one of them."
            )
    whole = [L + L.T for L in halves]
    return whole if storage.stack is not None else whole[0]
