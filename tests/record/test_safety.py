"""The promises of the recorder: training goes on, losses are counted, no file is damaged."""

import ctypes
import errno
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import rollscope as rs
from rollscope.record import clock as clocks
from rollscope.record.clock import Clock
from rollscope.record.write.log_files import LogFiles

TRAIN = """
import os, sys, time
import rollscope as rs
from rollscope.record.write import log_files
log_files.SYNC_SECONDS = 600.0  # a kill takes nothing that was written; how long a disk syncs is its own
shard, shards = int(sys.argv[3]), int(sys.argv[4])
run = rs.init(name="killed", dir=sys.argv[1], id=sys.argv[2], host=False, shard=shard, shards=shards)
diary = os.open(sys.argv[5], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for step in range(1_000_000):
    run.log({f"m/{i}": float(step) for i in range(50)}, step=step)
    run.log_samples([{"id": f"{shard}-{step}", "prompt": "p" * 500, "reward": 1.0}], step=step)
    with run.span("train"):
        time.sleep(0.002)
    os.write(diary, f"{step} {time.time_ns()}\\n".encode())
"""


def children(tmp_path, count, id="killed"):
    """Processes that each write down in a diary what they logged, and when."""
    base = [sys.executable, "-c", TRAIN, str(tmp_path), id]
    commands = [[*base, str(i), str(count), str(tmp_path / f"diary{i}")] for i in range(count)]
    return [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]


def test_kill_at_any_instant_loses_at_most_a_second_and_leaves_no_damage(tmp_path, recorded):
    dice = random.Random(7)
    for number in range(2):
        processes = children(tmp_path, 6, f"killed{number}")
        while not all((tmp_path / f"diary{i}").exists() for i in range(6)):
            time.sleep(0.01)
        for process in processes:
            time.sleep(dice.random() * 0.6)
            process.kill()
            process.wait()
        got = recorded(tmp_path / f"killed{number}")
        assert not got.damage and len(got.opens) <= 6
        for i in range(6):
            diary = [line.split() for line in (tmp_path / f"diary{i}").read_text().splitlines()]
            last = max((int(at) for _, at in diary), default=0)  # until then it surely had a processor
            due = [int(step) for step, at in diary if int(at) < last - 1e9]
            kept = {row["id"] for row in got.rows["samples"]}
            assert {f"{i}-{step}" for step in due} <= kept
            (tmp_path / f"diary{i}").unlink()
        for values in got.values.values():
            assert len(values) <= 6  # once per writer: nothing was written twice


SMALL = """
import sys, time
import rollscope as rs
run = rs.init(name="full", id="full", dir=sys.argv[1], host=False)
for step in range(300):
    run.log({f"m/{i}": float(step) for i in range(300)}, step=step)
    time.sleep(0.002)
print("trained on")
open(sys.argv[2], "w").close()
import os
while os.path.exists(sys.argv[2]):
    time.sleep(0.01)
run.finish()
print(run.losses)
"""


@pytest.fixture
def small_disk(tmp_path, is_root):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)]
    if not is_root or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_does_not_stop_training_and_nothing_is_lost_once_there_is_room(small_disk, tmp_path, recorded):
    flag, said = tmp_path / "flag", tmp_path / "said"
    command = [sys.executable, "-c", SMALL, str(small_disk), str(flag)]
    with said.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    while not flag.exists() or "No space left" not in said.read_text():
        assert process.poll() is None, said.read_text()
        time.sleep(0.02)
    before = recorded(small_disk / "full")
    assert not before.damage and 0 < before.numbers < 90_000
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    flag.unlink()
    out, _ = process.communicate(timeout=120)
    got = recorded(small_disk / "full")
    assert out.split("\n")[:2] == ["trained on", "{}"] and "trying again" in said.read_text()
    assert got.numbers == 90_000 and not got.damage


