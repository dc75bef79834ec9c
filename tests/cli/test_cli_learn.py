"""`plefka fit`, `plefka score` and `plefka impute`: from tables in every format to files, and nothing half-written."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from plefka.cli.fit_start import split
from plefka.errors import InvalidFile
from plefka.learning import by_free_energy as loop
from plefka.learning import fitting
from plefka.tables.table import read_table

NAN = np.nan
NAMES = ["a", "b", "c", "d"]
ROWS = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, NAN, 0, 1], [1, 0, 1, NAN], [0, 1, 1, 0], [1, 1, 1, 1]])
QUICK = ("--layers", "2", "--method", "G12", "--epochs", 2)


def as_csv(rows: np.ndarray, names: list[str] | None = NAMES) -> str:
    lines = [",".join("" if value != value else f"{value:.0f}" for value in row) for row in rows]
    return "\n".join([*([",".join(names)] if names else []), *lines, ""])


def write_table(folder: Path, kind: str, rows: np.ndarray = ROWS) -> Path:
    path = folder / f"data.{kind.removeprefix('bare.')}"
    if kind.endswith("csv"):
        path.write_text(as_csv(rows, None if kind == "bare.csv" else NAMES), encoding="utf-8")
    elif kind == "parquet":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows, columns=NAMES).astype("Int8").to_parquet(path)
    else:
        np.save(path, rows)
    return path


@pytest.fixture
def data(tmp_path) -> Path:
    return write_table(tmp_path, "csv")


@pytest.fixture
def model(tmp_path) -> Path:
    """Two hidden causes; nobody learned it."""
    weights = [[2.0, 0.1], [0.3, 1.5], [1.0, 0.2], [0.2, 2.5]]
    network = pf.BeliefNetwork.layered([weights], [[0.4, 0.6], [0.1] * 4], "noisy_or", ["u", "v", *NAMES])
    path = tmp_path / "given.json"
    pf.save(network, path)
    return path


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- fit -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "bare.csv", "parquet", "npy"])
def test_fit_learns_what_the_library_learns(run, tmp_path, kind):
    out = tmp_path / "model.json"
    answer = run("fit", write_table(tmp_path, kind), "--out", out, *QUICK, "--seed", 3)
    assert (answer.code, answer.err) == (0, "")
    learned = pf.load(out)
    start = pf.ensembles.to_learn((2,), ROWS, 3)
    expected = pf.fit(start, ROWS, "G12", epochs=2, seed=3).network
    np.testing.assert_array_equal(learned.bias, expected.bias)
    np.testing.assert_array_equal(learned.weights[0], expected.weights[0])
    visible = NAMES if kind in ("csv", "parquet") else [f"visible{k}" for k in range(4)]
    assert learned.names == ("hidden0", "hidden1", *visible)


def test_fit_says_how_it_went(run, data, tmp_path):
    out = tmp_path / "model.npz"
    table = run("fit", data, "-o", out, *QUICK).out
    assert "2 x 4 sigmoid units" in table
    assert "6, 5 of them distinct" in table
    assert "an estimate, not a bound" in table
    assert "all epochs are done" in table
    assert str(out) in table
    content = run("fit", data, "-o", out, *QUICK, "--force", "--json").json
    assert (content["rows"], content["distinct_rows"], content["epochs"]) == (6, 5, 2)
    assert (content["method"], content["is_bound"], content["stopped"]) == ("G12", False, "epochs")
    assert f"{content['objective']:.4f}" in table
    assert f"{content['log_likelihood']:.4f}" in table
    assert content["validation"] is None
    assert len(content["history"]["objective"]) == 2


def test_the_method_follows_from_the_activation(run, data, tmp_path):
    for activation, method in (("sigmoid", "reweighted[recognition]"), ("noisy_or", "em")):
        out = tmp_path / f"{activation}.json"
        options = ("--layers", "1", "--epochs", 1, "--activation", activation, "--json")
        assert run("fit", data, "-o", out, *options).json["method"] == method
        assert pf.load(out).activation.name == activation


def test_validation_rows_are_held_out(run, data, tmp_path):
    options = ("--validation", 0.34, "--patience", 1, "--epochs", 3, "--json")
    content = run("fit", data, "-o", tmp_path / "m.json", *QUICK, *options).json
    assert content["rows"] == 4
    validation = content["history"]["validation"]
    assert content["validation"] == max(validation)
    assert content["kept_epoch"] == 1 + validation.index(max(validation))


def test_the_seed_says_which_rows_are_held_out(data):
    table = read_table(data)
    first, again, other = (split(table, 0.5, seed)[1] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)
    train, held_out = split(table, 0.01, 0)
    assert (len(train), len(held_out)) == (5, 1)
    with pytest.raises(InvalidFile, match="1 rows are too few to hold out"):
        split(table._replace(values=table.values[:1]), 0.5, 0)


def test_a_checkpoint_is_gone_on_from(run, data, tmp_path):
    checkpoint = tmp_path / "run.npz"
    whole = run("fit", data, "-o", tmp_path / "whole.json", *QUICK, "--epochs", 4, "--json").json
    for epochs in (2, 4):
        out = tmp_path / f"{epochs}.json"
        content = run("fit", data, "-o", out, *QUICK, "--epochs", epochs, "--checkpoint", checkpoint, "--json").json
    assert content["history"]["objective"] == whole["history"]["objective"]
    assert (tmp_path / "4.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    other = run("fit", data, "-o", tmp_path / "x.json", *QUICK, "--seed", 1, "--checkpoint", checkpoint)
    assert other.code == 2
    assert "belongs to another run" in other.err


def test_pictures_are_drawn(run, data, tmp_path):
    plot, features = tmp_path / "history.svg", tmp_path / "features.png"
    answer = run("fit", data, "-o", tmp_path / "m.json", *QUICK, "--plot", plot, "--features", features)
    assert answer.code == 0
    assert f"{plot}, {features}" in answer.out
    assert plot.read_bytes().startswith(b"<?xml")
    assert features.read_bytes().startswith(b"\x89PNG")


def test_a_model_is_replaced_only_by_force(run, data, tmp_path, monkeypatch):
    out = tmp_path / "model.json"
    out.write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "fit", lambda *_, **__: pytest.fail("learning came before the check"))
        answer = run("fit", data, "-o", out, *QUICK)
    assert (answer.code, answer.out, out.read_text()) == (2, "", "precious")
    assert "already exists. Pass --force to replace it" in answer.err
    assert run("fit", data, "-o", out, *QUICK, "--force").code == 0
    assert pf.load(out).size == 6


def interrupt_at(monkeypatch, call: int) -> None:
    step, calls = loop.step, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return step(*arguments, **options)

    monkeypatch.setattr(loop, "step", interrupted)


def test_an_interrupt_leaves_what_was_learned(run, data, tmp_path, monkeypatch):
    out, two = tmp_path / "model.json", tmp_path / "two.json"
    assert run("fit", data, "-o", two, *QUICK).code == 0
    interrupt_at(monkeypatch, 3)
    answer = run("fit", data, "-o", out, *QUICK, "--epochs", 50)
    assert answer.code == 130
    assert "it was interrupted" in answer.out
    assert "what had been learned so far" in answer.err
    assert out.read_bytes() == two.read_bytes()


def test_an_interrupt_before_the_first_epoch_writes_nothing(run, data, tmp_path, monkeypatch):
    interrupt_at(monkeypatch, 1)
    answer = run("fit", data, "-o", tmp_path / "model.json", *QUICK)
    assert (answer.code, answer.out) == (130, "")
    assert "model.json was not written" in answer.err
    assert files(tmp_path) == ["data.csv"]


def test_parameters_that_left_the_numbers_are_not_written(run, data, tmp_path):
    answer = run("fit", data, "-o", tmp_path / "model.json", *QUICK, "--learning-rate", 1e308, "--epochs", 5)
    assert (answer.code, answer.out) == (1, "")
    assert "use a smaller step" in answer.err
    assert files(tmp_path) == ["data.csv"]


def test_doubts_about_what_was_learned_are_an_exit_code(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("plefka.learning.fitted.LIKELIHOOD_ROUNDING", -100.0)  # so that any objective is too high
    answer = run("fit", data, "-o", tmp_path / "model.json", *QUICK, "--json")
    assert answer.code == 1
    assert "ln P per row is above 0, which no probability allows" in answer.err
    assert answer.json["warnings"]
    assert (tmp_path / "model.json").exists()


BAD_FIT = {
    "layers": (("--layers", "1x0"), "--layers must be whole numbers with x between, as in 1x8; got '1x0'"),
    "activation": (("--activation", "sigmoidal"), "Did you mean 'sigmoid'?"),
    "method": (("--method", "G23"), "Did you mean 'G3'?"),
    "does not apply": (("--activation", "noisy_or", "--method", "SJJ"), "SJJ does not apply"),
    "no free energy": (("--method", "exact"), "exact has no free energy to learn by"),
    "out": (("--out", "model.pt"), "model.pt: the name of a network must end with .json or .npz"),
    "no folder": (("--out", "nowhere/model.json"), "the folder 'nowhere' does not exist"),
    "a folder": (("--out", "folder.json"), "must be a file; got a folder"),
    "no folder for the checkpoint": (("--checkpoint", "nowhere/c.npz"), "the folder 'nowhere' does not exist"),
    "plot": (("--plot", "history.docx"), "a picture ends with .png, .svg or .pdf; got .docx"),
    "shape": (("--features", "f.png", "--shape", "3x2"), "an image of 4 visible units; got 3 x 2"),
    "shape of nothing": (("--shape", "2x2"), "--shape is for the images that --features draws"),
    "one file for two": (("--plot", "f.png", "--features", "f.png"), "f.png: every output must have a file of its own"),
    "step": (("--learning-rate", "0"), "--learning-rate must be a positive number; got 0"),
    "share": (("--validation", "1.5"), "--validation"),
    "epochs": (("--epochs", "0"), "--epochs"),
    "penalty": (("--l2", "-1"), "--l2"),
}


@pytest.mark.parametrize("name", BAD_FIT)
def test_what_cannot_be_learned_is_one_message_and_no_file(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    write_table(tmp_path, "csv")
    options, message = BAD_FIT[name]
    given = () if "--out" in options else ("--out", "model.json")
    answer = run("fit", "data.csv", *given, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert files(tmp_path) == ["data.csv", "folder.json"]


def test_columns_must_not_be_called_as_hidden_units(run, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("hidden0,b\n0,1\n1,0\n")
    answer = run("fit", path, "-o", tmp_path / "m.json", *QUICK)
    assert answer.code == 2
    assert "hidden0 must not be names of columns" in answer.err


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_missing_values_are_empty_or_nan(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a, b ,c\n1,,0\n\nnan, NaN ,1.0\n0.0,1,1\n", encoding="utf-8-sig")
    table = read_table(path)
    assert table.names == ["a", "b", "c"]
    np.testing.assert_array_equal(table.values, [[1, NAN, 0], [NAN, NAN, 1], [0, 1, 1]])


def test_numbered_columns_have_no_names(tmp_path):
    """What pandas writes above columns that nobody named."""
    path = tmp_path / "data.csv"
    path.write_text("0,1,2\n1,0,1\n")
    table = read_table(path)
    assert table.names is None
    np.testing.assert_array_equal(table.values, [[1, 0, 1]])


def test_a_single_column_may_have_gaps(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n\n0\n")
    np.testing.assert_array_equal(read_table(path).values, [[1], [NAN], [0]])


def test_arrays_are_mapped_and_may_be_of_any_numbers(tmp_path):
    for dtype in (bool, np.uint8, np.float32):
        np.save(tmp_path / "data.npy", np.eye(2).astype(dtype))
        values = read_table(tmp_path / "data.npy").values
        assert isinstance(values, np.memmap)
        np.testing.assert_array_equal(values, np.eye(2))


BAD_CSV = {
    "empty": ("", "a table must have at least one row and one column"),
    "header only": ("a,b\n", "a table must have at least one row and one column"),
    "ragged": ("a,b\n1,0\n1\n", "line 3: must have 2 values; got 1"),
    "ragged without a header": ("1,0\n1,0,1\n", "line 2: must have 2 values; got 3"),
    "odd value": ("a,b\n1,0\n1,2\n", "line 3: column 'b' must be 0, 1 or empty (missing); got '2'"),
    "odd value without a header": ("1,0\n1,q\n", "line 2: column 1 must be 0, 1 or empty (missing); got 'q'"),
    "repeated name": ("a,a\n1,0\n", "columns must differ in their names; got 'a' more than once"),
    "a slip in the first row": ("1,O,0\n1,0,1\n", "line 1 must be names of columns, or 0, 1 and empty"),
    "no name": ("a,\n1,0\n", "every column must have a name in the header; column 2 has none"),
    "not text": (b"\xff\xfe\x00", "cannot be read as CSV"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_bad_tables_name_the_file_and_the_line(run, tmp_path, name):
    content, message = BAD_CSV[name]
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = run("fit", path, "-o", tmp_path / "m.json", *QUICK)
    assert (answer.code, answer.out) == (2, "")
    assert f"{path}: {message}" in answer.err
    assert files(tmp_path) == ["data.csv"]


BAD_ARRAYS = {
    "empty": (np.zeros((0, 3)), "at least one row and one column"),
    "not a table": (np.zeros(3), "got the shape (3,)"),
    "odd value": (np.array([[0, 1], [1, 7]]), "got 7 in row 1, column 1. Round or threshold it first"),
    "infinite": (np.array([[0, np.inf]]), "got inf in row 0, column 1"),
    "words": (np.array([["0", "1"]]), "must be an array of numbers"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_name_the_file(tmp_path, name):
    array, message = BAD_ARRAYS[name]
    path = tmp_path / "data.npy"
    np.save(path, array)
    with pytest.raises(InvalidFile) as error:
        read_table(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.npy", b"nothing", "must be an array written by numpy.save"),
        ("data.parquet", b"nothing", "must be a Parquet file"),
        ("data.txt", b"1", "must end with .csv, .csv.gz, .xlsx, .parquet, .jsonl, .npy; got '.txt'"),
        ("data", b"1", "got no suffix"),
        ("data.csv", None, "cannot be read: No such file or directory"),
        ("data.npy", None, "cannot be read: No such file or directory"),
        ("data.parquet", None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_table_says_so(run, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    answer = run("fit", tmp_path / name, "-o", tmp_path / "m.json", *QUICK)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_words_that_are_no_states_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": ["yes", "no", "maybe"]}).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(InvalidFile, match="row 2: column 'a' must be 0, 1 or missing; got 'maybe'"):
        read_table(tmp_path / "data.parquet")


def test_without_its_package_the_extra_is_named(run, model, tmp_path, monkeypatch):
    table = write_table(tmp_path, "parquet")
    csv_table = write_table(tmp_path, "csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for arguments in (("score", model, table), ("impute", model, csv_table, "-o", tmp_path / "out.parquet")):
        answer = run(*arguments)
        assert (answer.code, answer.out) == (2, "")
        assert "pip install 'plefka[data]'" in answer.err
    assert not (tmp_path / "out.parquet").exists()


def test_without_optax_the_extra_is_named(run, data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    answer = run("fit", data, "-o", tmp_path / "m.json", *QUICK, "--learning-rate", 0.123)
    assert answer.code == 2
    assert "pip install 'plefka[learn]'" in answer.err


# ---- score -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_score_is_that_of_the_library(run, model, tmp_path, kind):
    answer = run("score", model, write_table(tmp_path, kind), "--json").json
    truth = pf.score(pf.load(model), ROWS)
    assert answer["is_exact"]
    assert answer["log_likelihood"] == pytest.approx(truth.mean, abs=1e-12)
    assert answer["each"]["log_likelihood"] == pytest.approx(truth.log_likelihood.tolist(), abs=1e-12)
    assert (answer["standard_error"], answer["bound"], answer["method"]) == (0, None, None)


def test_columns_of_any_order_and_number_find_their_units(run, model, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("d,a\n1,0\n0,1\n")
    found = run("score", model, path, "--json").json["each"]["log_likelihood"]
    expected = [pf.infer(pf.load(model), {"d": d, "a": 1 - d}, "exact").log_likelihood for d in (1, 0)]
    assert found == pytest.approx(expected, abs=1e-12)


def test_score_writes_every_row(run, model, data, tmp_path):
    out = tmp_path / "rows.csv"
    answer = run("score", model, data, "--out", out)
    assert "exact" in answer.out
    assert str(out) in answer.out
    header, *rows = csv.reader(io.StringIO(out.read_text()))
    assert header == ["accuracy", "fingerprint", "log_likelihood", "standard_error"]
    network = pf.load(model)
    assert {tuple(row[:2]) for row in rows} == {("exact", network.fingerprint)}
    np.testing.assert_array_equal([float(row[2]) for row in rows], pf.score(network, ROWS).log_likelihood)


def test_counted_columns_are_those_of_the_bottom_layer(run, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    network = pf.ensembles.to_learn((2,), ROWS, 0)
    pf.save(network, tmp_path / "net.json")
    pd.DataFrame(ROWS).rename(columns=str).to_parquet(tmp_path / "data.parquet")
    found = run("score", tmp_path / "net.json", tmp_path / "data.parquet", "--json").json["log_likelihood"]
    assert found == pytest.approx(pf.score(network, ROWS).mean, abs=1e-12)


def test_a_stack_is_no_model(run, data, tmp_path):
    pf.save(pf.ensembles.to_learn((2,), ROWS, 0, count=3), tmp_path / "stack.npz")
    for command, option in (("score", "--out"), ("impute", "--out")):
        answer = run(command, tmp_path / "stack.npz", data, option, tmp_path / "out.csv")
        assert (answer.code, answer.out) == (2, "")
        assert f"{command} takes one network; got a stack of 3" in answer.err


def test_blocks_of_rows_are_filled_as_all_at_once(run, model, data, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    assert run("impute", model, data, "-o", whole).code == 0
    monkeypatch.setattr("plefka.cli.score.ROWS_PER_BLOCK", 1)
    assert run("impute", model, data, "-o", parts).code == 0
    assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory")])
def test_too_little_memory_is_one_sentence(run, model, data, monkeypatch, error):
    monkeypatch.setattr("plefka.learning.scoring.score_patterns", lambda *_, **__: (_ for _ in ()).throw(error))
    answer = run("score", model, data)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("plefka: there is not enough memory")


def test_a_seed_that_is_too_large_is_said(run, model, data):
    answer = run("score", model, data, "--seed", 2**64)
    assert (answer.code, answer.out) == (2, "")
    assert "seed must be a whole number from 0 to 2^63 - 1" in answer.err


def test_rows_held_out_may_lack_a_column(run, tmp_path):
    """Only one row has no value for d, and it is the one that is held out."""
    rows = np.vstack([ROWS[:2], [[1, 0, 1, NAN]], ROWS[4:]])
    path = write_table(tmp_path, "csv", rows)
    seed = next(seed for seed in range(50) if np.isnan(split(read_table(path), 0.2, seed)[1]).any())
    answer = run("fit", path, "-o", tmp_path / "m.json", *QUICK, "--validation", 0.2, "--seed", seed)
    assert (answer.code, answer.err) == (0, "")


def test_score_by_sampling_says_so(run, tmp_path):
    """Observed units with children: there is no sum to take."""
    network = pf.BeliefNetwork([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [0.1, 0.2, 0.3], names=["x", "y", "z"])
    pf.save(network, tmp_path / "net.json")
    (tmp_path / "data.csv").write_text("y,z\n1,0\n0,1\n1,\n")
    arguments = ("score", tmp_path / "net.json", tmp_path / "data.csv", "--seed", 1, "--samples", 500)
    table = run(*arguments).out
    assert "importance sampling from G11" in table
    content = run(*arguments, "--json", "--out", tmp_path / "rows.csv").json
    assert not content["is_exact"]
    assert content["bound"] <= content["log_likelihood"] + 4 * content["standard_error"]
    assert f"{content['standard_error']:.4f}" in table
    assert (
        (tmp_path / "rows.csv")
        .read_text()
        .startswith("accuracy,fingerprint,log_likelihood,standard_error,bound,effective_samples\n")
    )


# ---- impute ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "bare.csv", "parquet", "npy"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_gaps_are_filled_and_nothing_else(run, model, tmp_path, kind, suffix):
    out = tmp_path / f"filled.{suffix}"
    answer = run("impute", model, write_table(tmp_path, kind), "-o", out, "--probabilities", "--method", "exact")
    assert (answer.code, answer.err) == (0, "")
    assert "2 in 2 rows" in answer.out
    filled = read_table_of_any(out)
    given = ~np.isnan(ROWS)
    np.testing.assert_array_equal(filled[given], ROWS[given])
    evidence = np.hstack([np.full((6, 2), NAN), ROWS])
    means = pf.infer(pf.load(model), evidence, "exact").means[:, 2:]
    np.testing.assert_allclose(filled[~given], means[~given], rtol=1e-12)


def read_table_of_any(path: Path) -> np.ndarray:
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        frame = pytest.importorskip("pandas").read_parquet(path)
        assert list(frame.columns) == NAMES
        return frame.to_numpy()
    lines = list(csv.reader(io.StringIO(path.read_text())))
    return np.array(lines[1:] if lines[0] == NAMES else lines, float)


def test_states_are_filled_in_unless_probabilities_are_asked_for(run, model, data, tmp_path):
    out = tmp_path / "filled.csv"
    assert run("impute", model, data, "-o", out).code == 0
    assert out.read_text().splitlines()[0] == "a,b,c,d"
    filled = read_table(out).values
    evidence = np.hstack([np.full((6, 2), NAN), ROWS])
    means = pf.infer(pf.load(model), evidence, "G12").means[:, 2:]
    np.testing.assert_array_equal(filled, np.where(np.isnan(ROWS), means > 0.5, ROWS))
    content = run("impute", model, data, "-o", out, "--json", "--force").json
    assert (content["rows"], content["missing"], content["rows_with_gaps"], content["method"]) == (6, 2, 2, "G12")


def test_a_table_without_gaps_stays_as_it_is(run, model, tmp_path):
    path = write_table(tmp_path, "csv", ROWS[:2])
    assert run("impute", model, path, "-o", tmp_path / "filled.csv").code == 0
    assert (tmp_path / "filled.csv").read_bytes() == path.read_bytes()


def test_what_did_not_converge_is_said(run, model, data, tmp_path):
    answer = run("impute", model, data, "-o", tmp_path / "filled.csv", "--method", "G12[max_steps=1,tol=1e-14]")
    assert answer.code == 1
    assert "1 rows: ran out of steps" in answer.err
    assert (tmp_path / "filled.csv").exists()


@pytest.mark.parametrize(("command", "option"), [("score", "--out"), ("impute", "--out")])
def test_what_is_read_is_not_overwritten_and_what_is_there_only_on_request(run, model, data, tmp_path, command, option):
    link, other = tmp_path / "link.csv", tmp_path / "other.csv"
    link.hardlink_to(data)
    other.write_text("precious")
    before = data.read_bytes()
    for out, force, message in (
        (data, ("--force",), "is one of the input files"),
        (link, ("--force",), "is one of the input files"),
        (other, (), "already exists. Pass --force to replace it"),
    ):
        answer = run(command, model, data, option, out, *force)
        assert (answer.code, answer.out) == (2, "")
        assert message in answer.err
    assert (data.read_bytes(), other.read_text()) == (before, "precious")
    assert run(command, model, data, option, other, "--force").code == 0
    assert other.read_text() != "precious"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,e\n1,0\n", "columns must be units of the network; there is no 'e'"),
        ("1,0,1\n", "there must be 4 columns, one for each unit of the bottom layer, or all 6 units; got 3"),
    ],
)
def test_columns_that_are_no_units_are_named(run, model, tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_text(content)
    outputs = (("score", "--out", tmp_path / "rows.csv"), ("impute", "--out", tmp_path / "filled.csv"))
    for command, option, out in outputs:
        answer = run(command, model, path, option, out)
        assert (answer.code, answer.out) == (2, "")
        assert message in answer.err
        assert not out.exists()


def test_writing_that_fails_leaves_the_old_file(run, model, data, tmp_path, monkeypatch):
    out = tmp_path / "filled.csv"
    out.write_text("precious")
    before = files(tmp_path)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    answer = run("impute", model, data, "-o", out, "--force")
    assert (answer.code, answer.out) == (2, "")
    assert out.read_text() == "precious"
    assert files(tmp_path) == before


def test_foreign_names_of_outputs_are_refused(run, model, data, tmp_path):
    for command, option in (("score", "--out"), ("impute", "--out")):
        answer = run(command, model, data, option, tmp_path / "out.docx")
        assert answer.code == 2
        assert "the name of a table file must end with .csv" in answer.err
