"""Every sink: the library's own reader reads back what the sink was given."""

from __future__ import annotations

import importlib
import io
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sink_readers import READERS, prometheus, wandb_records

from rollscope.catalog.partials.moments import Moments
from rollscope.catalog.partials.partial import Mean
from rollscope.errors import BadInput, MissingExtra
from rollscope.sinks import Row
from rollscope.sinks.registry import SINKS, make

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the trackers

SAMPLE = {
    "id": "s1",
    "group": "g",
    "prompt": "2+2",
    "completion": "<b>4</b>\n",
    "reward": 1.0,
    "rewards": {"format": 0.5},
    "token_ids": [1, 2],
}
FIRST = {"policy/entropy": Mean(6.0, 4.0), "custom/loss": 0.25, "nothing": Mean(), "count": 2**53 + 1}
ROWS = [
    Row("metrics", 1, 10**18, FIRST),
    Row("metrics", 3, 10**18 + 10**9, {"policy/entropy": 1.25, "custom/loss": math.nan}),
    Row("metrics", 2, 10**18 + 2 * 10**9, {"policy/entropy": Moments(2.0, 1.125, 0.0), "custom/loss": math.inf}),
    Row("samples", 2, 10**18 + 3 * 10**9, SAMPLE),
    Row("notes", 2, 10**18 + 3 * 10**9, {"text": "lowered lr"}),
    Row("spans", 2, 10**18, {"name": "generate", "lane": "trainer/0", "start_ns": 1, "end_ns": 2}),
]
readable = pytest.mark.parametrize("name", READERS)
every = pytest.mark.parametrize("name", SINKS)


def written(name: str, info: dict[str, Any], rows: list[Row] = ROWS, **more: Any) -> dict[str, dict[int, float]]:
    sink = make(name, info, **more)
    for row in rows:
        sink.write([row])
    sink.close()
    return READERS[name](Path(info["dir"]))


@readable
def test_late_steps_are_kept_under_their_own_step(name: str, info: dict[str, Any]) -> None:
    assert written(name, info)["policy/entropy"] == {1: 1.5, 3: 1.25, 2: 1.125}


@readable
def test_nan_is_kept_and_no_data_is_not_a_number(name: str, info: dict[str, Any]) -> None:
    series = written(name, info)
    assert math.isnan(series["custom/loss"][3])
    infinity = math.inf if name != "mlflow" else 1.7976931348623157e308  # MLflow's SQL store changes it
    assert series["custom/loss"][2] == infinity
    assert series["custom/loss"][1] == 0.25
    assert "nothing" not in series


@readable
def test_a_dialect_renames_metrics_of_the_catalogue_and_keeps_a_users_own_name(
    name: str, info: dict[str, Any], two_metrics: None
) -> None:
    row = Row("metrics", 4, 10**18, {"test/ours": 0.5, "custom/loss": 2.0, "test/unspoken": 1.0})
    series = written(name, info, [row], dialect="verl")
    assert series["actor/theirs"] == {4: 50.0}
    assert series["custom/loss"] == {4: 2.0}
    assert "test/ours" not in series and "test/unspoken" not in series


@pytest.fixture
def two_metrics(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two entries of our own, so that the test does not depend on today's families."""
    from rollscope.catalog import spec
    from rollscope.catalog.names import index
    from rollscope.catalog.spec import Name

    index.indexes()  # the families are read first, then ours are added
    monkeypatch.setattr(index, "METRICS", dict(spec.METRICS))
    monkeypatch.setattr(spec, "METRICS", index.METRICS)
    text = "Meaning.\n\nDefinition: d.\n\nRead: r.\n\nCheck: c."
    spec.record(
        "test/ours",
        text,
        unit="share",
        good="up",
        needs=(),
        kind="mean",
        names=[Name("verl", "actor/theirs", scale=100.0)],
        producer="trainer",
    )
    spec.record("test/unspoken", text, unit="share", good="up", needs=(), kind="mean", producer="trainer")
    index.indexes.cache_clear()
    yield
    index.indexes.cache_clear()


@every
def test_closing_twice_is_allowed_and_writing_after_it_is_not(name: str, info: dict[str, Any]) -> None:
    sink = make(name, info)
    sink.write(ROWS[:1])
    sink.close()
    sink.close()
    with pytest.raises(Exception, match="clos"):
        sink.write(ROWS[1:2])


@every
def test_every_table_may_be_written_and_an_empty_batch_too(name: str, info: dict[str, Any]) -> None:
    from rich.console import Console

    from rollscope.store.schema import TABLES

    screen = io.StringIO()
    sink = make(name, info, **({"console": Console(file=screen)} if name == "console" else {}))
    sink.write([])
    sink.write([Row(table, 1, 10**18, {}) for table in TABLES])
    sink.write([Row("metrics", 2, 10**18, {"loss": 0.5})])
    sink.close()
    if name == "console":
        assert "step 2" in screen.getvalue() and "0.5" in screen.getvalue()
    else:
        reader = READERS.get(name, prometheus)
        assert reader(Path(info["dir"])) == {"loss": {2: 0.5}}, "no number is made up, and later rows arrive"


@pytest.mark.parametrize("name", ["jsonl", "tensorboard", "mlflow", "prometheus"])
def test_a_folder_that_cannot_be_written_raises_to_the_recorder(
    name: str, info: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Exception, match=r"Not a directory|File exists|NotADirectory"):
        make(name, {**info, "dir": str(tmp_path / "file" / "below")}).write(ROWS)


def test_an_unknown_sink_is_an_error_that_lists_the_sinks(info: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="tensorboard"):
        make("tensorbord", info)


def test_a_missing_library_says_what_to_install(info: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SINKS, "wandb", "no_such_tracker:Sink")
    with pytest.raises(MissingExtra, match=r"rollscope\[wandb\]"):
        make("wandb", info)


def test_the_table_is_read_without_importing_a_library() -> None:
    import subprocess
    import sys

    peers = ("wandb", "swanlab", "trackio", "mlflow", "rich", "tensorboard", "prometheus_client")
    code = f"import sys, rollscope.sinks.registry; print([m for m in {peers} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@every
def test_every_entry_of_the_table_exists(name: str) -> None:
    module, _, cls = SINKS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), cls))


