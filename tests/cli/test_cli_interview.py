"""`plefka interview`: answers from a pipe, wrong ones, undo, and a file from which it goes on."""

import builtins
import io
import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import plefka as pf

NET = "example:espresso"
START = ("interview", NET, "--yes", "slow_flow")


@pytest.fixture
def interview(run, monkeypatch):
    """The command, given lines of answers."""

    def interview(answers: str, *arguments: object):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers.split(", ")) + "\n"))
        return run(*START, *arguments)

    return interview


def asked(out: str) -> list[str]:
    """The units in the order in which they were asked about."""
    return [line.split("? ")[0].split(". ", 1)[1] for line in out.splitlines() if line[:1].isdigit() and "? " in line]


def test_it_asks_as_the_library_does_until_the_answers_end(interview):
    answer = interview("yes, n, d, 0.8:0.2")
    expected, units = pf.Interview(pf.example("espresso"), {"slow_flow": 1}), []
    for state in (1, 0, None, pf.Likelihood(0.8, 0.2)):
        assert f"{expected.next.unit}? {expected.next.why}" in answer.out
        units.append(expected.next.unit)
        expected = expected.answered(units[-1], state)
    assert asked(answer.out) == [*units, expected.next.unit]
    assert (answer.code, answer.err) == (0, "")
    assert "The interview ends. The answers ended it." in answer.out
    assert f"Without a state: {units[2]}." in answer.out
    cause, p = expected.ranking[0]
    assert f"{cause:17}" in answer.out
    assert f"{p:.6f}" in answer.out


def test_it_says_why_it_stops(interview):
    answer = interview("no", "--stop-below", 0.2)
    assert asked(answer.out) == []
    assert "The interview ends. No question left tells much: the best should resolve" in answer.out
    certain = interview("no", "--certain-above", 0.3)
    assert "The interview ends. limescale has probability 0.4" in certain.out
    everything = interview("no, no, no, no, no, no, no", "--stop-below", 0, "--certain-above", 1)
    assert "The interview ends. Nothing is left to ask." in everything.out


def test_a_wrong_answer_gets_a_sentence_and_the_question_again(interview, tmp_path):
    answer = interview("maybe, , undo, yes", "--case", tmp_path / "case.json")
    first, *_ = asked(answer.out)
    assert f"unit '{first}' must be 0 or 1, or ON:OFF as in {first}=0.9:0.2; got maybe." in answer.out
    assert "Or answer don't know, later (then it comes again at the end), undo (the last answer) or stop." in answer.out
    assert json.loads((tmp_path / "case.json").read_text())["interview"] == [[first, 1]]


def test_a_machine_has_no_causes_to_ask_about(run, tmp_path):
    pf.save(pf.ensembles.ising_grid(2, 2), tmp_path / "grid.json")
    answer = run("interview", tmp_path / "grid.json")
    assert answer.code == 2
    assert "got BoltzmannMachine. Its units have no causes: use infer, joint or most_probable." in answer.err


def test_undo_takes_the_last_answer_back(interview):
    answer = interview("yes, no, undo, u, don\N{RIGHT SINGLE QUOTATION MARK}t know, later, q, stop")
    first, second, _, *after = asked(answer.out)
    assert after[:2] == [second, first]
    assert len(set(after[1:])) == len(after[1:]) == 3


def test_a_file_goes_on_where_it_was(interview, tmp_path):
    case = tmp_path / "case.json"
    whole = interview("yes, later, d, no, 0.9:0.3, no")
    parts = [interview(some, "--case", case) for some in ("yes, later", "d, no", "0.9:0.3, no")]
    assert [unit for part in parts for unit in asked(part.out)[:2]] == asked(whole.out)[:6]
    assert parts[-1].out.partition("The interview ends")[2] == whole.out.partition("The interview ends")[2]
    content = json.loads(case.read_text())
    assert (content["format"], content["version"]) == ("plefka-case", 1)
    assert content["fingerprint"] == pf.example("espresso").fingerprint
    undone = interview("undo, stop", "--case", case)
    assert asked(undone.out)[1] == asked(parts[-1].out)[1]


def test_cases_of_the_page_are_read_and_the_command_counts_first(interview, tmp_path):
    case = tmp_path / "case.json"
    given = {"thin_crema": "no", "loud_hum": {"on": 0.8, "off": 0.2}, "sour_taste": None, "slow_flow": 0}
    case.write_text(json.dumps({"format": "plefka-case", "version": 1, "network": "espresso", "evidence": given}))
    first, second = asked(interview("no", "--case", case).out)
    known = {"thin_crema": 0, "loud_hum": {"on": 0.8, "off": 0.2}, "slow_flow": 1}
    assert json.loads(case.read_text())["evidence"] == {**known, first: 0}
    assert not {first, second} & known.keys()
    plain = tmp_path / "plain.json"
    plain.write_text('{"thin_crema": 1}')
    assert "thin_crema" not in asked(interview("no, no, no", "--case", plain).out)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[1]", "must be a case as JSON"),
        ("{", "must be a case as JSON"),
        ('{"format": "plefka", "version": 3}', "its format is 'plefka'"),
        ('{"format": "plefka-case", "version": 1}', "must be a case as JSON"),
        ('{"format": "plefka-case", "evidence": {"slow_flow": "often"}}', "unit 'slow_flow' must be 0 or 1"),
        ('{"fever": 1}', "no unit 'fever'"),
    ],
)
def test_a_file_that_is_no_case_is_refused_and_stays(interview, tmp_path, content, words):
    case = tmp_path / "case.json"
    case.write_text(content)
    answer = interview("yes", "--case", case)
    assert answer.code == 2
    assert words in answer.err
    assert case.read_text() == content


def test_what_contradicts_is_taken_back(run, monkeypatch, tmp_path):
    weights = np.array([[0, 0, 0], [np.inf, 0, 0], [np.inf, 0, 0]])
    pf.save(pf.BeliefNetwork(weights, np.array([0.5, 0, 0]), "noisy_or", ["cause", "a", "b"]), tmp_path / "net.json")
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\nyes\n"))
    case = tmp_path / "case.json"
    answer = run(
        "interview", tmp_path / "net.json", "-e", "a=1", "--stop-below", 0, "--certain-above", 2, "--case", case
    )
    assert asked(answer.out) == ["b", "b"]
    assert "The last answer is taken back." in answer.out
    assert "Nothing is left to ask." in answer.out
    assert json.loads(case.read_text())["evidence"] == {"a": 1, "b": 1}


def test_an_interrupt_keeps_the_answers_and_says_how_to_go_on(interview, monkeypatch, tmp_path):
    lines = iter(["yes"])

    def interrupted(prompt: str = "") -> str:
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(builtins, "input", interrupted)
    answer = interview("", "--case", tmp_path / "case.json")
    assert answer.code == 130
    assert f"interrupted. The same command goes on with --case {tmp_path / 'case.json'}." in answer.err
    assert len(json.loads((tmp_path / "case.json").read_text())["interview"]) == 1
    lines = iter(["yes"])
    assert "goes on with --evidence 'slow_flow=1," in interview("").err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_control_c_while_it_waits_for_an_answer():
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from plefka.cli import main; sys.exit(main(['interview', 'example:espresso']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        assert process.stdout.readline().startswith("1. ")
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "interrupted" in message
