"""The project log: what people say about their runs is kept, can be undone, and is never lost."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.errors import BadInput, CannotWrite, NotFound
from rollscope.store.project import append, entry
from rollscope.store.project.kinds import KINDS
from rollscope.store.project.log import NAME, Change, Conflict, ProjectLog

ONE_OF_EACH = {  # kind -> a name and a value that fit
    "tag": ("r1/ablation/lr", True),
    "rename": ("r1", "grpo, lr 1e-6"),
    "note": ("r1", "the good one"),
    "edit": ("r1/1700000000000000000", "in other words"),
    "archive": ("r1", True),
    "bin": ("r1", {"folder": "0"}),
    "view": ("crashed", {"query": "q=state:crashed"}),
    "board": ("GRPO watch list", {"panels": [{"metrics": ["reward/mean"]}]}),
    "query": ("longest", "SELECT 1"),
    "baseline": ("countdown", "r1"),
    "threshold": ("kl-takeoff/level", 0.2),
    "star": ("r1/12.3/a", True),
    "label": ("r1/hack/12.3", True),
    "comment": ("r1/c1/12.3", "copies the prompt"),
    "set": ("hard ones/r1/12.3", True),
}


@pytest.fixture
def log(tmp_path: Path) -> ProjectLog:
    return ProjectLog(str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_kept_and_taken_away(log: ProjectLog, kind: str) -> None:
    name, value = ONE_OF_EACH[kind]
    log.append(kind, name, value, "ann")
    again = ProjectLog(log.root)
    assert again.current(kind) == {name: value} and again.problems() == []
    log.append(kind, name, None)
    assert again.current(kind) == {}
    assert [said.value for said in again.history(kind, name)] == [value, None]


def test_an_entry_has_its_author_and_its_time(log: ProjectLog) -> None:
    made = log.append("rename", "r1", "x", "ann")
    (held,) = ProjectLog(log.root).holding("rename").values()
    assert held == made and held.author == "ann" and held.time_ns > 1.7e18
    assert log.append("rename", "r1", "y").author  # the user of this process


def test_undo_brings_back_what_held_before_and_undo_of_undo_redoes(log: ProjectLog) -> None:
    log.append("rename", "r1", "first")
    second = log.append("rename", "r1", "second")
    undone = log.undo([second.id], "bob")
    assert log.current("rename") == {"r1": "first"}
    log.undo([undone.id])
    assert log.current("rename") == {"r1": "second"}
    assert [said.id for said in log.history("rename", "r1")][:3:2] == [log.follow()[0].id, undone.id]


def test_fifty_changes_are_undone_at_once(log: ProjectLog) -> None:
    made = log.append_all([Change("archive", f"r{i}", True) for i in range(50)])
    assert len(log.current("archive")) == 50
    log.undo([one.id for one in made])
    assert log.current("archive") == {}


def test_an_entry_that_does_not_exist_cannot_be_undone(log: ProjectLog) -> None:
    with pytest.raises(NotFound, match="no entry 'nope'"):
        log.undo(["nope"])


WRONG = [
    ("tagg", "r1/x", True, "Did you mean 'tag'"),
    ("tag", "r1", True, "RUN/TAG"),
    ("tag", "r1/", True, "RUN/TAG"),
    ("tag", "r1/x", "yes", "true or false"),
    ("rename", "r1", "", "1 to 200"),
    ("rename", "r1", "x" * 201, "1 to 200"),
    ("rename", "r" * 1001, "x", "1,000"),
    ("board", "b", {"panels": 3}, "panels"),
    ("board", "b", {"panels": [3]}, "panels"),
    ("board", "b", {"panels": [{"x": float("nan")}]}, "JSON"),
    ("board", "b", {"panels": [{"x": "x" * (1 << 20)}]}, "bytes"),
    ("threshold", "rule/t", True, "a number"),
]


@pytest.mark.parametrize(("kind", "name", "value", "says"), WRONG, ids=[f"{w[0]} {w[3]}" for w in WRONG])
def test_a_wrong_entry_is_refused_with_a_sentence(
    log: ProjectLog, kind: str, name: str, value: object, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        log.append_all([Change("archive", "r1", True), Change(kind, name, value)])
    assert not os.path.exists(os.path.join(log.root, NAME))


def test_a_deep_value_is_refused(log: ProjectLog) -> None:
    deep: dict[str, object] = {}
    for _ in range(200):
        deep = {"panels": [deep]}
    with pytest.raises(BadInput, match="nested"):
        log.append("board", "b", deep)


def test_two_who_tag_one_run_at_once_both_keep_their_tag(log: ProjectLog) -> None:
    other = ProjectLog(log.root)
    log.append("tag", "r1/mine", True)
    other.append("tag", "r1/yours", True)
    assert log.current("tag") == other.current("tag") == {"r1/mine": True, "r1/yours": True}


def test_the_second_of_two_who_change_one_board_hears_of_it(log: ProjectLog) -> None:
    other = ProjectLog(log.root)
    log.append("board", "b", {"panels": []}, "ann", after="")
    with pytest.raises(Conflict, match="ann changed it"):
        other.append("board", "b", {"panels": [{}]}, "bob", after="")
    seen = other.entry("board", "b")
    assert seen is not None
    other.append("board", "b", {"panels": [{}]}, "bob", after=seen.id)
    assert log.current("board") == {"b": {"panels": [{}]}}


WRITER = """
import sys
from rollscope.store.project.log import ProjectLog
log = ProjectLog(sys.argv[1])
for i in range(int(sys.argv[3])):
    log.append("note", f"{sys.argv[2]}-{i}", "x" * 3000)
    print(i, flush=True)
