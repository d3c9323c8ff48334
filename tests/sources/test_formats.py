"""The smaller formats, each against its own library or against its documented form."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main

pytestmark = pytest.mark.filterwarnings("ignore")


def skipped(report: Any) -> str:
    return " ".join(map(str, report.skipped))


def run_python(code: str, *args: str, **env: str) -> None:
    subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, env={**os.environ, **env})


def test_swanlab_files(tmp_path: Path, imported: Any) -> None:
    run_python(
        """
import math, sys, swanlab
swanlab.init(project="p", experiment_name="n", mode="offline", logdir=sys.argv[1])
for i in range(30): swanlab.log({"loss": 1 / (i + 1), "acc": math.nan}, step=i)
swanlab.log({"text": swanlab.Text("x")}, step=30)
swanlab.finish()""",
        str(tmp_path),
    )
    report = imported.take(tmp_path)
    assert imported.series("loss") == {i: 1 / (i + 1) for i in range(30)}
    assert all(map(math.isnan, imported.series("acc").values()))
    assert imported.run().record()["state"] == "finished"
    assert "'text' holds a dict" in skipped(report)
    assert imported.take(tmp_path).runs[imported.ids()[0]] == {"values": 0, "rows": 0}


@pytest.mark.parametrize("store", ["sqlite", "folders"])
def test_mlflow_stores(store: str, tmp_path: Path, imported: Any) -> None:
    uri = f"sqlite:///{tmp_path}/m.db" if store == "sqlite" else f"file://{tmp_path}/mlruns"
    run_python(
        """
