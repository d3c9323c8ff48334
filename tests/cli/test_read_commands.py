"""`ls`, `show`, `watch`, `sql`, `export`, `compare` and `compact` over real runs."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.catalog.partials.partial import Mean
from rollscope.cli import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    patch = pytest.MonkeyPatch()
    patch.setenv("ROLLSCOPE_SEAL", "0")
    with rs.init(project="p", name="first", dir=path, config={"lr": 1e-6}) as run:
        for step in range(12):
            run.log({"policy/entropy": 2.0 - step / 10, "custom/odd": float("nan") if step == 5 else 1.0}, step=step)
            run.log_samples(
                step=step,
                samples=[
                    {"id": f"{step}-{i}", "group": "g", "reward": float(i), "completion": "words"} for i in range(3)
                ],
            )
            run.log_span("forward", step * 10**9, step * 10**9 + 10**8, lane="trainer/0", step=step)
            run.commit(step)
    patch.undo()
    return path


def call(capsys: Any, *argv: str) -> str:
    assert main(list(argv)) == 0
    return str(capsys.readouterr().out)


def test_ls_lists_runs(runs: Path, capsys: Any) -> None:
    listed = json.loads(call(capsys, "ls", "--dir", str(runs), "--json"))
    (row,) = listed
    assert (row["name"], row["project"], row["state"], row["step"]) == ("first", "p", "finished", 11)
    assert "finished" in call(capsys, "ls", "--dir", str(runs))


def test_show_and_doctor_count_the_same_rules(tmp_path: Path, capsys: Any) -> None:
    """Rules that lack what they need have not read the run."""
    with rs.init(id="calm", dir=tmp_path, host=False) as run:
        for step in range(30):
            wave = 0.5 + (step % 3) / 50
            run.log({"reward/mean": wave, "policy/entropy": wave, "optimiser/grad_norm": wave}, step=step)
    looked = re.search(r"Nothing found by (\d+) rules", call(capsys, "doctor", "calm", "--dir", str(tmp_path)))
    shown = " ".join(call(capsys, "show", "calm", "--dir", str(tmp_path)).split())
    assert looked and f"{looked[1]} rules read this run; none applies." in shown


def test_the_doctor_needs_no_name_where_there_is_one_run(tmp_path: Path, capsys: Any) -> None:
    for name in ("one", "two"):
        with rs.init(id=name, dir=tmp_path, host=False) as run:
            run.log({"reward/mean": 0.5}, step=0)
        if name == "one":
            assert "Nothing found by" in call(capsys, "doctor", "--dir", str(tmp_path))
    assert main(["doctor", "--dir", str(tmp_path)]) == 2
    assert "holds 2 runs: say which" in capsys.readouterr().err


def test_an_id_is_never_cut_even_on_a_narrow_screen(tmp_path: Path) -> None:
    id = "grpo-countdown-with-a-long-name-that-says-what-it-was-1115-0405-gyvu"
    with rs.init(project="a project with a name", id=id, dir=tmp_path) as run:
        run.log({"a": 1.0}, step=0)
    for columns in ("40", "80"):
        env = {**os.environ, "COLUMNS": columns, "FORCE_COLOR": "1"}
        command = [sys.executable, "-m", "rollscope", "ls", "--dir", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        assert id in done.stdout
        assert len(done.stdout.splitlines()) == 2


def test_text_of_a_run_is_neither_markup_nor_a_command_to_the_terminal(tmp_path: Path, capsys: Any) -> None:
    with rs.init(project="[/nothing]", name="[bold]", id="r", dir=tmp_path) as run:
        run.log({"a/[red]b[/c]": 1.0}, step=0)
        run.log_samples(step=0, samples=[{"id": "s", "completion": "[/x] \x1b[2J [bold]whole[/bold] \ud800"}])
    for command in (["ls"], ["show"], ["sql", "select completion, name from samples, metrics"]):
        printed = call(capsys, *command, "--dir", str(tmp_path))
        assert "\x1b[2J" not in printed
        assert "[/nothing]" in printed or "[red]b[/c]" in printed
        assert command[0] != "sql" or "[bold]whole[/bold]" in printed.replace("\n", "")


@pytest.mark.parametrize("command", ["show", "watch"])
def test_on_a_narrow_screen_lines_get_shorter_and_names_are_folded_but_no_value_is_cut(
    tmp_path: Path, capsys: Any, monkeypatch: Any, command: str
) -> None:
    long = "profiling/Time taken: GRPOTrainer._get_per_token_logps_and_entropies"
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        for step in range(50):
            values = {long: -1.234e-05, "policy/kl_update_abs": -0.0001234, "loss": float(step), "general/x": 1.0}
            run.log(values, step=step)
    monkeypatch.setenv("COLUMNS", "60")
    printed = call(capsys, command, "r", "--dir", str(tmp_path), "--metric", "*")
    assert "-1.234e-05" in printed and "-0.0001234" in printed
    assert "policy/kl_update_abs" in printed and "…" not in printed
    assert "entropies" in printed and all(len(line) <= 60 for line in printed.splitlines())
    headings = printed.count("general\n") + printed.count("general ")
    assert command == "watch" or headings == 1, "a section is printed once"


def test_a_run_that_has_no_step_says_so(tmp_path: Path, capsys: Any) -> None:
    with rs.init(id="r", dir=tmp_path, host=False):
        pass
    for command in ("show", "watch"):
        printed = call(capsys, command, "r", "--dir", str(tmp_path))
        assert "no step yet" in printed and "None" not in printed and "1 step in" not in printed


def test_a_section_heading_is_not_cut_over_shorter_names(tmp_path: Path, capsys: Any) -> None:
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        run.log({"a": 1.0}, step=0)
    assert "general" in call(capsys, "show", "r", "--dir", str(tmp_path))


def test_show_gives_a_frameworks_number_its_unit_where_it_is_ours(tmp_path: Path, capsys: Any) -> None:
    with rs.init(id="r", dir=tmp_path, host=False, framework="trl:grpo@1.16") as run:
        run.log({"completions/mean_length": 5.0, "mine": 1.0}, step=0)
    metrics = json.loads(call(capsys, "show", "r", "--dir", str(tmp_path), "--json"))["metrics"]
    assert {m["name"]: m["unit"] for m in metrics} == {"completions/mean_length": "tokens", "mine": ""}


def test_no_data_is_told_from_a_logged_nan(tmp_path: Path, capsys: Any) -> None:
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        for step in range(12):
            now_and_then = 1.0 if step % 5 == 0 else float("nan")
            run.log({"empty": Mean(0.0, 0.0), "odd": float("nan"), "big": -float("inf"), "rare": now_and_then}, step)
            run.log_samples(step=step, samples=[{"id": f"{step}", "group": "g", "reward": 1.0}])
    said = {"empty": "no data", "rare": "no data", "odd": "NaN", "big": "−infinity", "reward/std": "no data"}
    for command in ("show", "watch"):
        printed = call(capsys, command, "r", "--dir", str(tmp_path), "--metric", "*")
        lines = {
            line.split()[0]: line.split(maxsplit=1)[1].strip() for line in printed.splitlines() if " " in line.strip()
        }
        for name, words in said.items():
            assert words in lines[name] and "nan" not in lines[name], (command, name)
    shown = json.loads(call(capsys, "show", "r", "--dir", str(tmp_path), "--json"))["metrics"]
    watched = json.loads(call(capsys, "watch", "r", "--dir", str(tmp_path), "--metric", "*", "--json"))["metrics"]
    for last in ({row["name"]: row["last"] for row in shown}, watched):
        assert last["empty"] is last["rare"] is last["reward/std"] is None
        assert (last["odd"], last["big"]) == ("NaN", "-Infinity")


def test_show_draws_every_metric_with_its_last_value(runs: Path, capsys: Any) -> None:
    text = call(capsys, "show", "first", "--dir", str(runs))
    assert "policy/entropy" in text and "▁" in text and "█" in text and "0.9" in text
    answer = call(capsys, "show", "first", "--dir", str(runs), "--metric", "policy/*", "--json", "--verify")
    (metric,) = json.loads(answer)["metrics"]
    assert metric["name"] == "policy/entropy" and metric["last"] == pytest.approx(0.9)


def test_sql_answers_in_three_forms(runs: Path, capsys: Any) -> None:
    query = "select count(*) as n, avg(reward) as r from samples"
    assert json.loads(call(capsys, "sql", query, "--dir", str(runs), "--json")) == [{"n": 36, "r": 1.0}]
    assert call(capsys, "sql", query, "--dir", str(runs), "--csv").split() == ["n,r", "36,1.0"]
    assert "36" in call(capsys, "sql", query, "--run", "first", "--dir", str(runs))
    assert "policy_version_min" in call(capsys, "sql", "--tables")


def test_sql_refuses_in_a_sentence(runs: Path, capsys: Any) -> None:
    assert main(["sql", "drop table samples", "--dir", str(runs)]) == 2
    assert "only questions are allowed" in capsys.readouterr().err


def test_export_writes_every_format(runs: Path, tmp_path: Path, capsys: Any) -> None:
    for form in ("parquet", "csv", "jsonl"):
        call(capsys, "export", "first", "--dir", str(runs), "--format", form, "--out", str(tmp_path), "--json")
    assert pq.read_table(tmp_path / "samples.parquet").num_rows == 36
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["value"]) for r in rows if r["name"] == "policy/entropy"][:2] == [2.0, 1.9]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["value"] for line in lines if line["name"] == "custom/odd"][5] == "NaN"


def test_a_chrome_trace_has_every_span(runs: Path, tmp_path: Path, capsys: Any) -> None:
    call(capsys, "export", "first", "--dir", str(runs), "--format", "chrome", "--out", str(tmp_path / "t.json"))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 12 and spans[1]["ts"] == 1e6 and spans[1]["dur"] == 1e5 and spans[1]["args"]["step"] == 1


def test_overlapping_spans_of_a_lane_go_to_separate_tracks(tmp_path: Path, capsys: Any) -> None:
    """A trace viewer drops a span that overlaps another one of its track without being inside it.
    Hostile names are still valid JSON in UTF-8."""
    spans = [("step", 0, 100), ("a", 10, 40), ("b", 30, 60), ("inside b", 35, 50), ("after a", 40, 45)]
    spans += [("back in time", 70, 5), ("c", 90, 120)]
    with rs.init(dir=tmp_path / "runs", id="r", host=False) as run:
        for name, start, end in spans:
            run.log_span(name, 10**18 + start, 10**18 + end, lane="engine/0")
        run.log_span("half \ud800", 10**18, 10**18 + 1, lane="odd\udfff/0", sample="\ud800", share=float("nan"))
    out = str(tmp_path / "t.json")
    call(capsys, "export", "r", "--dir", str(tmp_path / "runs"), "--format", "chrome", "--out", out)
    events = json.loads((tmp_path / "t.json").read_bytes(), parse_constant=pytest.fail)["traceEvents"]
    tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    track_of = {event["name"]: tracks[event["pid"], event["tid"]] for event in events if event["ph"] == "X"}
    first = dict.fromkeys(("step", "a", "after a", "back in time"), "engine/0")
    second = dict.fromkeys(("b", "inside b", "c"), "engine/0 (2)")
    assert track_of == {**first, **second, "half ?": "odd?/0"}
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")


def test_tensorboard_reads_what_was_exported(runs: Path, tmp_path: Path, capsys: Any) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    arguments = ("--dir", str(runs), "--format", "tensorboard", "--out", str(tmp_path), "--json")
    (file,) = json.loads(call(capsys, "export", "first", *arguments))
    values = [
        (e.step, v.simple_value)
        for e in loader.LegacyEventFileLoader(file["file"]).Load()
        for v in e.summary.value
        if v.tag == "policy/entropy"
    ]
    assert values[0] == (0, 2.0) and len(values) == 12


def test_compact_seals_logs_and_keeps_every_value(runs: Path, capsys: Any) -> None:
    before = rs.open(runs).run("first").series("policy/entropy")["value"].tolist()
    (done,) = json.loads(call(capsys, "compact", "--dir", str(runs), "--all", "--json"))
    assert done["logs_sealed"] == 1 and done["sets"] == 1
    assert rs.open(runs).run("first").series("policy/entropy")["value"].tolist() == before


@pytest.mark.parametrize("command", ["ls", "show", "sql", "export", "compact"])
def test_help_has_an_example(command: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert f"\nrollscope {command}" in text and "--dir" in text and "--json" in text


def test_watch_shows_the_step_and_ends_with_the_run(runs: Path, capsys: Any) -> None:
    status = json.loads(call(capsys, "watch", "first", "--dir", str(runs), "--json"))
    assert (status["state"], status["step"]) == ("finished", 11)
    assert status["verdict"] == "Some metrics are not numbers at step 5"
    assert status["metrics"]["policy/entropy"] == pytest.approx(0.9)
    text = call(capsys, "watch", "first", "--dir", str(runs), "--metric", "custom/*")
    assert "custom/odd" in text and "policy/entropy" not in text and "step 11" in text


def test_watch_follows_a_run_that_is_being_written(tmp_path: Path) -> None:
    run = rs.init(name="live", id="live", dir=tmp_path)
    run.log({"policy/entropy": 2.0}, step=0)
    run.commit(0)
    command = [sys.executable, "-m", "rollscope", "watch", "live", "--dir", str(tmp_path), "--json", "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        assert first["state"] == "running"
        run.log({"policy/entropy": 1.0}, step=1)
        run.finish()
        rest = [json.loads(line) for line in watching.stdout]
    assert watching.returncode == 0 and (rest[-1]["state"], rest[-1]["step"]) == ("finished", 1)


def test_compare_lists_different_settings_and_where_runs_part(tmp_path: Path, capsys: Any) -> None:
    for name, lr in (("slow", 1e-6), ("fast", 1e-5)):
        with rs.init(name=name, id=name, dir=tmp_path, config={"lr": lr, "seed": 1}) as run:
            for step in range(80):
                falls = name == "fast" and step > 40
                run.log({"policy/entropy": 2.0 - (step - 40) / 40 * falls, "custom/same": 1.0}, step=step)
    answer = json.loads(call(capsys, "compare", "slow", "fast", "--dir", str(tmp_path), "--json"))
    assert answer["settings"] == {"config.lr": [1e-6, 1e-5]}
    first = answer["pairs"][0]["metrics"][0]
    assert first["metric"] == "policy/entropy" and 40 <= first["step"] <= 50
    assert "They part at step" in call(capsys, "compare", "slow", "fast", "--dir", str(tmp_path))
    with rs.init(name="short", id="short", dir=tmp_path) as run:
        run.log({"custom/same": 3.0}, step=0)
    answer = call(capsys, "compare", "slow", "short", "--dir", str(tmp_path))
    assert "Too few common steps to tell in 1 common metric" in answer
    assert main(["compare", "slow", "--dir", str(tmp_path)]) == 2
    assert "two or more" in capsys.readouterr().err


def test_timeline_prints_a_step_whose_parts_add_up(runs: Path, capsys: Any) -> None:
    got = json.loads(call(capsys, "timeline", "first", "--dir", str(runs), "--step", "4", "--json"))
    assert got["step"] == 4 and got["wall_s"] == pytest.approx(1.0)
    assert sum(part["seconds"] for part in got["path"]) == pytest.approx(got["wall_s"], abs=1e-6)
    (lane,) = got["lanes"]
    assert lane["busy"] == pytest.approx(0.1) and lane["busy"] + lane["waiting"] + lane["idle"] == pytest.approx(1)
    assert {"waits", "levers"} <= set(got)
    printed = call(capsys, "timeline", "first", "--dir", str(runs))
    assert "step 11: 1.000 s" in printed and "forward" in printed and "trainer/0" in printed


def test_a_trace_that_was_exported_comes_back_with_times_lanes_and_causes(tmp_path: Path, capsys: Any) -> None:
    with rs.init(project="p", id="spans", dir=tmp_path / "runs", host=False) as run:
        first = run.log_span("sync_weights", 10**18 + 7, 10**18 + 1_000_009, "trainer/0", step=3, version=2)
        more: dict[str, Any] = {"queued_ns": 10**18 + 11, "version": 2, "sample": "a", "causes": [first], "tokens": 5}
        run.log_span("generate", 10**18 + 2_000_003, 10**18 + 5_000_001, "inference/0", kind="wait", step=4, **more)
    trace = tmp_path / "spans.trace.json"
    call(capsys, "export", "spans", "--dir", str(tmp_path / "runs"), "--format", "chrome", "--out", str(trace))
    flows = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] in "sf"]
    assert [event["ph"] for event in flows] == ["s", "f"] and flows[0]["id"] == flows[1]["id"]
    call(capsys, "import", str(trace), "--dir", str(tmp_path / "back"))
    before, after = (rs.open(tmp_path / name).run().spans() for name in ("runs", "back"))
    for column in ("name", "lane", "kind", "start_ns", "end_ns", "step", "version", "queued_ns", "sample", "data"):
        assert before[column].tolist() == after[column].tolist(), column
    assert [len(causes or ()) for causes in after["causes"]] == [0, 1]