def test_jsonl_keeps_every_table_integers_exactly_and_odd_texts(info: dict[str, Any]) -> None:
    import json

    odd = {"id": "s", "completion": "lone \ud800 and \x00", "messages": [{"role": "user"}]}
    sink = make("jsonl", info)
    sink.write([*ROWS, Row("samples", 1, 1, odd)])
    sink.close()
    rows = [json.loads(line) for line in next(Path(info["dir"]).glob("rows.*")).read_text().splitlines()]
    assert [row["table"] for row in rows] == [*(row.table for row in ROWS), "samples"]
    assert rows[0]["data"]["count"] == 2**53 + 1 and rows[0]["data"]["nothing"] is None
    assert rows[1]["data"]["custom/loss"] == "NaN" and rows[2]["data"]["custom/loss"] == "Infinity"
    assert rows[3]["data"] == SAMPLE and rows[-1]["data"] == odd


def test_console_prints_one_short_table_a_step(info: dict[str, Any]) -> None:
    from rich.console import Console

    screen = io.StringIO()
    sink = make("console", info, console=Console(file=screen, width=100), every=2)
    data = {"reward/mean": 0.5, "x": None, **{f"m{i}": i for i in range(30)}}
    sink.write([*(Row("metrics", step, 0, data) for step in range(4)), ROWS[4]])
    text = screen.getvalue()
    assert text.count("step ") == 2 and all(word in text for word in ("reward/mean", "and 22 more", "lowered lr", "–"))
    assert len(text.splitlines()) < 30
    sink.close()


def test_tensorboard_keeps_the_time_of_the_log_call_and_shows_samples_as_text(info: dict[str, Any]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    written("tensorboard", info)
    events = EventAccumulator(info["dir"] + "/tensorboard")
    events.Reload()
    assert [e.wall_time for e in events.Scalars("policy/entropy")] == [1e9, 1e9 + 1, 1e9 + 2]
    text = events.Tensors("samples/s1")[0].tensor_proto.string_val[0].decode()
    assert "    <b>4</b>" in text and "2+2" in text  # indented: code in markdown, never markup


def test_wandb_has_the_config_the_step_axis_and_a_table_of_samples(info: dict[str, Any]) -> None:
    written("wandb", info)
    records = wandb_records(Path(info["dir"]))
    assert any(item.key == "lr" for record in records for item in record.run.config.update)
    axes = {(record.metric.glob_name, record.metric.step_metric) for record in records if record.metric.glob_name}
    assert axes == {("*", "rollscope/step")}
    table = next(Path(info["dir"]).glob("wandb/offline-run-*/files/media/table/samples_*.json")).read_text()
    assert "<b>4</b>" in table and '"columns"' in table


def test_trackio_has_a_table_of_samples_and_the_config(info: dict[str, Any]) -> None:
    written("trackio", info)
    db = sqlite3.connect(Path(os.environ["TRACKIO_DIR"]) / f"{info['project']}.db")
    blobs = [m if isinstance(m, bytes) else m.encode() for (m,) in db.execute("select metrics from metrics")]
    tables = [blob for blob in blobs if b"samples" in blob]
    (config,) = db.execute("select config from configs").fetchone()
    db.close()
    assert len(tables) == 1 and b"2+2" in tables[0]
    assert "lr" in (config.decode() if isinstance(config, bytes) else config)


def test_mlflow_has_the_config_and_names_in_its_own_characters(info: dict[str, Any]) -> None:
    from mlflow import MlflowClient

    rows = [Row("metrics", 1, 10**18, {"val/acc/mean@8": 0.5, **{f"m/{i}": float(i) for i in range(1500)}})]
    series = written("mlflow", info, rows)
    assert series["val/acc/mean_at_8"] == {1: 0.5} and series["m/1499"] == {1: 1499.0}
    client = MlflowClient(f"sqlite:///{info['dir']}/mlflow.db")
    run = client.search_runs([client.get_experiment_by_name(info["project"]).experiment_id])[0]
    assert run.data.params == {"lr": "0.001", "model/layers": "2"} and run.info.status == "FINISHED"


def test_prometheus_shows_the_latest_step_in_a_file_and_on_a_port(info: dict[str, Any]) -> None:
    from urllib.request import urlopen

    from prometheus_client.parser import text_string_to_metric_families

    sink = make("prometheus", info)
    sink.write(ROWS)
    sink.close()
    served = make("prometheus", info, port=0)
    served.write(ROWS)
    page = urlopen(f"http://127.0.0.1:{served.port}/metrics").read().decode()
    served.close()
    for text in ((Path(info["dir"]) / "metrics.prom").read_text(), page):
        samples = {s.name: s for family in text_string_to_metric_families(text) for s in family.samples}
        entropy = samples["rollscope_policy_entropy"]
        assert entropy.value == 1.25  # of step 3: the late step 2 does not replace it
        assert entropy.labels == {"run": "r1", "project": info["project"], "name": "policy/entropy"}
        assert math.isnan(samples["rollscope_custom_loss"].value) and samples["rollscope_step"].value == 3
