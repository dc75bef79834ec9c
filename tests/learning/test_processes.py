"""Two processes that learn together come to what one would, stop together, and do not wait for one that is lost."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import plefka as pf
from plefka.learning import by_free_energy as loop
from plefka.learning import process_group
from plefka.learning.devices import Devices
from tests.learning import pair

TIME_LIMIT = 1200  # seconds for two processes: only against a test that hangs


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def together(folder: Path, *options: str) -> list[tuple[int, str]]:
    """The exit code and the errors of two processes."""
    port = str(free_port())
    kept = jax.config.jax_compilation_cache_dir or folder / "cache"  # pyright: ignore[reportAttributeAccessIssue]
    cache = {"JAX_COMPILATION_CACHE_DIR": str(kept), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.learning.pair", str(k), port, str(folder), *options],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=os.environ | cache,
        )
        for k in range(2)
    ]  # fmt: skip
    try:
        return [(each.returncode, errors) for each in started for _, errors in [each.communicate(timeout=TIME_LIMIT)]]
    finally:
        for each in started:
            each.kill()


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> list[Any]:
    """What each of two processes has found, and where."""
    folder = tmp_path_factory.mktemp("pair")
    pytest.importorskip("pyarrow")
    pair.write_files(folder / "files")
    ended = together(folder)
    assert [code for code, _ in ended] == [0, 0], ended
    return [np.load(folder / f"process{k}.npz") for k in range(2)]


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_two_processes_learn_what_one_learns(found, activation):
    """With missing values, minibatches, penalties and validation rows."""
    np.testing.assert_array_equal(found[0][activation], found[1][activation])
    np.testing.assert_allclose(found[0][activation], pair.numbers(pair.learn(activation=activation)), atol=1e-10)


@pytest.mark.parametrize("method", pair.MACHINES)
def test_two_processes_learn_the_machine_that_one_learns(found, method):
    np.testing.assert_array_equal(found[0][method], found[1][method])
    np.testing.assert_allclose(found[0][method], pair.numbers(pair.learn_machine(method)), atol=1e-10)


def test_files_are_streamed_in_the_same_order_by_any_number_of_processes(found, tmp_path):
    alone = pair.numbers(pair.learn(pair.write_files(tmp_path), stream=True))
    for each in found:
        np.testing.assert_allclose(each["stream"], alone, atol=1e-10)


def test_processes_that_were_given_different_things_say_what_differs(found):
    for each in found:
        assert "all processes must be given the same; seed is 3 in process 0 and 4 in process 1." in str(
            each["other seed"]
        )
        assert "; rows is '" in str(each["other rows"])


def test_what_is_wrong_in_one_process_is_an_error_in_all(found):
    own, others = (str(found[k]["bad rows"]) for k in (1, 0))
    assert own.startswith("rows must be 0, 1 or nan (missing); got ")
    assert others == f"process 1 of 2 cannot take part: {own}"
    assert "nowhere' does not exist" in str(found[0]["no folder"])
    assert str(found[1]["no folder"]).startswith("process 0 of 2 cannot take part: checkpoint ")


def test_a_callback_or_ctrl_c_in_one_process_stops_all(found):
    for each in found:
        assert each["stopped"] == 2
        np.testing.assert_array_equal(each["interrupted"], [1, 1])  # one epoch, and interrupted


def test_an_epoch_that_was_interrupted_is_resumed_in_the_midst(found):
    np.testing.assert_allclose(found[1]["resumed"], pair.numbers(pair.learn()), atol=1e-10)


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_process_that_dies_ends_the_others_and_the_run_resumes_alone(tmp_path, victim):
    """Where it is the first one, JAX itself ends the others."""
    ended = together(tmp_path, str(victim))
    assert ended[victim][0] == -9
    code, errors = ended[1 - victim]
    assert code != 0
    if victim == 1:
        assert "ProcessLost: process 0 of 2: another process has ended or cannot be reached" in errors
        assert "victim1.npz' has 5 epochs; start all processes again with the same arguments to resume" in errors
    else:
        assert "another process has ended" in errors or "another task died" in errors
    seen = []
    resumed = pair.learn(checkpoint=tmp_path / f"victim{victim}.npz", callback=seen.append)
    assert seen[0]["epoch"] in (5, 6)
    np.testing.assert_allclose(pair.numbers(resumed), pair.numbers(pair.learn()), atol=1e-10)


# ---- joining ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", 2, 0), r"the coordinator must be HOST:PORT, .*; got 'nowhere'. Write 10.0.0.1:12345, say."),
        (("host:99999", 2, 0), "the coordinator must be HOST:PORT"),
        (("host:1234", 0, 0), "processes must be a whole number of 1 or more; got 0."),
        (("host:1234", 2, 2), "process must be the number of this process, from 0 to 1 where there are 2; got 2."),
        (("host:1234", 2, -1), "from 0 to 1 where there are 2; got -1."),
    ],
)
def test_numbers_and_addresses_are_checked(arguments, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        process_group.join_processes(*arguments)


def test_a_coordinator_that_cannot_be_reached_is_named():
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(
        pf.errors.InvalidInput, match=f"process 1 of 2 cannot reach process 0 at {address}: Connection r"
    ):
        process_group.join_processes(address, 2, 1, timeout=0.5)


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(
            pf.errors.InvalidInput, match=f"process 0 cannot listen at {address}: Address already in use"
        ):
            process_group.join_processes(address, 2, 0, timeout=0.5)


def test_another_program_at_the_address_is_told_apart():
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        with pytest.raises(pf.errors.InvalidInput, match=r"process 0 did not answer at .*, or another program does"):
            process_group.join_processes(f"127.0.0.1:{server.getsockname()[1]}", 2, 1, timeout=5)
        thread.join()


def meeting(*others: tuple[int, int], count: int, timeout: float = 600.0) -> list[str]:
    """What the first process and others say of each other; none of them comes to JAX."""
    address, said = f"127.0.0.1:{free_port()}", {}

    def join(place: int, number: int, of: int) -> None:
        try:
            process_group.join_processes(address, of, number, timeout=timeout)
        except pf.errors.InvalidInput as error:
            said[place] = str(error)

    threads = [threading.Thread(target=join, args=(k, *each)) for k, each in enumerate([(0, count), *others])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [said[k] for k in range(len(threads))]


def test_a_process_that_does_not_come_is_named():
    first, there = meeting((2, 3), count=3, timeout=2.0)
    assert first.startswith("process 1 of 3 did not come to 127.0.0.1:")
    assert there == f"process 0 says: {first}"


def test_processes_must_agree_on_their_number():
    first, other = meeting((1, 3), count=2)
    assert first == "all processes must say how many there are; process 0 says 2, and process 1 3."
    assert other == f"process 0 says: {first}"


def test_two_processes_of_one_number_are_refused():
    first, *others = meeting((1, 3), (1, 3), count=3)
    assert first == "every process must have a number of its own; there are two of number 1."
    assert others == [f"process 0 says: {first}"] * 2


def test_processes_are_joined_before_the_first_computation():
    jax.devices()
    with pytest.raises(pf.errors.InvalidInput, match="must be joined once, before the first computation of JAX: "):
        process_group.join_processes(f"127.0.0.1:{free_port()}", 1, 0)


def test_a_process_that_is_lost_without_a_checkpoint_leaves_advice(monkeypatch):
    def lost(*_, **__):
        raise pf.errors.ProcessLost("Another process has ended.")

    monkeypatch.setattr(loop, "step", lost)
    with pytest.raises(pf.errors.ProcessLost, match=r"has ended\. Nothing was saved; pass a checkpoint"):
        pair.learn()


# ---- devices ---------------------------------------------------------------------------------------------------------

SEVERAL = """
import jax
import numpy as np
from tests.compilations import compilations
from tests.learning import pair
assert len(jax.devices()) == 3
alone = pair.numbers(pair.learn(devices=jax.devices()[:1]))
with compilations() as again:
    pair.learn(devices=jax.devices()[:1])
print(len(again))
for devices in (jax.devices()[:2], None):
    np.testing.assert_allclose(pair.numbers(pair.learn(devices=devices)), alone, atol=1e-10)
"""


def test_several_devices_learn_what_one_learns():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    run = subprocess.run([sys.executable, "-c", SEVERAL], env=os.environ | flags, text=True, capture_output=True)
    assert (run.returncode, run.stdout) == (0, "0\n"), run.stderr


@pytest.mark.parametrize("devices", [[], ["cpu"]])
def test_devices_must_be_those_of_jax(devices):
    with pytest.raises(pf.errors.InvalidInput, match=r"devices must be some of jax.devices\(\); got \["):
        pair.learn(devices=devices)


def test_devices_of_some_processes_cannot_learn_together(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    with pytest.raises(pf.errors.InvalidInput, match=r"or include some of every process; got processes \[0\] of 3"):
        Devices(jax.devices())


def test_one_device_has_no_mesh_and_nothing_to_agree_on():
    devices = Devices()
    assert (devices.mesh, devices.count, devices.several, devices.is_first) == (None, 1, False, True)
    assert Devices(jax.local_devices()[:1]).mesh is None
    assert devices.share(12) == slice(0, 12)
