"""Dumps of frameworks become samples: text, tokens, groups, rewards, versions, turns and spans."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollscope.store.store import open as open_runs
from tests.recorded import held, recorded
from tests.sources.conftest import Imported
from tests.sources.dump_files import CHAT, WRITERS, episode, slime_samples, write_lines

FRAMEWORKS = sorted(WRITERS)


class World:
    """A folder for each framework, and the runs they are imported into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = {name: WRITERS[name](root / "dumps" / name) for name in FRAMEWORKS}
        self.imported = Imported(root / "runs")

    def take(self) -> Any:
        return self.imported.take(self.root / "dumps")

    def id(self, name: str) -> str:
        (id,) = [id for id in self.imported.ids() if id.rpartition("-")[0] == name]
        return id

    def samples(self, name: str, split: str = "train") -> list[dict[str, Any]]:
        """The samples of a run, as the store merges them, in the order of their ids."""
        stored = self.imported.run(self.id(name)).samples()
        rows = [{column: _plain(values[i]) for column, values in stored.items()} for i in range(len(stored["id"]))]
        return sorted((row for row in rows if row["split"] == split), key=lambda row: str(row["id"]))


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and value != value else value


def split_of(name: str) -> str:
    return "eval" if name == "skyrl" else "train"  # SkyRL's batches have no text


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    assert not world.take().skipped
    yield world


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_folder_is_one_run_with_groups_and_rewards(name: str, world: World) -> None:
    two = [row for row in world.samples(name, split_of(name)) if row["step"] == 3 and row["completion"]]
    assert [row["reward"] for row in two] == [1.0, 0.0] and len({row["group"] for row in two}) == 1
    assert len({row["task"] for row in two}) == 1  # tinker does not say which task it was
    facts = next(run for run in open_runs(world.imported.root).runs() if run.id == world.id(name))
    assert facts.framework == name


def test_slime_has_tokens_versions_masks_and_what_training_added(world: World) -> None:
    first, second = world.samples("slime")
    assert first["token_ids"] == [3, 4, 5] and first["action_mask"] == [1, 0, 1] and first["completion_tokens"] == 2
    assert first["rollout_logp"] == [-0.5, -0.25, -0.125] == second["rollout_logp"]
    assert (first["policy_version_min"], first["policy_version_max"]) == (5, 6)
    assert first["old_logp"] == [-0.5, -0.25, -0.25] and first["advantage"] == 1.0 and first["trained"]
    assert (second["stop_reason"], second["trained"], second["discard_reason"]) == ("length", False, "removed")
    assert second["rewards"] == {"score": 0.0, "format": 0.5}
    assert first["answer"] == "4" and first["sample_metrics"] == {"difficulty": 3.0}
    assert len(world.samples("slime", "eval")) == 1


def test_miles_joins_messages_and_train_data_by_index(world: World) -> None:
    first, _ = world.samples("miles")
    assert first["id"] == "train/3/40" and first["old_logp"] == [-0.5, -0.25, -0.25] and first["turns"] == 2


@pytest.mark.parametrize("name", ["miles", "roll", "nemo_rl", "prime_rl", "art", "rllm"])
def test_a_conversation_becomes_turns_with_tools(name: str, world: World) -> None:
    turns = world.imported.table("turns", world.id(name))
    one = [turn for turn in turns if turn["sample"] == turns[0]["sample"]]
    assert [turn["role"] for turn in one[:4]] == ["user", "assistant", "tool", "assistant"]
    assert (one[2]["tool"], one[2]["arguments"], one[2]["result"]) == ("add", '{"a": 2}', "4")


def test_nemo_rl_has_both_log_probabilities_and_says_what_was_masked(world: World) -> None:
    first, second = world.samples("nemo_rl")
    assert first["token_ids"] == [3, 4] and first["prompt_tokens"] == 2
    assert (first["rollout_logp"], first["old_logp"]) == ([-0.5, -0.25], [-0.5, -0.5])
    assert (first["trained"], second["trained"], second["discard_reason"]) == (True, False, "masked")


def test_prime_rl_joins_what_was_generated_and_what_was_trained(world: World) -> None:
    failed, first, second = world.samples("prime_rl")
    assert failed["error"] == "SandboxError: no box" and failed["reward"] is None
    assert first["trained"] and second["trained"] is None and first["rewards"] == {"right": 1.0, "short": 0.5}
    assert (first["policy_version_min"], first["policy_version_max"], first["answer"]) == (2, 3, "4")
    assert first["token_ids"] == [1, 11, 2, 12, 3, 13] and first["action_mask"] == [1, 1, 0, 0, 1, 1]
    assert first["rollout_logp"] == [-0.5, -0.5, 0.0, 0.0, -0.5, -0.5]
    assert (first["generate_seconds"], first["reward_seconds"]) == (2.5, 0.5)


