"""Samples: any field may be missing or come later; later changes do not get into the run."""

import itertools

import numpy as np
import pytest
import torch

import rollscope as rs


def rows(recorded, run, table="samples"):
    run.finish()
    return recorded(run).rows[table]


def test_dicts_samples_and_columns_are_the_same(init, recorded):
    dicts = [{"id": "a", "reward": 0.5, "prompt": "p"}, {"id": "b", "reward": 1.0, "prompt": "q"}]
    run = init()
    run.log_samples(step=1, samples=dicts)
    run.log_samples(step=1, samples=[rs.Sample(**sample) for sample in dicts])
    run.log_samples(step=1, samples={"id": ["a", "b"], "reward": np.array([0.5, 1.0]), "prompt": ["p", "q"]})
    got = [{k: row[k] for k in ("id", "reward", "prompt", "step")} for row in rows(recorded, run)]
    assert got == [sample | {"step": 1} for sample in dicts] * 3


def test_a_later_call_with_the_same_id_fills_in(init, recorded):
    run = init()
    run.log_samples([{"id": "a", "prompt": "p", "completion": "c"}], step=3)
    run.log_samples([{"id": "a", "reward": 1.0}], step=3)
    run.log_samples([{"id": "a", "trained": False, "discard_reason": "zero advantage"}], step=4)
    merged = {}
    for row in rows(recorded, run):
        merged |= row
    expected = {"prompt": "p", "reward": 1.0, "trained": False, "discard_reason": "zero advantage", "step": 4}
    assert {key: merged[key] for key in expected} == expected


def test_unknown_keys_are_kept_under_extra_and_a_wrong_type_does_not_lose_the_sample(init, recorded, capfd):
    run = init()
    odd = {"id": 7, "difficulty": "hard", "reward": "not a number", "extra": {"x": 1}, "prompt_tokens": 3.0}
    run.log_samples([odd], step=0)
    (row,) = rows(recorded, run)
    assert row["id"] == "7" and row["prompt_tokens"] == 3
    assert row["extra"] == {"difficulty": "hard", "reward": "not a number", "x": 1}
    assert "'reward' should be float64" in capfd.readouterr().err


def test_a_sample_without_an_id_gets_one(init, recorded):
    run = init()
    run.log_samples([{"reward": 1.0}, {"reward": 2.0, "turns": [{"role": "assistant", "content": "hi"}]}], step=0)
    run.finish()
    got = recorded(run)
    ids = [row["id"] for row in got.rows["samples"]]
    assert len(set(ids)) == 2 and got.rows["turns"][0]["sample"] == ids[1]


def test_turns_and_tool_calls_become_rows(init, recorded):
    turns = [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "let me see", "tokens": 4, "stop_reason": "tool"},
        {"role": "tool", "tool": "calculator", "arguments": {"x": "2+2"}, "result": "4", "ok": True, "seconds": 0.25},
        {"role": "assistant", "content": "4"},
    ]
    calls = [{"name": "search", "arguments": "cats", "ok": False}, {"name": "search", "ok": True}]
    run = init()
    counts = {"id": "c", "turns": 3, "tool_calls": 2}
    run.log_samples([{"id": "a", "turns": turns}, {"id": "b", "tool_calls": calls}, counts], step=5)
    run.finish()
    got = recorded(run)
    assert [(r["id"], r.get("turns"), r.get("tool_calls"), r.get("tool_failures")) for r in got.rows["samples"]] == [
        ("a", 2, 1, 0),
        ("b", None, 2, 1),
        ("c", 3, 2, None),
    ]
    assert [(t["sample"], t["turn"], t["role"], t.get("tool")) for t in got.rows["turns"]] == [
        ("a", 0, "user", None),
        ("a", 1, "assistant", None),
        ("a", 2, "tool", "calculator"),
        ("a", 3, "assistant", None),
        ("b", 0, "tool", "search"),
        ("b", 1, "tool", "search"),
    ]
    assert got.rows["turns"][2]["arguments"] == '{"x": "2+2"}' and got.rows["turns"][2]["step"] == 5


def test_later_changes_by_the_caller_do_not_reach_the_run(init, recorded):
    run = init()
    messages, rewards = [{"role": "user", "content": "hi"}], {"format": 1.0}
    tokens, mask = np.array([1, 2]), torch.tensor([3, 4])
    sample = {"id": "a", "messages": messages, "rewards": rewards, "token_ids": tokens, "action_mask": mask}
    sample["reward"] = torch.tensor(0.5)
    samples = [sample]
    run.log_samples(samples, step=0)
    messages.append({"role": "assistant", "content": "later"})
    messages[0]["content"] = "changed"
    rewards["format"] = 0.0
    tokens[:] = 0
    mask.zero_()
    sample["id"] = "b"
    samples.clear()
    (row,) = rows(recorded, run)
    assert row["messages"] == [{"role": "user", "content": "hi"}]
    assert row["id"] == "a" and row["rewards"] == {"format": 1.0}
    assert row["token_ids"].tolist() == [1, 2] and row["action_mask"].tolist() == [3, 4] and row["reward"] == 0.5


