"""Files that are cut off, damaged or odd: good parts are imported, bad ones are reported.

A report names the file and the byte. Nothing raises.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
HISTORY = [{"step": i, "loss": 1 / i, "reward": i / 10, "epoch": i / 5} for i in range(1, 31)]


def reported(report: Any, *words: str) -> bool:
    print(*report.skipped, sep="\n")  # shown if the test fails
    return any(all(word in str(item) for word in words) for item in report.skipped)


@pytest.mark.parametrize("name", ["log_history.json", "trainer_state.json", "export.json"])
def test_a_json_list_that_is_cut_off_gives_its_complete_entries(name: str, tmp_path: Path, imported: Any) -> None:
    state = {"epoch": 1.0, "log_history": HISTORY} if name == "trainer_state.json" else HISTORY
    text, file = json.dumps(state, indent=1), tmp_path / name
    at = text.index('"step": 21')
    file.write_text(text[: at + 4])
    report = imported.take(file)
    assert imported.series("loss") == {i: 1 / i for i in range(1, 21)}
    (item,) = report.skipped
    assert item.path == file and item.offset == text.rindex("{", 0, at) and "not valid JSON" in item.why


def test_damage_inside_a_json_list_loses_one_entry(tmp_path: Path, imported: Any) -> None:
    text, file = json.dumps(HISTORY), tmp_path / "log_history.json"
    file.write_text(text.replace('"step": 7,', '"step" 7,'))
    report = imported.take(file)
    assert set(imported.series("loss")) == set(range(1, 31)) - {7} and reported(report, "not valid JSON", "at byte")


def test_a_growing_list_is_continued_where_it_was_cut(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log_history.json"
    file.write_text(json.dumps(HISTORY[:20])[:-4])
    imported.take(file)
    file.write_text(json.dumps(HISTORY))
    imported.take(file)
    assert imported.series("loss") == {i: 1 / i for i in range(1, 31)}


ODD_LINES: list[tuple[str, str, dict[int, float]]] = [
    ("byte order mark", '\ufeff{"step": 1, "a": 2}\n', {1: 2.0}),
    ("windows lines", '{"step": 1, "a": 2}\r\n{"step": 2, "a": 3}\r\n', {1: 2.0, 2: 3.0}),
    (
        "not numbers",
        '{"step": 1, "a": NaN}\n{"step": 2, "a": Infinity}\n{"step": 3, "a": "-Infinity"}\n{"step": 4, "a": null}\n',
        {1: math.nan, 2: math.inf, 3: -math.inf},
    ),
    ("same step twice", '{"step": 1, "a": 2}\n{"step": 1, "a": 5}\n', {1: 5.0}),
    ("steps out of order", '{"step": 9, "a": 9}\n{"step": 3, "a": 3}\n', {3: 3.0, 9: 9.0}),
    ("no step", '{"a": 5}\n{"a": 6}\n', {0: 5.0, 1: 6.0}),
    (
        "steps that are not numbers",
        '{"step": NaN, "a": 1}\n{"step": 1e400, "a": 2}\n{"step": 1e30, "a": 3}\n{"step": "x", "a": 4}\n',
        {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0},
    ),
    ("a number too large for a float", '{"step": 1, "a": 1' + "0" * 400 + "}\n", {1: math.inf}),
    (
        "numbers as texts",
        '{"step": 1, "a": "0.5"}\n{"step": 2, "a": "np.float32(1.5)"}\n{"step": 3, "a": "tensor(2.5)"}\n',
        {1: 0.5, 2: 1.5, 3: 2.5},
    ),
    ("a long line", '{"step": 1, "a": 2, "text": "' + "x" * 20_000_000 + '"}\n{"step": 2, "a": 3}\n', {1: 2.0, 2: 3.0}),
    ("a damaged line", '{"step": 1, "a": 2}\n{"step": 2, "a"\n{"step": 3, "a": 4}\n', {1: 2.0, 3: 4.0}),
    ("lines that are not objects", '{"step": 1, "a": 2}\n[1, 2]\n"text"\n7\n{"step": 3, "a": 4}\n', {1: 2.0, 3: 4.0}),
    ("bytes that are not text", '{"step": 1, "a": 2}\n\udcff\udcfe\n{"step": 3, "a": 4}\n', {1: 2.0, 3: 4.0}),
    (
        "nested too deeply",
        '{"step": 1, "a": 2}\n' + '{"b":' * 100_000 + "1" + "}" * 100_000 + '\n{"step": 3, "a": 4}\n',
        {1: 2.0, 3: 4.0},
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(text, expected, id=id) for id, text, expected in ODD_LINES]
)
def test_odd_lines_of_json(text: str, expected: dict[int, float], tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    report = imported.take(file)
    assert imported.series("a") == pytest.approx(expected, nan_ok=True) and not reported(report, "Please report")


def test_names_in_any_script_are_kept(tmp_path: Path, imported: Any) -> None:
    names = ["損失", "потеря/σ²", "a b\tc", "🙂", "quote\"'", "../../etc", "\ud800 alone", "", "x" * 3000]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({"step": i, name: 1.0}) + "\n" for i, name in enumerate(names)))
    imported.take(file)
    replaced = {name.encode("utf-8", "replace").decode() for name in names}
    assert imported.names() in (set(names), replaced)


def test_nested_values_have_paths(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"step": 1, "actor": {"loss": {"pg": 2}}, "list": [1, 2], "empty": {}}\n')
    assert reported(imported.take(file), "'list'", "not a number") and imported.names() == {"actor/loss/pg"}


CSV = [
    ("mark and windows lines", "\ufeffstep,a\r\n1,2\r\n2,3\r\n", {1: 2.0, 2: 3.0}),
    ("empty and not numbers", "step,a\n1,\n2,nan\n3,inf\n4,text\n", {2: math.nan, 3: math.inf}),
    ("short and long rows", "step,a\n1,2\n2\n3,4,5\n4,6\n", {1: 2.0, 4: 6.0}),
    ("a null byte", "step,a\n1,2\n2,\0\n3,4\n", {1: 2.0, 3: 4.0}),
    ("an open quote", 'step,a\n1,2\n2,"3\n3,4\n', {1: 2.0}),
    ("a cell of a megabyte", "step,a,t\n1,2," + "x" * 1_000_000 + "\n2,3,y\n", {1: 2.0, 2: 3.0}),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(text, expected, id=id) for id, text, expected in CSV])
def test_odd_tables(text: str, expected: dict[int, float], tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.csv"
    file.write_bytes(text.encode())
    report = imported.take(file)
    assert imported.series("a") == pytest.approx(expected, nan_ok=True) and not reported(report, "Please report")


def good_files(folder: Path) -> dict[str, Path]:
    """One small file of each binary kind that can be written without a tracker."""
    names = {"parquet": "r.parquet", "arrow": "d.arrow", "trace": "t.json", "sqlite": "explorer_output.db"}
    files = {kind: folder / name for kind, name in names.items()}
    table = pa.table({"prompt": ["p"] * 300, "completion": [f"c{i}" for i in range(300)]})
    pq.write_table(table, files["parquet"], row_group_size=100)
    with pa.OSFile(str(files["arrow"]), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, 50)
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": i, "dur": 1} for i in range(40)]
    files["trace"].write_text(json.dumps({"traceEvents": events}))
    shutil.copy(GOLDEN / "trinity" / "explorer_output.db", files["sqlite"])
    (files["tensorboard"],) = [Path(shutil.copy(p, folder)) for p in sorted(GOLDEN.glob("trl/grpo/**/*tfevents*"))[:1]]
    files["trackio"] = Path(shutil.copy(GOLDEN / "trackio" / "trl-run.db", folder / "trl-run.db"))
    return files


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def flipped(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def overwritten(data: bytes, draw: random.Random) -> bytes:
    at, noise = draw.randrange(len(data)), draw.randbytes(draw.randrange(1, 300))
    return data[:at] + noise + data[at + len(noise) :]


@pytest.mark.parametrize("harm", [cut, flipped, overwritten])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "trace", "sqlite", "tensorboard", "trackio"])
def test_no_damage_raises_and_importing_again_adds_nothing(
    kind: str, harm: Callable[[bytes, random.Random], bytes], tmp_path: Path, imported: Any
) -> None:
    (tmp_path / "good").mkdir()
    file, draw = good_files(tmp_path / "good")[kind], random.Random(f"{kind}{harm.__name__}")
    data = file.read_bytes()
    for i in range(6):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / file.name).write_bytes(harm(data, draw))
        report = imported.take(folder)
        assert not reported(report, "Please report"), report.skipped
        again = imported.take(folder)
        assert all(run == {"values": 0, "rows": 0} for run in again.runs.values())


def test_a_damaged_row_group_loses_only_its_own_rows(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "r.parquet"
    table = pa.table({"prompt": ["p"] * 300, "completion": [f"c{i}" for i in range(300)]})
    pq.write_table(table, file, row_group_size=100, compression="zstd")
    about = pq.ParquetFile(file).metadata.row_group(1).column(1)
    data = bytearray(file.read_bytes())
    begin = about.dictionary_page_offset or about.data_page_offset
    data[begin : begin + about.total_compressed_size] = bytes(about.total_compressed_size)
    file.write_bytes(data)
    report = imported.take(file)
    assert reported(report, "row group 1 is damaged") and len(imported.table("samples")) == 200


def test_a_mixed_folder_imports_what_is_known(tmp_path: Path, imported: Any) -> None:
    folder = tmp_path / "in"
    (folder / "deep" / "deeper").mkdir(parents=True)
    good_files(folder)
    (folder / "notes.txt").write_text("nothing\n")
    (folder / "empty.jsonl").write_text("")
    (folder / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (folder / "wrong.parquet").write_text('{"step": 1}\n')
    (folder / "run.wandb").write_bytes(b"nothing like it")
    (folder / "log.jsonl.gz").write_bytes(gzip.compress(b'{"step": 1, "a": 2}\n'))
    (folder / "deep" / "deeper" / "log.jsonl").write_text('{"step": 1, "a": 2}\n')
    (folder / "deep" / "loop").symlink_to(folder)
    (folder / "deep" / "self").symlink_to("self")
    report = imported.take(folder, tmp_path / "nowhere")
    assert imported.series("a", next(id for id in imported.ids() if id.startswith("log-"))) == {1: 2.0}
    assert len(report.files) == 7 and not reported(report, "Please report")
    for words in (
        ("empty.jsonl", "empty"),
        ("wrong.parquet", "not a format"),
        ("run.wandb", "not a format"),
        ("log.jsonl.gz", "gunzip"),
        ("nowhere", "no such"),
    ):
        assert reported(report, *words), words


def test_a_database_that_is_being_written_is_read_with_its_wal(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "trl-run.db"
    shutil.copy(GOLDEN / "trackio" / "trl-run.db", file)
    db = sqlite3.connect(file)
    db.execute("pragma journal_mode=wal")
    run, stamp = db.execute("select run_name, timestamp from metrics order by id desc limit 1").fetchone()
    more = {}
    if "run_id" in {row[1] for row in db.execute("pragma table_info(metrics)")}:
        more["run_id"] = db.execute("select run_id from metrics order by id desc limit 1").fetchone()[0]
    row = {"run_name": run, "step": 900, "timestamp": stamp, "metrics": '{"train/extra": 4.5}', **more}
    db.execute(f"insert into metrics ({', '.join(row)}) values ({', '.join('?' * len(row))})", list(row.values()))
    db.commit()
    imported.take(file)
    (run,) = [id for id in imported.ids() if "train/extra" in imported.names(id)]
    assert imported.series("train/extra", run) == {900: 4.5}
    db.close()


def test_a_rotated_file_is_read_from_the_start(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({"step": i, "a": float(i)}) + "\n" for i in range(10)))
    imported.take(file)
    file.rename(tmp_path / "log.jsonl.1")
    file.write_text('{"step": 0, "a": 100}\n')
    report = imported.take(file)
    assert reported(report, "rewritten") and imported.series("a") == {0: 100.0}


def test_rows_of_a_growing_file_come_once_each(tmp_path: Path, imported: Any) -> None:
    file, text = tmp_path / "log.jsonl", "".join(json.dumps({"step": i, "a": float(i)}) + "\n" for i in range(30))
    values = 0
    for end in range(7, len(text) + 7, 41):
        file.write_text(text[:end])
        values += sum(run["values"] for run in imported.take(file).runs.values())
    assert values == 30 and imported.series("a") == {i: float(i) for i in range(30)}
