"""Networks that come with the library: small noisy-or diagnoses, written as probabilities in one JSON file each."""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from plefka.errors import InvalidInput, nearest
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import field
from plefka.networks.examples.hpo import hpo_network


@dataclass(frozen=True)
class Example:
    """A network with the question that it was made for.

    - `about`: the story, in a sentence or two.
    - `causes`, `findings`: the names of the units above and below.
    - `evidence`: a typical observation of some findings.
    """

    network: BeliefNetwork
    about: str
    causes: tuple[str, ...]
    findings: tuple[str, ...]
    evidence: dict[str, int]


def example(name: str, *, folder: Any = None, **options: Any) -> BeliefNetwork:
    """The bundled network of that name; `plefka.example_names()` lists them all.

    `"hpo"` is made from files of your own: rare diseases and their findings, of the Human Phenotype Ontology. `folder`
    has hp.obo and phenotype.hpoa of a release (https://hpo.jax.org/data), or the tables annotations, diseases, terms
    and is_a as .csv or .csv.gz. Findings imply more general ones. The options are

    - `catalogue`: the diseases, "OMIM" (default), "ORPHA" or "DECIPHER".
    - `without`: references, such as "PMID:123", whose annotations are left out. The text must be that of the file: an
        annotation of two papers has the reference "PMID:123;PMID:456".
    - `prior`: of every disease; one divided by the number of diseases, unless given.
    - `leak`: that of a finding, as a multiple of its mean probability over all diseases (default 1).
    - `reported`: the probability that a finding that a patient has is recorded (default 0.25).
    - `names`: "ids" (default), or "words" for the names of diseases and findings.

    >>> import plefka as pf
    >>> pf.example("espresso")
    <BeliefNetwork: 7 x 8 noisy_or units, 56 weights, limescale, clogged_screen, weak_pump, ...>
    """
    if name == "hpo" and folder is not None:
        return hpo_network(folder, **options)
    if folder is not None or options or name == "hpo":
        raise InvalidInput(
            f"folder and options are for the example 'hpo', which needs a folder; got {name!r}. Make it once by "
            "pf.save(pf.example('hpo', folder=...), 'hpo.npz'), and name that file in commands."
        )
    return read_example(name).network


def example_names() -> tuple[str, ...]:
    """The names of all networks that come with the library.

    >>> import plefka as pf
    >>> "espresso" in pf.example_names()
    True
    """
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in found if name.endswith(".json")))


def read_example(name: str) -> Example:
    """The network with its story and a typical observation."""
    known = example_names()
    if name not in known:
        raise InvalidInput(f"there is no example {name!r}; there is {', '.join(known)}." + nearest(name, known))
    content = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    causes, findings = content["causes"], content["findings"]
    strengths = [[finding["causes"].get(cause, 0.0) for cause in causes] for finding in findings.values()]
    leaks = [finding["leak"] for finding in findings.values()]
    weights, priors, leak = map(field, map(np.array, (strengths, list(causes.values()), leaks)))
    network = BeliefNetwork.layered([weights], [priors, leak], "noisy_or", [*causes, *findings])
    return Example(network, content["about"], tuple(causes), tuple(findings), content["evidence"])