def test_a_run_that_ends_on_a_full_disk_reports_what_it_could_not_write(small_disk):
    impatient = "import rollscope.record.recorder as m; m.PATIENCE_SECONDS = 0.3"
    code = SMALL.replace('open(sys.argv[2], "w").close()', impatient)
    command = [sys.executable, "-c", code, str(small_disk), "nothing"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "bytes" in done.stdout and "not kept" in done.stderr


def test_a_removed_folder_is_restored(init, recorded, tmp_path):
    run = init()
    run.log({"a": 1.0}, step=0)
    run.flush(60)
    subprocess.run(["rm", "-r", str(run.folder)], check=True)
    time.sleep(0.3)
    run.log({"a": 2.0}, step=1)
    run.flush(60)
    run.finish()
    got = recorded(run)
    assert got.values["a", 0] == [1.0] and got.values["a", 1] == [2.0] and (run.folder / "run.json").exists()


def test_a_log_that_somebody_replaced_by_a_copy_is_restored_before_flush_says_true(init, recorded, tmp_path):
    run = init()
    run.log({"a": 1.0}, step=0)
    assert run.flush(60)
    for replaced in (1, 2):  # as a backup or rsync does it; the second time, right before the end
        (log,) = run.folder.glob("*.log")
        shutil.copy(log, tmp_path / "copy")
        run.log({"a": 1.0 + replaced}, step=replaced)
        os.replace(tmp_path / "copy", log)
        if replaced == 1:
            assert run.flush(60)
    run.finish()
    got = recorded(run)
    assert [got.values["a", step] for step in (0, 1, 2)] == [[1.0], [2.0], [3.0]]
    assert rs.open(run.folder.parent).run(run.id).state == "finished" and not run.losses


def test_a_folder_that_cannot_be_made_is_tried_again(tmp_path, recorded, capfd):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    run = rs.init(name="x", dir=blocked, host=False)
    run.log({"a": 1.0}, step=0)
    _hear(capfd, "cannot write")
    blocked.unlink()
    assert run.flush(60)
    run.finish()
    got = recorded(run)
    assert got.values["a", 0] == [1.0] and (run.folder / "run.json").exists() and not run.losses


def _hear(capfd, words):
    """Wait until a thread of the recorder has said something."""
    said, end = "", time.monotonic() + 60
    while words not in said:
        assert time.monotonic() < end, said
        time.sleep(0.02)
        said += capfd.readouterr().err


@pytest.fixture
def read_only(tmp_path, is_root):
    folder = tmp_path / "locked"
    folder.mkdir()
    if not is_root:
        folder.chmod(0o555)
        yield folder
        return
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here, and root may write anywhere")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_read_only_folder_does_not_stop_training(read_only, monkeypatch, capfd):
    monkeypatch.setattr("rollscope.record.recorder.PATIENCE_SECONDS", 0.2)
    run = rs.init(name="x", dir=read_only, host=False)
    run.log({"a": 1.0}, step=0)
    _hear(capfd, "cannot write")
    run.finish()
    assert any("could not be written" in loss for loss in run.losses)


class Broken(LogFiles):
    """A disk that refuses everything while `broken`."""

    broken = True

    def append(self, payloads):
        if self.broken:
            raise OSError(errno.EIO, "I/O error")
        return super().append(payloads)


def test_rows_are_given_up_in_order_and_counted(init, recorded):
    run = init()
    run.flush(60)
    drain = run._recorder._drain
    real = drain.files
    drain.files = Broken(run.folder, "b" * 16, {})
    drain.backlog._bound = run._queue.bound = 400_000
    for step in range(20):
        run.log({f"m/{i}": 1.0 for i in range(100)}, step=step)
        with run.span("s"):
            pass
        run.log_samples([{"id": str(step), "prompt": "p" * 20_000, "reward": 1.0, "token_ids": [1] * 2_000}], step=step)
        drain.turn()
    drain.files.broken = False
    run.finish()
    real.close()
    got = recorded(run)
    assert got.numbers == 2_000, "numbers are never given up"
    assert got.losses["spans"] and got.losses["token arrays"]
    assert len(got.rows["samples"]) == 20 and all(row["reward"] == 1.0 for row in got.rows["samples"])
    assert sum("token_ids" in row for row in got.rows["samples"]) <= sum("prompt" in row for row in got.rows["samples"])


class Hanging(LogFiles):
    """A network file system whose server is gone."""

    def __init__(self, *args):
        super().__init__(*args)
        self.hangs = threading.Event()

    def append(self, payloads):
        self.hangs.set()
        threading.Event().wait()


def test_a_disk_that_hangs_stops_neither_training_nor_the_end(init, monkeypatch, capfd):
    monkeypatch.setattr("rollscope.record.recorder.PATIENCE_SECONDS", 0.3)
    run = init()
    run.flush(60)
    real = run._recorder._drain.files
    disk = run._recorder._drain.files = Hanging(run.folder, "b" * 16, {})
    run.log({"a": 1.0}, step=0)
    assert disk.hangs.wait(60)
    for step in range(100):  # a call that waited for the disk would wait for ever, and so would the end
        run.log({"a": 1.0}, step=step)
    run.finish()
    assert "has not come back" in capfd.readouterr().err
    real.close()


def test_times_go_forward_when_the_clock_is_set_back(monkeypatch):
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time_ns", lambda: before - 3600 * 10**9)
    assert clock.tend() > 3000 * 10**9
    assert before < clock.now() < before + 60 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: before + 7200 * 10**9)
    monkeypatch.setattr(clocks, "_asleep_ns", lambda: clock._asleep + 7200 * 10**9)
    clock.tend()
    assert clock.now() >= before + 7200 * 10**9, "after a sleep the wall clock is followed"