import math, os, mlflow
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="first"):
    mlflow.log_params({"lr": 0.1})
    for i in range(5): mlflow.log_metric("a/loss", i / 2, step=i)
    mlflow.log_metric("odd", math.nan, step=0); mlflow.log_metric("odd", -math.inf, step=1)""",
        MLFLOW_TRACKING_URI=uri,
        MLFLOW_ALLOW_FILE_STORE="true",
    )
    imported.take(tmp_path / ("m.db" if store == "sqlite" else "mlruns"))
    assert imported.series("a/loss") == {i: i / 2 for i in range(5)}
    assert math.isnan(imported.series("odd")[0]) and imported.series("odd")[1] == -math.inf
    assert imported.run().record()["name"] == "first" and imported.run().config == {"lr": "0.1"}


def test_jsonl_with_a_step_a_time_and_nested_values(tmp_path: Path, imported: Any) -> None:
    path = tmp_path / "log.jsonl"
    rows = [
        {"step": 3, "timestamp": 1.7e9, "loss": 0.5, "val": {"acc": 1}},
        {"step": 4, "loss": "NaN", "note": "hi"},
        {"step": 5, "loss": None},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 6, "lo')
    report = imported.take(path)
    assert imported.series("val/acc") == {3: 1.0}
    assert imported.series("loss")[3] == 0.5 and math.isnan(imported.series("loss")[4])
    assert imported.run().series("loss")["time_ns"][0] == 1_700_000_000_000_000_000
    assert "middle of a line" in skipped(report) and "'note' holds the text 'hi'" in skipped(report)
    path.write_text(path.read_text() + 'ss": 6}\n[1]\nnot json\n')
    report = imported.take(path)
    assert imported.series("loss")[6] == 6.0 and [s.offset is not None for s in report.skipped] == [True, True]


def test_a_step_that_was_written_as_text_is_a_step(tmp_path: Path, imported: Any) -> None:
    path = tmp_path / "log.jsonl"  # json.dump(default=str) writes numpy's numbers so
    path.write_text("".join(json.dumps({"step": str(10 * i), "loss": f"np.float32({i}.5)"}) + "\n" for i in range(3)))
    imported.take(path)
    assert imported.series("loss") == {0: 0.5, 10: 1.5, 20: 2.5}


def test_rows_of_our_own_jsonl_sink_come_back(tmp_path: Path, imported: Any) -> None:
    from rollscope.sinks import Row
    from rollscope.sinks.registry import make

    sink = make("jsonl", {"dir": str(tmp_path), "writer": "w"})
    metrics = Row("metrics", 2, 10**18, {"a": math.inf, "b": 1.5})
    sink.write([metrics, Row("samples", 2, 10**18, {"id": "s", "completion": "x"})])
    sink.close()
    imported.take(tmp_path / "rows.w.jsonl")
    assert imported.series("a") == {2: math.inf} and imported.series("b") == {2: 1.5}
    assert imported.table("samples")[0]["completion"] == "x"


def test_a_list_of_rows_in_one_json_file(tmp_path: Path, imported: Any) -> None:
    path = tmp_path / "history.json"
    rows = [{"_step": 0, "_timestamp": 1.7e9, "loss": 1.0}, {"_step": 1, "loss": None}, {"_step": 2, "loss": 0.5}]
    path.write_text(json.dumps(rows))
    imported.take(path)
    assert imported.series("loss") == {0: 1.0, 2: 0.5}
    assert imported.take(path).runs[imported.ids()[0]] == {"values": 0, "rows": 0}


def test_csv_of_steps_and_of_a_wandb_chart(tmp_path: Path, imported: Any) -> None:
    (tmp_path / "plain.csv").write_text("step,loss,acc\n1,0.5,\n2,nan,0.25\n3,0.1\n")
    (tmp_path / "chart.csv").write_text(
        '"Step","one - reward","one - reward__MIN","one - reward__MAX","two - reward"\n'
        '"1","0.5","0.5","0.5","0.75"\n"2","0.6","0.6","0.6",""\n'
    )
    report = imported.take(tmp_path)
    assert imported.series("acc", "plain") == {2: 0.25} and math.isnan(imported.series("loss", "plain")[2])
    assert imported.series("reward", "one") == {1: 0.5, 2: 0.6} and imported.series("reward", "two") == {1: 0.75}
    assert "line 4 has 2 cells" in skipped(report)


def test_verl_dumps_are_samples_in_groups(tmp_path: Path, imported: Any) -> None:
    folder = tmp_path / "rollout_data"
    folder.mkdir()
    row = {"output": "a", "gts": "4", "step": 1, "acc": 1.0}
    old = [{"input": f"q{i // 2}", "score": float(i), **row} for i in range(4)]
    row = {"input": "q", "output": "b", "gts": None, "score": 0.5, "step": 2}
    new = [{**row, "uid": f"u{i // 2}_0_{i}"} for i in range(4)]
    (folder / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in old))
    (folder / "2.jsonl").write_text("".join(json.dumps(row) + "\n" for row in new))
    imported.take(folder)
    samples = imported.table("samples")
    assert len(samples) == 8 and len({s["group"] for s in samples}) == 4
    assert [s["repeat"] for s in samples] == [0, 1] * 4
    assert json.loads(samples[0]["rewards"]) == {"acc": 1.0} and samples[0]["answer"] == "4"
    assert samples[0]["task"] != samples[2]["task"]


def test_verl_console_lines(tmp_path: Path, imported: Any) -> None:
    log = tmp_path / "train.log"
    prefix = "\x1b[36m(TaskRunner pid=12)\x1b[0m "
    first = "step:1 - actor/pg_loss:0.25 - critic/score/mean:np.float64(0.5) - val-core/a/acc/mean@8:1.0"
    second = "step:2 - actor/pg_loss:nan - x:1e-06"
    log.write_text(f"noise\n{prefix}{first}\nmore\n{prefix}{second}\nstep:3 - actor/pg_")
    imported.take(log)
    assert imported.series("critic/score/mean") == {1: 0.5} and imported.series("x") == {2: 1e-6}
    assert imported.series("val-core/a/acc/mean@8") == {1: 1.0}
    assert math.isnan(imported.series("actor/pg_loss")[2]) and imported.run().record()["framework"] == "verl"
    log.write_text(log.read_text() + "loss:0.5\n")
    imported.take(log)
    assert imported.series("actor/pg_loss")[3] == 0.5


@pytest.mark.parametrize("form", ["object", "list", "lines", "cut"])
def test_chrome_traces_are_spans(form: str, tmp_path: Path, imported: Any) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "ActorGroup"}},
        {"ph": "B", "name": "train", "pid": 1, "tid": 0, "ts": 1000.0, "args": {"step": 3}},
        {"ph": "X", "name": "wait_for_data", "pid": 1, "tid": 0, "ts": 1100.0, "dur": 50.5},
        {"ph": "E", "name": "train", "pid": 1, "tid": 0, "ts": 2000.0},
        {"ph": "B", "name": "never ends", "pid": 1, "tid": 0, "ts": 3000.0},
    ]
    path = tmp_path / ("trace_events.jsonl" if form == "lines" else "trace.json")
    text = {"object": json.dumps({"traceEvents": events}), "list": json.dumps(events), "cut": json.dumps(events)[:-20]}
    path.write_text("".join(json.dumps(e) + "\n" for e in events) if form == "lines" else text[form])
    report = imported.take(path)
    spans = {s["name"]: s for s in imported.table("spans")}
    train, wait = spans.pop("train"), spans.pop("wait_for_data")
    assert not spans and train["lane"] == "ActorGroup/0" and train["step"] == 3
    assert (train["start_ns"], train["end_ns"]) == (1_000_000, 2_000_000) and wait["kind"] == "wait"
    assert ("cut off" if form == "cut" else "never end") in str(report.skipped[0])


def slice_(name: str, tid: int, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, **more}


def arrow(phase: str, id: int, tid: int, ts: float, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": "flow", "cat": "cause", "id": id, "pid": 1, "tid": tid, "ts": ts, **more}


@pytest.mark.parametrize("form", ["list", "lines"])
def test_arrows_of_any_chrome_trace_are_causes(form: str, tmp_path: Path, imported: Any) -> None:
    """An arrow leaves the innermost slice around it, and meets the next slice or the one around."""
    events = [
        arrow("s", 1, 0, 190.0),  # before the slices that it joins
        slice_("request", 0, 100.0, 200.0),
        slice_("generate", 0, 120.0, 100.0),
        slice_("reward", 1, 250.0, 50.0),
        slice_("train", 2, 400.0, 100.0),
        arrow("t", 1, 1, 260.0),
        arrow("f", 1, 2, 390.0),  # the next slice
        arrow("s", 2, 0, 290.0),
        arrow("f", 2, 2, 450.0, bp="e"),  # the slice around it
        arrow("f", 3, 2, 450.0),  # an arrow that begins nowhere
        slice_("sync", 3, 500.0, 20.0, bind_id="0x7", flow_out=True),
        slice_("load", 4, 530.0, 20.0, bind_id="0x7", flow_in=True),
    ]
    path = tmp_path / ("trace_events.jsonl" if form == "lines" else "trace.json")
    path.write_text("".join(json.dumps(e) + "\n" for e in events) if form == "lines" else json.dumps(events))
    imported.take(path)
    spans = imported.table("spans")
    names = {str(span["id"]): span["name"] for span in spans}
    causes = {s["name"]: sorted(names[id] for id in json.loads(s.get("causes") or "[]")) for s in spans}
    found = {name: from_ for name, from_ in causes.items() if from_}
    assert found == {"reward": ["generate"], "train": ["request", "reward"], "load": ["sync"]}


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
def test_datasets_of_rollouts(form: str, tmp_path: Path, imported: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"prompt": f"q{i // 2}", "response": f"a{i}", "correct": float(i % 2), "step": 1} for i in range(4)]
    path = tmp_path / "data" / f"train.{form}"
    path.parent.mkdir()
    table = pa.Table.from_pylist(rows)
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "arrow":
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    imported.take(path)
    samples = imported.table("samples")
    assert [s["completion"] for s in samples] == ["a0", "a1", "a2", "a3"] and len({s["task"] for s in samples}) == 2
    assert [json.loads(s["rewards"])["correct"] for s in samples] == [0.0, 1.0, 0.0, 1.0]


def test_a_reward_may_be_a_decimal_or_a_text(tmp_path: Path, imported: Any) -> None:
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    about = {
        "prompt": ["q", "q"],
        "completion": ["a", "b"],
        "reward": [decimal.Decimal("1.50"), decimal.Decimal("0.25")],
    }
    pq.write_table(pa.table(about), tmp_path / "a.parquet")
    pq.write_table(pa.table({**about, "reward": ["1.50", "0.25"]}), tmp_path / "b.parquet")
    imported.take(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert [row["reward"] for row in imported.table("samples")] == [1.5, 0.25, 1.5, 0.25]


def test_a_dataset_of_chats(tmp_path: Path, imported: Any) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": messages, "reward": 1.0}) + "\n")
    imported.take(tmp_path / "chats.jsonl")
    (sample,) = imported.table("samples")
    assert (sample["prompt"], sample["completion"], sample["reward"]) == ("hi", "ho", 1.0)


def test_unknown_files_are_reported(tmp_path: Path, imported: Any) -> None:
    (tmp_path / "thing.jsonl").write_text("not json\n")
    (tmp_path / "empty.csv").write_text("")
    report = imported.take(tmp_path, tmp_path / "missing")
    assert not report.files
    for words in ("not a format Rollscope knows", "the file is empty", "no such file"):
        assert words in skipped(report)


def test_the_command_reports_new_values_and_follows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "loss": 0.5}\n')
    command = [sys.executable, "-m", "rollscope", "import", str(path), "--dir", str(tmp_path / "runs")]
    with subprocess.Popen([*command, "--follow", "--every", "0.1"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "1 value is new" in process.stdout.readline()
        with path.open("a") as file:
            file.write('{"step": 2, "loss": 0.25}\n')
        assert "1 value is new" in process.stdout.readline()
        process.terminate()
    from rollscope.store.store import open as open_store

    run = open_store(tmp_path / "runs").run()
    assert run.series("loss")["value"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("samples", "numbers", "says"),
    [
        pytest.param(2, 0, "2 rows (2 of samples) are new", id="samples"),
        pytest.param(1, 0, "1 row (1 of samples) is new", id="one sample"),
        pytest.param(0, 1, "1 value is new", id="one number"),
        pytest.param(2, 3, "3 values and 2 rows (2 of samples) are new", id="both"),
    ],
)
def test_an_import_says_what_is_new(tmp_path: Path, capsys: Any, samples: int, numbers: int, says: str) -> None:
    rows = [json.dumps({"prompt": f"{i}?", "completion": "4", "step": 3}) for i in range(samples)]
    (tmp_path / "samples.jsonl").write_text("".join(f"{row}\n" for row in rows))
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"step": {i}, "loss": 1.5}}\n' for i in range(numbers)))
    paths = [str(tmp_path / f"{name}.jsonl") for name, count in (("samples", samples), ("numbers", numbers)) if count]
    for again in (False, True):
        assert main(["import", *paths, "--into", "r", "--dir", str(into_run(tmp_path))]) == 0
        assert (says if not again else "nothing is new") in capsys.readouterr().out


def into_run(folder: Path) -> Path:
    """A folder of runs with one that was trained elsewhere."""
    if not (folder / "runs").exists():
        with rs.init(id="r", dir=folder / "runs", host=False) as run:
            run.log({"reward/mean": 1.0}, step=3)
    return folder / "runs"
