"""Which run a process records into: new, resumed, forked, or that of its fellow ranks."""

import json
import os
import re
import subprocess
import sys

import pytest

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.record import run_json
from rollscope.record.launch import is_of_this_launch
from rollscope.store.log import process
from rollscope.store.seal import logs


def facts(run):
    return json.loads((run.folder / "run.json").read_text())


def test_ids_are_readable_and_unique(init):
    one, two = init(name="GRPO on Countdown!"), init(name="GRPO on Countdown!")
    assert re.fullmatch(r"grpo-on-countdown-\d{4}-\d{4}-\w{4}", one.id) and one.id != two.id


def test_run_json_holds_what_init_was_given(init):
    given = {"project": "p", "group": "g", "tags": ["a", "b"], "algorithm": "grpo", "framework": "verl@0.9"}
    run = init(config={"lr": 1e-5, "nested": {"k": [1, 2]}}, steps=200, **given)
    got = facts(run)
    expected = given | {"steps_planned": 200, "attempt": 1, "state": "running"}
    assert {key: got[key] for key in expected} == expected
    assert got["config"] == {"lr": 1e-5, "nested": {"k": [1, 2]}} and got["id"] == run.id


def test_the_folder_is_the_argument_else_the_variable_else_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with rs.init(name="a", host=False) as run:
        assert run.folder.parent == tmp_path / "runs"
    monkeypatch.setenv("ROLLSCOPE_DIR", str(tmp_path / "elsewhere"))
    with rs.init(name="a", host=False) as run:
        assert run.folder.parent == tmp_path / "elsewhere"


def test_a_resumed_run_is_another_attempt_and_keeps_the_first(init, recorded):
    first = init(id="r", config={"lr": 1}, project="p")
    for step in range(10):
        first.log({"a": 1.0}, step=step)
    first.finish()
    second = init(id="r", resume=5, config={"lr": 2})
    assert second.step == 6
    second.log({"a": 2.0}, step=6)
    second.finish()
    got = facts(second)
    assert got["attempt"] == 2 and [(a["attempt"], a["resumed_from"]) for a in got["attempts"]] == [(1, None), (2, 5)]
    assert got["config"] == {"lr": 2} and got["project"] == "p"
    assert {(b.labels.attempt, tuple(sorted(b.step.tolist()))) for b in recorded(second).metrics} == {
        (1, tuple(range(10))),
        (2, (6,)),
    }


@pytest.mark.parametrize("sealed", [False, True], ids=["in a log", "sealed"])
@pytest.mark.parametrize("resume", [True, "allow", "must"])
def test_a_run_goes_on_after_its_last_step(init, sealed, resume):
    first = init(id="r")
    for step in (3, 9, 7):
        first.log({"a": 1.0}, step=step)
    first.log({"b": 1.0}, step=500, clock="explore_step")
    first.finish()
    if sealed:
        logs.seal(str(first.folder))
        assert not list(first.folder.glob("*.log"))
    second = init(id="r", resume=resume)
    assert second.step == 10
    second.log({"a": 2.0})
    second.finish()
    assert facts(second)["attempts"][-1]["resumed_from"] is None, "a step that is logged again replaces its first value"
    assert rs.open(first.folder.parent).run("r").series("a")["step"].tolist() == [3, 7, 9, 10]
    third = init(id="r", resume=4)
    third.log({"a": 3.0}, step=5)
    third.finish()
    assert init(id="r", resume=resume).step == 6, "what was abandoned does not count"


@pytest.mark.parametrize("written", [b"", b"x" * 9000, b'{"a": 1}'], ids=["empty", "noise", "JSON"])
def test_a_run_whose_files_do_not_tell_their_steps_is_resumed(init, written):
    first = init(id="r")
    first.finish()
    for path in [*first.folder.glob("*.log"), first.folder / "0123456789abcdef.0001.log"]:
        path.write_bytes(written)
    (first.folder / "odd.sealed").mkdir()
    (first.folder / "odd.sealed" / "manifest.json").write_bytes(written)
    assert init(id="r", resume=True).step == 0


def test_the_last_step_is_found_behind_many_texts(init):
    first = init(id="r")
    first.log({"a": 1.0}, step=41)
    first.flush(60)
    for i in range(6):
        first.log_samples([{"id": str(i), "completion": "x" * 1_000_000}], step=42)
    first.finish()
    assert init(id="r", resume=True).step == 42


def test_a_finished_run_started_again_with_its_id_is_another_attempt(init):
    init(id="r").finish()
    again = init(id="r")
    assert facts(again)["attempt"] == 2


@pytest.mark.parametrize(
    "broken",
    [
        {"attempts": 7},
        {"attempts": ["x", {"attempt": "1"}, {"attempt": 1, "started_ns": None}]},
        {"attempt": "first"},
        {"process": "here"},
        {"process": {"host": os.uname().nodename, "pid": "12"}},
        {"process": {"host": os.uname().nodename, "pid": 2**80}},
        {"started_ns": "yesterday"},
    ],
)
def test_a_run_resumes_even_if_its_facts_are_broken(init, broken):
    first = init(id="r")
    first.log({"a": 1.0}, step=0)
    first.finish()
    (first.folder / "run.json").write_text(json.dumps(facts(first) | broken))
    again = init(id="r", resume=True)
    again.log({"a": 2.0}, step=1)
    again.finish()
    assert facts(again)["attempts"][-1]["attempt"] == facts(again)["attempt"] == 2
    assert rs.open(first.folder.parent).run("r").series("a")["value"].tolist() == [1.0, 2.0]


