"""`rollscope import wandb://...`: the wandb library asks a small server of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.store import store as rs
from tests.sources.wandb_server import Held, serving

STEPS = 2500  # three pages
TABLE = {"columns": ["prompt", "completion", "reward"], "data": [["2+2", "4", 1.0], ["3+4", "7", 0.5]]}

GROWN = {"columns": TABLE["columns"], "data": [*TABLE["data"], ["5+6", "11", 1.0]]}


def held(steps: int = STEPS) -> Held:
    rows: list[dict[str, Any]] = [{"_step": i, "_timestamp": 1.7e9 + i, "loss": 1 / (i + 1)} for i in range(steps)]
    rows[7] |= {"nested": {"x": 3}, "odd": "NaN", "text": "hello"}
    rows[9]["generated"] = {"_type": "table-file", "path": "media/table/generated.table.json", "nrows": 2}
    rows[-1]["generated"] = {"_type": "table-file", "path": "media/table/grown.table.json", "nrows": 3}
    rows[11]["evil"] = {"_type": "table-file", "path": "../../../../etc/passwd"}
    files = {
        "media/table/generated.table.json": json.dumps(TABLE).encode(),
        "media/table/grown.table.json": json.dumps(GROWN).encode(),
        "output.log": b"hello\n",
        "../../outside.txt": b"out",
        "/outside.txt": b"out",
    }
    return Held(rows, {"lr": 0.1, "model": {"layers": 2}}, files=files)


def take(url: str, tmp_path: Path, address: str = "wandb://team/countdown", **env: str) -> Any:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("WANDB")}
    home = {"HOME": str(tmp_path), "WANDB_CACHE_DIR": str(tmp_path / "cache"), "WANDB_DIR": str(tmp_path)}
    login = {"WANDB_BASE_URL": url, "WANDB_API_KEY": "a" * 40, "WANDB_SILENT": "true", "WANDB__SERVICE_WAIT": "300"}
    words = [sys.executable, "-m", "rollscope", "import", address, "--dir", str(tmp_path / "runs"), "--json"]
    environment = {**clean, **home, **login, **env}
    return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240)


def test_history_config_tables_and_files_come_whole_and_once(tmp_path: Path) -> None:
    there = held()
    with serving(there) as url:
        done = take(url, tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        run = rs.open(tmp_path / "runs").run()
        loss = run.series("loss")
        assert dict(zip(loss["step"].tolist(), loss["value"].tolist(), strict=True)) == {
            i: 1 / (i + 1) for i in range(STEPS)
        }
        facts = run.record()
        assert (facts["name"], facts["project"], facts["group"], facts["tags"]) == ("first", "countdown", "g", ["a"])
        assert run.config == {"lr": 0.1, "model": {"layers": 2}} and run.series("nested.x")["value"].tolist() == [3.0]
        assert list(run.samples(columns=["completion"])["completion"]) == ["4", "7", "11"]
        files = Path(run.path) / "files"
        assert (files / "output.log").read_bytes() == b"hello\n"
        said = json.loads(done.stdout)
        skipped = " ".join(one["why"] for one in said["skipped"])
        assert skipped.count("outside of the run's folder") == 2 and "'text' holds the text 'hello'" in skipped
        assert not list(tmp_path.rglob("outside.txt"))

        there.history.append({"_step": STEPS, "_timestamp": 1.7e9, "loss": 5.0})
        there.asked.clear()
        again = json.loads(take(url, tmp_path, "wandb://team/countdown/abc123").stdout)
    assert again["runs"][0]["values"] == 1 and min(there.asked) == STEPS
    run = rs.open(tmp_path / "runs").run()
    assert len(run.series("loss")["step"]) == STEPS + 1 and list(run.notes()["text"]).count("a note") == 1


def test_a_run_that_cannot_be_read_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    there = held(20)
    there.gone = "gone1"
    with serving(there) as url:
        done = take(url, tmp_path)
    said = json.loads(done.stdout)
    assert len(said["runs"]) == 1 and len(rs.open(tmp_path / "runs").run().series("loss")["step"]) == 20
    assert sum(one["why"].startswith("gone1: the run cannot be read (") for one in said["skipped"]) == 1, said[
        "skipped"
    ]


def test_machines_artifacts_and_values_with_an_axis_of_their_own_are_where_they_belong(tmp_path: Path) -> None:
    there = held(20)
    there.history = [{"_step": i, "_timestamp": 1.7e9, "train/step": 10 * i, "train/loss": i / 2} for i in range(3)]
    there.history[2] |= {"eval/step": 1, "eval/score": 0.5}
    there.axes = [{"1": "train/step", "6": [3]}, {"2": "*", "5": 1}, {"1": "eval/step"}, {"2": "eval/*", "5": 3}]
    there.axes += [{"2": "odd/*", "5": 99}, {"5": 1}]  # an axis that is not there, and one of nothing
    there.system = [{"_timestamp": 1.7e9 + i, "_runtime": i, "system.gpu.0.temp": 50.0 + i} for i in range(2)]
    there.artifacts = ["policy"]
    with serving(there) as url:
        assert "artifacts could" not in take(url, tmp_path).stdout
        there.artifacts.append("critic")
        there.system.append({"_timestamp": 1.7e9 + 2, "system.cpu": 9.0, "system.name": "no number"})
        assert take(url, tmp_path).returncode == 0
    run = rs.open(tmp_path / "runs").run()
    assert run.series("train/loss")["step"].tolist() == [0, 10, 20]
    placed = run.sql("SELECT step, clock FROM metrics WHERE name = 'eval/score'")
    assert (placed["step"].tolist(), list(placed["clock"])) == ([1], ["eval/step"])
    host = run.sql("SELECT device, name, value FROM host ORDER BY time_ns")
    assert list(host["name"]) == ["gpu.0.temp", "gpu.0.temp", "cpu"] and host["value"].tolist() == [50.0, 51.0, 9.0]
    assert list(host["device"]) == ["gpu.0", "gpu.0", "system"]
    said = [text for text in run.notes()["text"] if "artifact" in text]
    assert said == [f"artifact {name}:v3 (model, 1,234 bytes) stays at W&B" for name in ("policy", "critic")]


def test_an_import_that_breaks_off_goes_on_from_what_it_kept(tmp_path: Path) -> None:
    there = held()
    there.fails_from = 2000
    with serving(there) as url:
        done = take(url, tmp_path)
        assert "importing again goes on" in done.stdout and "Traceback" not in done.stderr, done.stderr[-3000:]
        there.fails_from = 1 << 60
        assert take(url, tmp_path).returncode == 0
    points = rs.open(tmp_path / "runs").run().series("loss")
    assert points["step"].tolist() == list(range(STEPS)) and points["value"].tolist() == [
        1 / (i + 1) for i in range(STEPS)
    ]


def test_without_a_login_or_with_a_key_that_is_refused_a_sentence_says_what_to_do(tmp_path: Path) -> None:
    there = held(20)
    there.viewer = False
    with serving(there) as url:
        for env in ({"WANDB_API_KEY": ""}, {}):
            done = take(url, tmp_path, **env)
            assert done.returncode == 2 and "wandb login" in done.stdout, (done.stdout, done.stderr[-2000:])
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ["wandb://", "wandb://team", "wandb://a/b/c/d", "wandb://../x", "s3://a/b"])
def test_an_address_that_is_none_is_answered_with_what_was_expected(address: str, tmp_path: Path) -> None:
    done = take("http://127.0.0.1:9", tmp_path, address)
    assert done.returncode == 2 and "expected wandb://entity/project" in done.stderr
    assert not (tmp_path / "runs").exists()