@pytest.mark.parametrize(
    "text",
    ["", "NUL \0 inside", "lone \ud83d surrogate", "x" * 50_000_000, "<script>alert(1)</script>", "日本語 🎉"],
    ids=["empty", "NUL", "surrogate", "50 MB", "markup", "unicode"],
)
def test_text_comes_back_as_it_was(init, recorded, text):
    run = init()
    run.log_samples([{"id": "a", "completion": text}, {"id": "b", "completion": "next"}], step=0)
    got = rows(recorded, run)
    assert got[0]["completion"] == text and got[1]["completion"] == "next" and not run.losses


def test_redaction_comes_before_anything_is_written(init, recorded):
    run = init(redact=lambda text: text.replace("Ada", "[name]"))
    sample = {
        "id": "a",
        "prompt": "I am Ada",
        "messages": [{"role": "user", "content": "Ada"}],
        "turns": [{"role": "assistant", "content": "hello Ada"}],
        "note": {"who": "Ada"},
    }
    run.log_samples([sample], step=0)
    run.finish()
    assert not any(b"Ada" in path.read_bytes() for path in run.folder.glob("*.log"))
    assert recorded(run).rows["samples"][0]["prompt"] == "I am [name]"


def test_text_is_withheld_when_redaction_fails(init, recorded, capfd):
    def broken(text):
        raise RuntimeError("no model loaded")

    run = init(redact=broken)
    run.log_samples([{"id": "a", "prompt": "secret", "reward": 1.0}], step=0)
    run.finish()
    (row,) = recorded(run).rows["samples"]
    assert row["prompt"] == "[withheld: redact failed]" and row["reward"] == 1.0
    assert recorded(run).losses == {"texts": 1} and "no model loaded" in capfd.readouterr().err


def test_a_budget_thins_text_keeps_the_telling_samples_and_counts(init, recorded):
    run = init(keep_text=10)
    samples = [{"id": str(i), "prompt": "p" * 100, "reward": float(i % 50)} for i in range(100)]
    samples[33]["discard_reason"] = "too long"
    run.log_samples(samples, step=0)
    run.finish()
    got = recorded(run)
    kept = {row["id"] for row in got.rows["samples"] if "prompt" in row}
    assert 8 <= len(kept) <= 14 and "33" in kept and kept & {"49", "99"} and kept & {"0", "50"}
    assert all(row["extra"]["thinned"] == ["prompt"] for row in got.rows["samples"] if "prompt" not in row)
    assert got.losses["sample texts"] == 100 - len(kept) and all("reward" in row for row in got.rows["samples"])


def test_a_size_lasts_for_later_steps(init, recorded):
    run = init(keep_text="100kB")
    for step in range(40):
        run.log_samples([{"id": f"{step}-{i}", "prompt": "p" * 1_000} for i in range(10)], step=step)
    got = [row for row in rows(recorded, run) if "prompt" in row]
    assert sum(len(row["prompt"]) for row in got) <= 100_000 and max(row["step"] for row in got) > 15


def test_tokens_have_a_budget_of_their_own(init, recorded):
    run = init(keep_tokens="none")
    run.log_samples([{"id": "a", "prompt": "p", "logp": [-1.0, -2.0]}], step=0)
    (row,) = rows(recorded, run)
    assert row["prompt"] == "p" and "logp" not in row


def test_a_bad_budget_is_an_error_that_lists_the_forms(init):
    with pytest.raises(rs.RollscopeError, match="every how many samples"):
        init(keep_text="plenty")


def test_evaluations_keep_rows_metrics_and_samples(init, recorded):
    run = init()
    results = []
    for task, repeat in itertools.product(range(3), range(2)):
        scores, sample = {"accuracy": float((task + repeat) % 2)}, {"completion": f"answer {repeat}"}
        results.append({"task": task, "repeat": repeat, "scores": scores, "answer": repeat, "sample": sample})
    results[0] |= {"failed": True}
    run.log_eval("gsm8k", step=7, results=results)
    run.finish()
    got = recorded(run)
    evals = got.rows["evals"]
    assert [(e["set"], e["task"], e["repeat"], e["scores"]["accuracy"], e["failed"]) for e in evals[:2]] == [
        ("gsm8k", "0", 0, 0.0, True),
        ("gsm8k", "0", 1, 1.0, False),
    ]
    assert all(block.labels.split == "eval" for block in got.metrics) and not run.losses
    assert got.values["eval/gsm8k/accuracy/mean@2", 7]
    samples = {row["id"]: row for row in got.rows["samples"]}
    assert len(samples) == 6 and all(row["split"] == "eval" for row in samples.values())
    assert {e["sample"] for e in evals} == set(samples)