def test_a_call_that_holds_the_interpreter_delays_but_loses_nothing(init, recorded):
    run = init()
    for step in range(100):
        run.log({"a": 1.0}, step=step)
    ctypes.PyDLL(None).usleep(900_000)  # a C call that holds the interpreter
    run.log({"a": 2.0}, step=100)
    run.finish()
    assert len(recorded(run).values) == 101 and not run.losses


def _child(run, number):
    for step in range(50):
        run.log({f"child/{number}": float(step)}, step=step)
    run.log_samples([{"id": f"child-{number}"}], step=0)


def test_forked_children_write_files_of_their_own(init, recorded):
    run = init()
    run.log({"parent": 1.0}, step=0)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_child, args=(run, i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    run.log({"parent": 2.0}, step=1)
    run.finish()
    got = recorded(run)
    assert all(got.values[f"child/{i}", step] == [float(step)] for i in range(3) for step in range(50))
    parent = [got.values["parent", step] for step in (0, 1)]
    assert parent == [[1.0], [2.0]], "what the parent had queued is not written twice"
    assert len({o["writer"] for o in got.opens}) == 4 and sum(o["child"] for o in got.opens) == 3 and got.ends == 4
    assert [row["state"] for row in got.rows["runs"] if "state" in row] == ["running", "finished"]


def test_a_fork_that_records_nothing_leaves_nothing(init):
    run = init()
    run.flush(60)
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    assert len(list(run.folder.glob("*.log"))) == 1


ENDS = {
    "falls off the end": ("pass", "finished", None),
    "an exception": ("raise ValueError('lr was\\nnegative')", "crashed", "ValueError: lr was negative"),
    "interrupted": ("raise KeyboardInterrupt", "crashed", "KeyboardInterrupt"),
    "terminated": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "crashed", "SIGTERM"),
    "sys.exit": ("import sys; sys.exit(0)", "finished", None),
    "out of scope": ("del run", "finished", None),
}


@pytest.mark.parametrize("code, state, reason", ENDS.values(), ids=ENDS)
def test_every_way_out_leaves_the_state(tmp_path, recorded, code, state, reason):
    begin = f"import rollscope as rs\nrun = rs.init(name='x', id='x', dir={str(tmp_path)!r}, host=False)\n"
    script = f"{begin}run.log({{'a': 1.0}}, step=0)\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode == 0) is (state == "finished")
    if "SIGTERM" in code:
        assert done.returncode == -signal.SIGTERM, "the signal is raised again"
    got = recorded(tmp_path / "x")
    last = [row for row in got.rows["runs"] if "state" in row][-1]
    assert (last["state"], last.get("reason")) == (state, reason) and got.values["a", 0] == [1.0] and got.ends == 1


def test_an_interrupt_is_seen_by_the_shell_that_started_the_program(tmp_path):
    # Python forgets that it was interrupted if code is executed after that, as an import does. It
    # then exits with 1, and a loop of a shell over several trainings goes on.
    code = f"""
import sys, threading
import rollscope as rs
rs.init(name="x", dir={str(tmp_path)!r}, host=False)
executed, main = [], threading.main_thread()
def heard(event, about):
    if event == "exec" and threading.current_thread() is main:
        executed.append(about)
sys.addaudithook(heard)
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    sys.excepthook(*sys.exc_info())
assert not executed, executed
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_signal_handler_of_the_trainer_stays(tmp_path):
    code = f"""