def test_a_resume_of_an_unknown_run_lists_the_runs_there_are(init):
    init(id="there")
    with pytest.raises(rs.RollscopeError, match=r"no run 'gone'.*there"):
        init(id="gone", resume=True)
    assert facts(init(id="gone", resume="allow"))["attempt"] == 1


def test_a_fork_knows_its_parent(init):
    init(id="parent").finish()
    got = facts(init(name="child", fork="parent@120"))
    assert (got["parent"], got["parent_step"]) == ("parent", 120)
    with pytest.raises(rs.RollscopeError, match="RUN@STEP"):
        init(fork="parent")
    with pytest.raises(rs.RollscopeError, match="no run 'nobody'"):
        init(fork="nobody@1")


@pytest.mark.parametrize("id", ["../up", "a/b", "", "..", "x\0y"])
def test_an_id_that_is_not_a_folder_name_is_rejected(init, id):
    if id == "":
        assert init(id=id).id  # as good as no id
        return
    with pytest.raises(rs.RollscopeError, match="folder name"):
        init(id=id)


def test_a_shard_that_does_not_exist_is_rejected(init):
    with pytest.raises(rs.RollscopeError, match="from 0 to 1"):
        init(shard=2, shards=2)


RANK = """
import sys, rollscope as rs
with rs.init(name="ranks", dir=sys.argv[1], host=False, **eval(sys.argv[2])) as run:
    run.log({"a": 1.0}, step=0)
    print(run.id, flush=True)
    sys.stdin.readline()  # a rank does not end before the others have begun
"""


def test_ranks_of_one_launch_find_the_same_run(tmp_path, recorded, monkeypatch):
    for name, value in {"MASTER_ADDR": "localhost", "MASTER_PORT": "29511", "WORLD_SIZE": "3"}.items():
        monkeypatch.setenv(name, value)
    for more in ("{}", "{'id': 'named'}", "{'id': 'named', 'resume': True}"):
        processes = []
        for rank in (2, 1, 0):
            monkeypatch.setenv("RANK", str(rank))
            command = [sys.executable, "-c", RANK, str(tmp_path), more]
            processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        ids = {begun.stdout.readline().strip() for begun in processes}
        for begun in processes:
            begun.communicate("\n", timeout=60)
        assert len(ids) == 1
        last = max(b.labels.attempt for b in recorded(tmp_path / ids.pop()).metrics)
        assert last == (2 if "resume" in more else 1)
    got = recorded(tmp_path / "named")
    assert sorted((b.labels.attempt, b.labels.rank) for b in got.metrics) == [(a, r) for a in (1, 2) for r in range(3)]
    states = [row.get("state") for row in got.rows["runs"]]
    assert states.count("finished") == 2, "shard 0 speaks for the run, in each of two attempts"


def test_a_shard_leaves_what_shard_0_wrote_while_it_looked(init, recorded, monkeypatch):
    write, zero = run_json._write, []

    def overtaken(*asked):
        monkeypatch.setattr(run_json, "_write", write)
        zero.append(init(id="named", shard=0, shards=2))
        write(*asked)

    monkeypatch.setattr(run_json, "_write", overtaken)
    one = init(id="named", shard=1, shards=2)
    assert facts(one)["process"]["shard"] == 0
    for run in (*zero, one):
        run.finish()
    assert [row["state"] for row in recorded(one).rows["runs"] if "state" in row].count("finished") == 1


NOW, HERE, ELSEWHERE = 1_000_000.0, process.here(), {"pid": 1, "boot": "another"}
NOTES = {
    "written after this process began": ({"time": NOW + 1, "process": ELSEWHERE}, True),
    "from long ago": ({"time": NOW - 600, "process": HERE}, False),
    "shard 0 was faster and is alive": ({"time": NOW - 5, "process": HERE}, True),
    "shard 0 of a launch that was killed": ({"time": NOW - 5, "process": HERE | {"pid": 2**22 + 1}}, False),
    "shard 0 of the launch before": ({"time": NOW - 5, "process": ELSEWHERE, "ended": NOW - 1}, False),
    "shard 0 was faster, or was killed, on another host": ({"time": NOW - 5, "process": ELSEWHERE}, None),
    "shard 0 was faster and is done": ({"time": NOW - 5, "process": ELSEWHERE, "ended": NOW + 1}, True),
}


@pytest.mark.parametrize("note, expected", NOTES.values(), ids=NOTES)
def test_a_note_is_of_this_launch_or_of_another(note, expected):
    assert is_of_this_launch(note, NOW) is expected


@pytest.mark.parametrize("name", ["shard", "shards"])
@pytest.mark.parametrize("odd", ["first", {"a": 1}, [0], float("nan")], ids=str)
def test_a_shard_that_is_no_number_is_refused_with_a_sentence(tmp_path, name, odd):
    with pytest.raises(BadInput, match=f"{name}=.* is not a number"):
        rs.init(dir=tmp_path, host=False, **{name: odd})