def test_a_value_of_the_wrong_type_does_not_hold_up_others(init, recorded, capfd):
    run = init()
    run.note("good", step=1)
    run.note("bad", step="first")
    run.log_span("x", 1, 2, step="later")
    run.log_eval("set", [{"task": 1, "repeat": "one", "scores": {"s": 1.0}}], step=0)
    run.log({"a": 1.0}, step=0)
    run.finish()
    got = recorded(run)
    notes = [(note["text"], note.get("step")) for note in got.rows["notes"] if note["kind"] == "note"]
    assert notes == [("good", 1), ("bad", None)]
    assert got.rows["spans"][0]["name"] == "x" and got.rows["evals"][0]["task"] == "1" and got.values["a", 0]
    assert run.losses and "should be int64" in capfd.readouterr().err


def test_many_samples_in_one_call_all_arrive(init, recorded):
    run = init()
    run.log_samples({"id": [str(i) for i in range(3_000)], "reward": np.arange(3_000.0)}, step=0)
    run.log_samples([{"id": str(i), "trained": True} for i in range(3_000)], step=0)
    assert len(rows(recorded, run)) == 6_000


CHANGING = {
    "a dict": lambda: {"format": 1.0},
    "a dict of dicts": lambda: {"judge": {"a": 1.0, "b": [1, 2]}},
    "a list": lambda: ["x", "y"],
    "a list of dicts": lambda: [{"role": "user", "content": ["hi"]}],
    "an array": lambda: np.array([1.0, 2.0]),
    "a tensor": lambda: torch.tensor([1.0, 2.0]),
    "a set": lambda: {"x"},
}


def _spoil(value):
    """Change a value in place, as deep as it goes."""
    if isinstance(value, dict):
        [_spoil(inner) for inner in value.values()]
        value.clear()
        value["changed"] = 1
    elif isinstance(value, list):
        [_spoil(inner) for inner in value]
        value.append("changed")
    elif isinstance(value, set):
        value.add("changed")
    elif hasattr(value, "fill_"):
        value.fill_(-9)
    elif isinstance(value, np.ndarray):
        value[:] = -9


@pytest.mark.parametrize("some", [True, False], ids=["every sample has one", "some have none"])
@pytest.mark.parametrize("make", CHANGING.values(), ids=CHANGING)
def test_no_mutable_value_is_shared_with_the_caller(init, recorded, make, some):
    run = init()
    samples = [{"id": str(i), "reward": 1.0, **({"thing": make()} if some or i % 3 else {})} for i in range(700)]
    run.log_samples(samples, step=0, common=(common := make()))
    for sample in samples:
        _spoil(sample)
    _spoil(common)
    got = rows(recorded, run)
    assert [row["id"] for row in got] == [str(i) for i in range(700)] and not run.losses
    value = make()
    value = value.tolist() if hasattr(value, "tolist") else sorted(value) if isinstance(value, set) else value
    assert all(row["extra"]["common"] == value for row in got)
    assert [row["extra"].get("thing") for row in got] == [value if some or i % 3 else None for i in range(700)]


def test_samples_with_other_keys_stay_in_their_order(init, recorded):
    run = init()
    run.log_samples([{"id": "a", "reward": 1.0}, {"id": "a", "score": 2.0}, {}, {"reward": 3.0, "id": "a"}], step=0)
    got = rows(recorded, run)
    pairs = [(row.get("reward"), row.get("score")) for row in got]
    assert pairs == [(1.0, None), (None, 2.0), (None, None), (3.0, None)]
    assert [row["id"] == "a" for row in got] == [True, True, False, True]


def test_an_item_that_is_not_a_sample_does_not_lose_the_others(init, recorded, capfd):
    run = init()
    run.log_samples([{"id": "a"}, None, "text", rs.Sample(id="b")], step=0)
    assert [row["id"] for row in rows(recorded, run)] == ["a", "b"]
    assert recorded(run).losses == {"samples": 2}
    assert "a sample is a dict or an rs.Sample, not NoneType" in capfd.readouterr().err
