"""All methods by name: the modules in which those of the library are entered. Nothing here needs JAX."""

import plefka.exact.exact_method
import plefka.inference.composite_methods
import plefka.mean_field.schemes
import plefka.messages.message_methods
import plefka.methods.for_learning
import plefka.sampling.sampling_methods  # noqa: F401
from plefka.methods.registry import METHODS as METHODS
from plefka.methods.registry import parse_method as parse_method
from plefka.runtime.registry import register as register
from plefka.runtime.registry import unregister as unregister
