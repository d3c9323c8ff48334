"""The log: what was appended is what is read, at any moment and after any accident."""

import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rollscope.store.log import block, lock
from rollscope.store.log.block import Labels, Partials, Values
from rollscope.store.log.lock import Lock
from rollscope.store.log.scan import scan
from rollscope.store.log.writer import LogWriter, SyncFailed


def rows(*steps, names=2):
    table = np.zeros(len(steps), block.row_type(names))
    table["step"], table["time_ns"] = steps, [s * 10 for s in steps]
    table["values"] = [[s + i / 10 for i in range(names)] for s in steps]
    return table.tobytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "00000000000000aa.0001.log"


def written(path, *payloads):
    writer = LogWriter(path)
    assert writer.append(payloads) == len(payloads)
    writer.close()
    return scan(path)


def test_a_wide_block_keeps_every_bit(path):
    table = np.zeros(1, block.row_type(5))
    table["values"] = [[math.nan, math.inf, -math.inf, 5e-324, -0.0]]
    table["step"] = -(2**62)
    got = written(
        path, block.wide(list("abcde"), None, table.tobytes(), Labels(3, 7, "maths", "eval", "explore_step"))
    ).blocks[0]
    assert got.values.tobytes() == table["values"].tobytes()
    assert (got.step.tolist(), got.names, got.kinds, got.labels) == (
        [-(2**62)],
        list("abcde"),
        ["scalar"] * 5,
        Labels(3, 7, "maths", "eval", "explore_step"),
    )
    assert got.index is None and got.weights is None


def test_partials_lie_beside_their_values(path):
    partials = Partials([2.0, 5.0], [2, 3], [6.0, 2.0, 1.0, 2.0, 3.0])
    got = written(path, block.wide(["m", "s"], ["mean", "std"], rows(4), Labels(), partials)).blocks[0]
    assert (
        got.weights.tolist() == [[2.0, 5.0]]
        and got.lengths.tolist() == [[2, 3]]
        and got.states.tolist() == [6.0, 2.0, 1.0, 2.0, 3.0]
    )


def test_a_long_block_names_each_value(path):
    values = Values([1, 1, 2], [10, 10, 20], [0, 1, 0], [0.5, math.inf, 2.5])
    got = written(path, block.long(["a", "b"], None, values, Labels())).blocks[0]
    assert [(got.names[i], s, v) for i, s, v in zip(got.index, got.step, got.values, strict=True)] == [
        ("a", 1, 0.5),
        ("b", 1, math.inf),
        ("a", 2, 2.5),
    ]


ROWS = [
    {
        "id": "s1",
        "step": 2**60,
        "reward": math.nan,
        "trained": True,
        "prompt": "NUL \0 and é",
        "rewards": {"format": 0.5, "bad": math.nan},
    },
    {
        "id": "s2",
        "reward": math.inf,
        "trained": False,
        "prompt": "",
        "token_ids": [1, 2**40],
        "logp": np.array([-0.5, -1.5], np.float32),
    },
    {"id": "s3", "prompt": "lone \ud83d surrogate", "token_ids": []},
]


def test_tables_keep_null_empty_and_odd_text_apart(path):
    got = written(path, block.table("samples", ROWS, {"attempt": 2})).blocks[0].records()
    assert [r["id"] for r in got] == ["s1", "s2", "s3"] and all(r["attempt"] == 2 for r in got)
    assert (
        got[0]["step"] == 2**60
        and math.isnan(got[0]["reward"])
        and got[0]["trained"] is True
        and "token_ids" not in got[0]
    )
    assert [r.get("prompt") for r in got] == [r["prompt"] for r in ROWS]
    assert (
        got[1]["token_ids"].tolist() == [1, 2**40]
        and got[1]["logp"].tolist() == [-0.5, -1.5]
        and got[2]["token_ids"].tolist() == []
    )
    assert got[0]["rewards"] == '{"format": 0.5, "bad": "NaN"}' and "reward" not in got[2]


def test_repeated_words_are_kept_once(path):
    spans = [{"name": ("generate", "train", None)[i % 3], "start_ns": i} for i in range(300)]
    got = written(path, block.table("spans", spans)).blocks[0]
    assert got.columns["name"].encoding == "dict"
    assert got.columns["name"].values() == [s["name"] for s in spans]


def test_a_growing_file_is_read_from_where_reading_stopped(path):
    writer = LogWriter(path)
    writer.append([block.meta("open", {"pid": 1})])
    first = scan(path)
    writer.append([block.wide(["a", "b"], None, rows(1, 2), Labels())])
    second = scan(path, first.next_offset)
    writer.close()
    assert [b.what for b in first.blocks] == ["open"] and [b.step.tolist() for b in second.blocks] == [[1, 2]]
    assert scan(path, second.next_offset).blocks == []