@pytest.mark.parametrize(
    ("name", "metric", "split"),
    [
        ("prime_rl", "reward/mean", "train"),
        ("tinker", "env/all/reward/total", "train"),
        ("swift", "reward", "train"),
        ("art", "train/reward", "train"),
        ("skyrl", "eval/sums/avg_score", "eval"),
    ],
)
def test_numbers_beside_the_samples_are_in_the_same_run(name: str, metric: str, split: str, world: World) -> None:
    series = world.imported.run(world.id(name)).series(metric, split=split)
    assert (series["step"].tolist(), series["value"].tolist()) == ([3], [0.5])


def test_spans_of_tinker(world: World) -> None:
    (span,) = world.imported.table("spans", world.id("tinker"))
    assert span["name"] == "sampling" and span["end_ns"] - span["start_ns"] == 2_000_000_000


def test_what_grows_or_is_written_again_is_not_doubled(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.take()
    counts = {name: len(world.samples(name, split_of(name))) for name in FRAMEWORKS}
    again = world.take()
    assert all(new == {"values": 0, "rows": 0} for new in again.runs.values()) and not again.skipped
    grown = dict.fromkeys(("nemo_rl", "skyrl", "areal", "prime_rl", "tinker"), 1) | {"swift": 2, "roll": 2}
    for name, path in world.paths.items():
        if name in grown:
            first = path.read_text().splitlines(keepends=True)[0]
            for old, new in (('"t0"', '"t9"'), ('"traj_idx": 0', '"traj_idx": 9'), ('"5"], "Acc', '"6"], "Acc')):
                first = first.replace(old, new)
            path.write_text(path.read_text() + first)
        else:
            os.utime(path, ns=(1, 1))
    world.take()
    assert {name: len(world.samples(name, split_of(name))) - counts[name] for name in FRAMEWORKS} == {
        name: grown.get(name, 0) for name in FRAMEWORKS
    }


def test_rollouts_that_ms_swift_writes_again_are_not_doubled(tmp_path: Path) -> None:
    """It writes its latest rollouts whenever it logs, and once more at the end."""
    file, imported = WRITERS["swift"](tmp_path / "dumps"), Imported(tmp_path / "runs")
    first = json.loads(file.read_text())
    half = {name: [column[1], "6" if name == "completion" else column[1]] for name, column in first.items()}
    lines = [json.dumps(row) + "\n" for row in (first, {**first, "step": ["4", "4"]}, half, half)]
    for count in range(1, len(lines) + 1):  # the file grows
        file.write_text("".join(lines[:count]))
        assert not imported.take(tmp_path / "dumps").skipped
        found = imported.run().samples()
        told = sorted(zip(found["step"].tolist(), found["completion"], strict=True))
        assert told == [(3, "4"), (3, "5"), *([(3, "6")] if count > 2 else [])]


def test_the_summary_of_ms_swift_is_no_fault(tmp_path: Path) -> None:
    imported = Imported(tmp_path / "runs")
    file = WRITERS["swift"](tmp_path / "dumps").parent / "logging.jsonl"
    with file.open("a") as more:
        more.write(json.dumps({"memory": 1.5, "log_history": [{"loss": 1.0}], "last_model_checkpoint": "x"}) + "\n")
    assert not imported.take(tmp_path / "dumps").skipped


def test_a_damaged_file_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    world = World(tmp_path)
    for path in world.paths.values():
        raw = path.read_bytes()
        path.write_bytes(raw[: len(raw) - 20])
    report = world.take()
    assert {str(path) for path in world.paths.values()} <= {str(item.path) for item in report.skipped}
    assert not any("Please report" in item.why for item in report.skipped)
    assert len(world.samples("areal")) == 1 and len(world.samples("rllm")) == 1


HOSTILE: list[Any] = [
    *(None, [], {}, "x", -1, 1e308, [[[]]], {"a": {"b": []}}, True, "\ud800"),
    *([None], [{"role": 1}], 10**400),
]


def test_hostile_rows_never_break_an_import(tmp_path: Path) -> None:
    """Each value of a good row is replaced by each of many bad ones, at every level."""
    world = World(tmp_path)
    for name in sorted(set(FRAMEWORKS) - {"slime", "art"}):
        path = world.paths[name] if name != "miles" else tmp_path / "dumps" / "miles" / "trajectory" / "3.jsonl"
        whole = path.suffix == ".json"
        good = json.loads(path.read_text() if whole else path.read_text().splitlines()[0])
        bad = [changed for value in HOSTILE for changed in _each_replaced(good, value)]
        if whole:
            for i, row in enumerate(bad[::7]):
                (path.parent / f"episode_hashabc_idx{i}.json").write_text(json.dumps(row))
        else:
            write_lines(path, good, *bad)
    report = world.take()
    assert not [item for item in report.skipped if "Please report" in item.why]
    assert {str(path) for path in world.paths.values()} <= set(report.files)


def _each_replaced(value: Any, by: Any, depth: int = 5) -> list[Any]:
    """Copies of a value in which one inner value is another one."""
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return []
    copies = []
    for key in list(value) if isinstance(value, dict) else [0]:
        for inner in [by, *_each_replaced(value[key], by, depth - 1)]:
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = inner
            copies.append(copy)
    return copies


class Evil:
    def __reduce__(self) -> Any:
        return (os.system, ("touch /tmp/rollscope-dump-was-here",))


def test_nothing_in_a_file_of_torch_runs_and_what_is_no_dump_is_reported(tmp_path: Path, imported: Any) -> None:
    import torch

    folder = tmp_path / "rollout_data"
    folder.mkdir()
    first, second = slime_samples()
    torch.save({"rollout_id": 3, "samples": [{**first, "metadata": {"x": Evil()}}, second]}, folder / "3.pt")
    for i, content in enumerate([[1, 2], {"samples": 3}, {"samples": ["x", 3]}, Evil(), {"a": Evil()}], 4):
        with zipfile.ZipFile(folder / f"{i}.pt", "w") as archive:
            archive.writestr("x/data.pkl", pickle.dumps(content, protocol=2))
    report = imported.take(tmp_path)
    assert len(imported.table("samples")) == 2 and not Path("/tmp/rollscope-dump-was-here").exists()
    assert {item.path.name for item in report.skipped} == {f"{i}.pt" for i in range(4, 9)}
    assert not [item for item in report.skipped if "Please report" in item.why]


def test_other_files_of_prime_rl_and_verifiers(tmp_path: Path, imported: Any) -> None:
    known = {"schema_version": 1, "step": 3, "token_ids": [1, 2, 3], "loss_mask": [False, True, True]}
    streams = {"advantages": [0.5] * 3, "inference_logprobs": [0.0, -0.5, -0.25], "entropy": [0.0, 0.1, 0.2]}
    row = {**known, **streams, "trainer_logprobs": [0.0, -0.5, -0.5], "env_name": "sums"}
    write_lines(tmp_path / "run" / "token_exports" / "step_3" / "rank_0.jsonl", row)
    looped = episode(0)
    for node in looped["traces"][0]["nodes"]:
        node["parent"] = 3
    write_lines(tmp_path / "evaluation" / "traces.jsonl", looped)
    imported.take(tmp_path)
    evaluation, exported = imported.ids()
    (one,) = imported.table("samples", exported)
    assert ([*one["rollout_logp"]], [*one["logp"]], one["env"]) == ([-0.5, -0.25], [-0.5, -0.5], "sums")
    (one,) = imported.table("samples", evaluation)
    assert (one["split"], one["completion"]) == ("eval", CHAT[-1]["content"])


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_import_that_broke_off_goes_on_in_the_middle_of_a_file(form: str, tmp_path: Path) -> None:
    """The rows before the last mark are kept, and none is imported twice."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rollscope.sources import Mark, Records, rollouts

    rows = [{"prompt": f"q{i}", "completion": "a" * 100, "reward": float(i)} for i in range(3500)]
    path = write_lines(tmp_path / f"d.{form}", *rows)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=1000)
    items = list(rollouts.rows(path, {}))
    run, marks = items[0], [i for i, item in enumerate(items) if isinstance(item, Mark)]
    middle = marks[len(marks) // 3]
    after = rollouts.rows(path, {run.id: json.loads(json.dumps(items[middle].cursor))})
    told = [row["prompt"] for item in [*items[:middle], *after] if isinstance(item, Records) for row in item.rows]
    assert told == [f"q{i}" for i in range(3500)]
    assert 0 < items[middle].done < items[middle].total


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_table_says_what_is_recorded(name: str, world: World) -> None:
    assert recorded(world.imported.run(world.id(name))) == held(name)