"""


def test_four_processes_lose_nothing(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", WRITER, str(tmp_path), name, "100"] for name in "abcd"]
    writers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    log = ProjectLog(str(tmp_path))
    assert set(log.current("note")) == {f"{name}-{i}" for name in "abcd" for i in range(100)}
    assert log.problems() == []


def test_a_killed_writer_loses_no_entry_it_was_told_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path), "a", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        kept = 20 + len(writer.stdout.readlines())
    log = ProjectLog(str(tmp_path))
    log.append("rename", "r1", "after")
    assert {f"a-{i}" for i in range(kept)} <= set(log.current("note"))
    assert log.current("rename") == {"r1": "after"}


def test_a_torn_line_costs_itself_alone(log: ProjectLog) -> None:
    log.append("rename", "r1", "one")
    with open(os.path.join(log.root, NAME), "ab") as file:
        file.write(entry.line(entry.new("ann", "rename", "r2", "torn"))[:40])
    assert log.current("rename") == {"r1": "one"} and log.problems() == []  # it may be a write under way
    log.append("rename", "r3", "three")
    assert log.current("rename") == {"r1": "one", "r3": "three"}
    assert len(log.problems()) == 1 and "line 2" in log.problems()[0] and "checksum" in log.problems()[0]


def test_a_full_disk_is_said_and_leaves_no_half_line(log: ProjectLog) -> None:
    log.append("rename", "r1", "one")
    before = Path(log.root, NAME).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))  # room for half a line
    try:
        with pytest.raises(CannotWrite, match="disk not full"):
            log.append("rename", "r1", "two")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert Path(log.root, NAME).read_bytes() == before and log.current("rename") == {"r1": "one"}


def _with_crc(body: str) -> bytes:
    import zlib

    raw = body.encode()[:-1]
    return raw + b',"crc":"%08x"}' % zlib.crc32(raw)


WHO = '"id":"i","time_ns":1,"author":"a"'
HOSTILE = {
    "no JSON": b"hello",
    "no UTF-8": b"\xff\xfe",
    "a list": _with_crc("[1]"),
    "no id": _with_crc('{"kind":"rename","name":"r1","value":"x"}'),
    "an id of another type": _with_crc('{"id":[],"time_ns":1,"author":"a","kind":"rename","name":"r1","value":"x"}'),
    "a time beyond any": _with_crc(f'{{"id":"i","time_ns":{10**400},"author":"a","undoes":["x"]}}'),
    "undoes of another type": _with_crc(f'{{{WHO},"undoes":[3]}}'),
    "a value of another type": _with_crc(f'{{{WHO},"kind":"tag","name":"r1/x","value":"yes"}}'),
    "a name without its words": _with_crc(f'{{{WHO},"kind":"tag","name":"r1","value":true}}'),
    "too deep": _with_crc(f'{{{WHO},"kind":"board","name":"b","value":{"[" * 5000}{"]" * 5000}}}'),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_has_a_sentence_and_the_others_count(log: ProjectLog, raw: bytes) -> None:
    log.append("rename", "r1", "one")
    with open(os.path.join(log.root, NAME), "ab") as file:
        file.write(raw + b"\n")
    log.append("rename", "r2", "two")
    for reader in (log, ProjectLog(log.root)):
        assert reader.current("rename") == {"r1": "one", "r2": "two"}
        assert len(reader.problems()) == 1 and reader.problems()[0].startswith("line 2 of project.jsonl is passed over")


def test_a_changed_byte_is_found(log: ProjectLog) -> None:
    log.append("rename", "r1", "one")
    path = Path(log.root, NAME)
    path.write_bytes(path.read_bytes().replace(b'"one"', b'"two"'))
    assert ProjectLog(log.root).current("rename") == {} and "checksum" in ProjectLog(log.root).problems()[0]


def test_a_kind_of_a_later_version_is_kept(log: ProjectLog) -> None:
    with open(os.path.join(log.root, NAME), "ab") as file:
        file.write(entry.line(entry.new("ann", "hologram", "h", {"x": 1})))
    assert log.current("hologram") == {"h": {"x": 1}} and log.problems() == []


@pytest.mark.parametrize("what", ["pipe", "folder", "link"])
def test_what_is_no_log_is_neither_read_nor_written(log: ProjectLog, tmp_path: Path, what: str) -> None:
    path, outside = tmp_path / NAME, tmp_path / "outside"
    {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "link": lambda: path.symlink_to(outside)}[what]()
    assert log.current("tag") == {}
    with pytest.raises(CannotWrite):
        log.append("archive", "r1", True)
    assert not outside.exists()


def test_a_writer_that_hangs_is_not_waited_for_for_ever(log: ProjectLog, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    log.append("archive", "r1", True)
    monkeypatch.setattr(append, "WAIT_SECONDS", 0.1)
    with open(os.path.join(log.root, NAME), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CannotWrite, match="another process has held it"):
            log.append("archive", "r2", True)
    log.append("archive", "r2", True)


def test_another_file_in_its_place_is_read_anew(log: ProjectLog) -> None:
    log.append_all([Change("archive", f"r{i}", True) for i in range(5)])
    aside = Path(log.root, "aside")
    aside.write_bytes(entry.line(entry.new("ann", "archive", "other", True)))
    os.replace(aside, Path(log.root, NAME))
    assert log.current("archive") == {"other": True}
    os.unlink(Path(log.root, NAME))
    assert log.current("archive") == {} and log.follow() == []


def test_the_log_of_a_run_s_own_folder_lies_beside_the_run(tmp_path: Path) -> None:
    with rs.init(project="p", name="r1", id="r1", dir=tmp_path, host=False) as run:
        run.log({"x": 1.0}, step=0)
    ProjectLog(str(tmp_path / "r1")).append("archive", "r1", True)
    assert ProjectLog(str(tmp_path)).current("archive") == {"r1": True}
    assert [run.id for run in rs.open(tmp_path).runs()] == ["r1"]


def test_a_second_reader_needs_the_page_alone(log: ProjectLog) -> None:
    """What docs/format.md says, with nothing of Rollscope."""
    log.append("rename", "r1", "ünïcode\n\u2028 and a newline", "ann")
    (raw,) = Path(log.root, NAME).read_bytes().splitlines()
    said = json.loads(raw)
    assert list(said) == ["id", "time_ns", "author", "kind", "name", "value", "crc"]
    assert said["value"] == "ünïcode\n\u2028 and a newline" and raw.isascii()
