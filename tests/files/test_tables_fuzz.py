"""Damaged files give a network, evidence or a clear error; `python -m benchmarks.fuzz_formats` is the long run."""

import warnings

import pytest
from benchmarks.fuzz_formats import KINDS, READERS, fuzz, originals_of, outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from plefka.errors import InvalidFile, PlefkaWarning
from plefka.files import uai

COUNT = 150


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(kind):
    found, crashed, slowest = fuzz(kind, originals_of(kind), COUNT, seed=1)
    assert crashed == []
    assert found["refused"] > COUNT / 4
    assert slowest < 5


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(KINDS))
def test_any_bytes_are_read_or_refused(content, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlefkaWarning)  # of encodings and separators
        found = outcome(kind, (content, content) if kind == ".csv" else content)
    assert found in ("refused", "tables", "a network", "evidence")


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("0123 \n-.x"), max_size=30))
def test_any_evidence_is_read_or_refused(text):
    try:
        found = uai.loads_evidence(text.encode())
    except InvalidFile:
        return
    assert isinstance(found, dict | list)


@pytest.mark.parametrize("suffix", READERS)
def test_any_start_of_a_file_is_refused(suffix):
    for original in originals_of(suffix):
        content = original.rstrip()
        end = content.rindex(b"/* Names") if suffix == ".erg" else len(content) - 1
        for cut in range(0, end - 8, 11):
            with pytest.raises(InvalidFile):
                READERS[suffix](content[:cut])


def test_rows_that_are_nested_without_end_are_refused():
    assert outcome("rows.jsonl", b'{"slow_flow": ' + b"[" * 10**5 + b"]" * 10**5 + b"}") == "refused"
