"""`plefka validate`, `plefka diff` and `plefka lint`."""

import pandas as pd

import plefka as pf

NET = "example:espresso"


def test_validate_prints_and_writes_a_page(run, tmp_path):
    network = pf.example("espresso")
    rows = pd.DataFrame(network.sample(1, 30), columns=list(network.names))
    rows["sure"] = ["limescale"] * 29 + ["plague"]
    path, page = tmp_path / "rows.csv", tmp_path / "page.html"
    rows.drop(columns=list(network.names[:7])).to_csv(path, index=False)
    ran = run("validate", NET, path, "--truth", "sure", "--out", page)
    assert ran.code == 0
    assert "mean reciprocal rank" in ran.out
    assert "therefore missed: plague" in ran.out
    assert page.read_text().startswith("<!doctype html>")
    again = run("validate", NET, path, "--truth", "sure", "--out", page)
    assert (again.code, "already exists" in again.err) == (2, True)
    rows.drop(columns="sure").to_csv(path, index=False)
    truths = [word for name in network.names[:7] for word in ("--truth", name)]
    content = run("validate", NET, path, *truths, "--method", "exact", "--json").json
    assert content["measures"]["exact"] == 30
    assert content["fingerprint"] == network.fingerprint
    assert run("validate", NET, path, "--truth", "nobody").code == 2


def test_diff_ends_with_1_where_networks_differ(run, tmp_path):
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    pf.save(pf.example("espresso"), same)
    units = [u._replace(bias=0.3) if u.name == "stale_beans" else u for u in pf.example("espresso").units]
    pf.save(pf.BeliefNetwork.of_units(units), other)
    ran = run("diff", NET, same)
    assert (ran.code, ran.out) == (0, "the networks and their answers are the same\n")
    ran = run("diff", same, other, "-e", "sour_taste=1")
    assert (ran.code, ran.out.splitlines()[0]) == (1, "stale_beans: prior: 0.25 -> 0.259182")
    assert "P(stale_beans | evidence): " in ran.out
    (tmp_path / "rows.csv").write_text("sour_taste,thin_crema\n1,1\n0,\n")
    content = run("diff", same, other, "--rows", tmp_path / "rows.csv", "--json").json
    assert {change["what"].partition(":")[0] for change in content["changes"][1:]} == {"row 0", "row 1"}
    soft = run("diff", same, other, "--rows", tmp_path / "rows.csv", "-e", "slow_flow=0.9:0.2", "--json").json
    rows = [{"sour_taste": 1, "thin_crema": 1}, {"sour_taste": 0}]
    rows = [{**row, "slow_flow": pf.Likelihood(0.9, 0.2)} for row in rows]
    assert soft["changes"] == [each._asdict() for each in pf.diff(pf.load(same), pf.load(other), rows)]


def test_lint_ends_with_1_where_something_is_suspicious(run, tmp_path):
    assert (run("lint", NET).code, run("lint", NET).out) == (0, "nothing suspicious\n")
    path = tmp_path / "net.json"
    pf.save(pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"]), path)
    ran = run("lint", path)
    assert (ran.code, ran.out) == (1, "Units with a leak of 0 cannot be on without their causes: fever.\n")
    assert run("lint", path, "--json").json["suspicious"][0]["units"] == ["fever"]
