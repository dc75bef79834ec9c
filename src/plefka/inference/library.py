"""All methods by name: those of the library, and what `pf.register` has added. Nothing here needs JAX."""

from plefka.exact.exact_method import Exact
from plefka.inference.composite_methods import Auto, Conditioned, Mixture
from plefka.mean_field.schemes import SCHEMES, HigherOrder, MeanField, SecondOrder
from plefka.messages.bethe_method import Bethe
from plefka.methods.for_learning import Persistent, PseudoLikelihood
from plefka.methods.method import Method as Method
from plefka.methods.registry import LEARNING_METHODS, METHODS, OTHER_NAMES
from plefka.methods.registry import parse_method as parse_method
from plefka.methods.registry import register as register
from plefka.methods.registry import unregister as unregister
from plefka.sampling.sampling_methods import Findings, Gibbs

METHODS |= {
    "auto": Auto("auto"),
    "exact": Exact("exact"),
    **{name: MeanField(name) for name in SCHEMES},
    "G1": MeanField("G1"),
    "G2": SecondOrder("G2"),
    "G3": HigherOrder("G3"),
    "G4": HigherOrder("G4"),
    "bethe": Bethe("bethe"),
    "conditioned": Conditioned("conditioned"),
    "mixture": Mixture("mixture"),
    "findings": Findings("findings"),
    "gibbs": Gibbs("gibbs"),
}
LEARNING_METHODS |= {
    "persistent": Persistent("persistent"),
    "pseudolikelihood": PseudoLikelihood("pseudolikelihood"),
}
OTHER_NAMES |= {"G211": "G21", "G222": "G22"}  # the long name of a scheme