import signal
signal.signal(signal.SIGTERM, print)
import rollscope as rs
rs.init(name="x", dir={str(tmp_path)!r}, host=False)
assert signal.getsignal(signal.SIGTERM) is print
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_leaving_by_an_exception_marks_the_run_and_lets_it_through(init, recorded):
    with pytest.raises(ZeroDivisionError):
        with init() as run:
            run.log({"a": 1.0}, step=0)
            1 / 0  # noqa: B018
    assert recorded(run).rows["runs"][-1]["reason"].startswith("ZeroDivisionError")


def test_logs_go_on_to_the_next_file_when_one_has_grown(init, recorded, monkeypatch):
    monkeypatch.setattr("rollscope.record.write.log_files.ROTATE", 200_000)
    run = init()
    for step in range(40):
        run.log({f"m/{i}": float(step) for i in range(1_000)}, step=step)
        run.flush(60)
    run.finish()
    got = recorded(run)
    assert len(got.opens) > 2 and got.ends == len(got.opens) and got.numbers == 40_000
    assert {o["seq"] for o in got.opens} == set(range(1, len(got.opens) + 1))


SPAWNED = """
import multiprocessing, sys
import rollscope as rs

def work(folder, number):
    run = rs.init(name="spawned", id="spawned", dir=folder, host=False, shard=number, shards=3)
    run.log({"a": float(number)}, step=0)  # no finish: leaving the process must be enough

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        processes = [context.Process(target=work, args=(f"{sys.argv[1]}/{method}", i)) for i in range(3)]
        [p.start() for p in processes]
        [p.join() for p in processes]
"""


def test_children_that_begin_runs_of_their_own_end_them(tmp_path, recorded):
    script = tmp_path / "script.py"
    script.write_text(SPAWNED)
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    for method in ("spawn", "forkserver"):
        got = recorded(tmp_path / method / "spawned")
        assert sorted(v for values in got.values.values() for v in values) == [0.0, 1.0, 2.0] and got.ends == 3


JUNK = {
    "log": lambda run: [
        run.log(None),
        run.log([1, 2]),
        run.log({"a": 1.0}, step="x"),
        run.log({"a": 1.0}, step=2**70),
        run.log({"a": 1.0}, env=["x"]),
    ],
    "log_batch": lambda run: [
        run.log_batch(None),
        run.log_batch({"logp": object(), 3: 4}),
        run.log_batch({"reward": [1.0]}, step="x"),
    ],
    "log_samples": lambda run: [
        run.log_samples(None),
        run.log_samples(5),
        run.log_samples([5]),
        run.log_samples([{"id": "a"}], step="x"),
    ],
    "log_eval": lambda run: [run.log_eval("x", 5), run.log_eval("x", [None]), run.log_eval(None, [{"task": 1}])],
    "span": lambda run: [run.span(None, step="x", kind=3, more=object()).__enter__().__exit__(None, None, None)],
    "log_span": lambda run: [run.log_span("x", None, "y"), run.log_span(None, 1, 2, lane=3)],
    "declare": lambda run: [run.declare(env=3, reward_min="x", ranges=5), run.declare(ranges={"a": object()})],
    "note": lambda run: [run.note(None, step="x", data=object())],
    "commit": lambda run: [run.commit("x"), run.commit(3, tokens="many", hours=2)],
    "reduce": lambda run: [run.reduce("x")],
    "on_finding": lambda run: [run.on_finding(None)],
}


@pytest.mark.parametrize("end", [False, True], ids=["while it records", "after finish"])
@pytest.mark.parametrize("call", JUNK.values(), ids=JUNK)
def test_no_method_raises_whatever_it_is_given(init, recorded, call, end):
    run = init()
    run.log({"before": 1.0}, step=0)
    if end:
        run.finish()
    call(run)
    run.log({"after": 2.0}, step=1)
    run.finish()
    got = recorded(run)
    assert got.values["before", 0] == [1.0] and bool(got.values["after", 1]) is not end and not got.damage
    assert not end or not run._recorder._watchers, "a finished run starts no doctor"