def test_a_torn_tail_waits_for_the_rest(path):
    written(path, *[block.wide(["a", "b"], None, rows(i), Labels()) for i in range(3)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    torn = scan(path)
    path.write_bytes(whole)
    assert len(torn.blocks) == 2 and not torn.damage
    assert [b.step.tolist() for b in scan(path, torn.next_offset).blocks] == [[2]]


def test_damage_names_the_file_and_the_offset_and_costs_one_block(path):
    good = written(path, *[block.wide(["a", "b"], None, rows(i), Labels()) for i in range(5)])
    raw = bytearray(path.read_bytes())
    raw[good.blocks[2].offset + 40] ^= 16
    path.write_bytes(raw)
    got = scan(path)
    assert [b.step.tolist() for b in got.blocks] == [[0], [1], [3], [4]]
    (damage,) = got.damage
    assert damage.path == str(path) and damage.offset == good.blocks[2].offset and str(path) in str(damage)


def test_scanning_goes_on_after_the_start_of_the_file_was_lost(path):
    good = written(path, *[block.wide(["a", "b"], None, rows(i), Labels()) for i in range(3)])
    path.write_bytes(b"\0" * 50 + path.read_bytes()[50:])
    assert [b.step.tolist() for b in scan(path).blocks] == [[1], [2]]
    assert [b.step.tolist() for b in scan(path, good.blocks[2].offset).blocks] == [[2]]


def test_a_block_of_an_unknown_kind_is_reported_and_skipped(path):
    got = written(path, block.pack({"block": "hologram"}), block.meta("end", {}))
    assert [b.what for b in got.blocks] == ["end"]
    assert "newer version" in got.damage[0].says


def test_two_writers_cannot_share_a_file(path):
    LogWriter(path).close()
    with pytest.raises(FileExistsError):
        LogWriter(path)


def test_a_removed_file_is_put_back_whole(path):
    writer = LogWriter(path)
    writer.append([block.wide(["a", "b"], None, rows(1), Labels())])
    assert not writer.is_gone()
    path.unlink()
    assert writer.is_gone()
    writer.restore()
    writer.append([block.wide(["a", "b"], None, rows(2), Labels())])
    writer.close()
    assert [b.step.tolist() for b in scan(path).blocks] == [[1], [2]]


def test_a_copy_in_the_place_of_a_file_gives_way_to_the_whole(path, tmp_path):
    writer = LogWriter(path)
    writer.append([block.wide(["a", "b"], None, rows(1), Labels())])
    shutil.copy(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    writer.append([block.wide(["a", "b"], None, rows(2), Labels())])
    assert writer.is_gone() and writer.is_gone_now()
    writer.restore()
    writer.append([block.wide(["a", "b"], None, rows(3), Labels())])
    writer.close()
    assert [b.step.tolist() for b in scan(path).blocks] == [[1], [2], [3]]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_open_file_that_was_cut_off_is_not_put_back_as_if_whole(path):
    writer = LogWriter(path)
    writer.append([block.wide(["a", "b"], None, rows(1), Labels())])
    os.truncate(path, 10)
    path.unlink()
    with pytest.raises(OSError, match="has 10 of the"):
        writer.restore()
    writer.abandon()


def test_those_who_look_at_a_log_at_once_do_not_take_each_other_for_its_writer(path):
    def look(_):
        return lock.look(str(path))

    with ThreadPoolExecutor(8) as pool:
        path.touch()
        assert {*pool.map(look, range(5_000))} == {Lock.TAKEN}
        with lock.taking(str(path)):
            assert {*pool.map(look, range(10))} == {Lock.HELD}


def test_a_sync_that_fails_says_once_how_much_is_in_doubt(path, monkeypatch):
    def no_space(fd):
        raise OSError(28, "No space left on device")

    writer = LogWriter(path)
    writer.append([block.meta("open", {})])
    monkeypatch.setattr("os.fdatasync", no_space)
    with pytest.raises(SyncFailed) as failed:
        writer.sync()
    assert failed.value.bytes == writer.size and failed.value.errno == 28
    writer.close()


LIMITED = """
import resource, signal, sys
import numpy as np
from rollscope.store.log import block, lock
from rollscope.store.log.writer import LogWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
writer = LogWriter(sys.argv[1])
payload = block.meta("open", {"text": "x" * 3_000})
print(writer.append([payload] * 5))
try:
    writer.append([payload])
except OSError as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
print(writer.append([payload] * 2))
writer.close()
"""


def test_a_full_disk_leaves_whole_blocks_and_writing_can_go_on(path):
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said == ["3", "OSError", "2"]
    got = scan(path)
    assert (
        [b.number for b in got.blocks] == [0, 1, 2, 3, 4] and not got.damage and got.next_offset == path.stat().st_size
    )
