"""Small dumps in the formats of frameworks, as their own code writes them.

The shapes were read in the sources of slime, miles, ROLL, NeMo-RL and rLLM, which are not on PyPI;
for the others `tests/frameworks` compares them with what the packages write.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
ASKED = {"role": "user", "content": "2 + 2?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
CHAT: list[dict[str, Any]] = [
    ASKED,
    {"role": "assistant", "content": "I add.", "tool_calls": [CALL]},
    {"role": "tool", "content": "4", "tool_call_id": "c1"},
    {"role": "assistant", "content": "It is 4."},
]


def write_lines(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def slime_samples() -> list[dict[str, Any]]:
    import torch

    same = {"group_index": 7, "prompt": "2 + 2?", "tokens": [1, 2, 3, 4, 5], "response_length": 3, "label": "4"}
    more = {"loss_mask": [1, 0, 1], "weight_versions": ["5", "6"], "metadata": {"difficulty": 3.0, "source": "sums"}}
    first = {**same, **more, "index": 40, "response": "4", "reward": 1.0, "status": "completed"}
    second = {**same, **more, "index": 41, "response": "5 5", "reward": {"score": 0.0, "format": 0.5}}
    logp = torch.tensor([-0.5, -0.25, -0.125], dtype=torch.bfloat16)
    return [
        {**first, "rollout_log_probs": [-0.5, -0.25, -0.125], "remove_sample": False},
        {**second, "rollout_log_probs": logp, "status": "truncated", "remove_sample": True},
    ]


def slime(root: Path) -> Path:
    import torch

    for folder in ("rollout_data", "train_data"):
        (root / folder).mkdir(parents=True)
    torch.save({"rollout_id": 3, "samples": slime_samples()}, root / "rollout_data" / "3.pt")
    torch.save({"rollout_id": 3, "samples": slime_samples()[:1]}, root / "rollout_data" / "eval_3.pt")
    trained = {"sample_index": 40, "rollout_position": 0, "log_probs": torch.tensor([-0.5, -0.25, -0.25])}
    added = {**trained, "advantages": torch.tensor([1.0, 1.0, 1.0]), "response_length": 3}
    torch.save({"format_version": 2, "rollout_id": 3, "samples": [added]}, root / "train_data" / "3.pt")
    return root / "rollout_data" / "3.pt"


def miles(root: Path) -> Path:
    import torch

    for folder in ("rollout_data", "train_data"):
        (root / folder).mkdir(parents=True)
    torch.save({"rollout_id": 3, "metadata": {}, "samples": slime_samples()}, root / "rollout_data" / "3.pt")
    columns = {"sample_indices": [40], "log_probs": [torch.tensor([-0.5, -0.25, -0.25])]}
    data = {**columns, "advantages": [torch.tensor([1.0, 1.0, 1.0])]}
    torch.save({"rollout_id": 3, "rank": 0, "rollout_data": data}, root / "train_data" / "3_0.pt")
    row = {"sample_index": 40, "group_index": 7, "status": "completed", "reward": 1.0, "prompt": [ASKED]}
    write_lines(root / "trajectory" / "3.jsonl", {**row, "messages": CHAT})
    return root / "rollout_data" / "3.pt"


def roll(root: Path) -> Path:
    columns = {
        "id": ["a", "a"],
        "prompt": ["2 + 2?"] * 2,
        "ground_truth": ["4"] * 2,
        "domain": ["sums"] * 2,
        "responses": ["4", "5"],
        "scores": [1.0, 0.0],
        "difficulty": ["easy"] * 2,
        "global_step": [3, 3],
    }
    agentic = {
        "messages": [json.dumps(CHAT)],
        "trajectory_data": [
            json.dumps(
                {
                    "reward_info": {"episode_reward": 1.0},
                    "failure_info": {"stop_reason": "MAX_LENGTH", "has_failure": False},
                }
            )
        ],
        "global_step": [4],
    }
    write_lines(root / "rollout_dump_data.step_4.jsonl", agentic)
    return write_lines(root / "rollout_dump_data.step_3.jsonl", columns)


def nemo_rl(root: Path) -> Path:
    def row(i: int) -> dict[str, Any]:
        return {
            "content": [f"2 + 2?{4 + i}"],
            "rewards": [1.0 - i],
            "input_lengths": [4],
            "token_ids": [[1, 2, 3, 4 + i, 0]],
            "token_loss_mask": [[0, 0, 1, 1, 0]],
            "sample_loss_mask": [1.0 - i],
            "advantages": [[0.5 - i] * 5],
            "generation_logprobs": [[0.0, 0.0, -0.5, -0.25, 0.0]],
            "prev_logprobs": [[0.0, 0.0, -0.5, -0.5, 0.0]],
            "idx": i,
        }

    write_lines(root / "val_data_step3.jsonl", {"content": [CHAT], "rewards": [1.0], "idx": 0})
    return write_lines(root / "train_data_step3.jsonl", row(0), row(1))


def skyrl(root: Path) -> Path:
    def row(i: int) -> dict[str, Any]:
        extras = {"reward_spec": {"ground_truth": "4"}}
        said = {"input_prompt": "2 + 2?", "output_response": str(4 + i), "score": [0.0, 1.0 - i]}
        return {**said, "stop_reason": "stop", "env_class": "gsm8k", "env_extras": extras, "data_source": "sums"}

    shutil.copytree(GOLDEN / "dumps" / "skyrl" / "dumped_data", root / "dumped_data")
    folder = root / "dumped_evals" / "global_step_3_evals"
    write_lines(folder / "aggregated_results.jsonl", {"eval/sums/avg_score": 0.5})
    return write_lines(folder / "sums.jsonl", row(0), row(1))


def areal(root: Path) -> Path:
    def row(i: int) -> dict[str, Any]:
        known = {"task_id": 9, "sample_idx": i, "seqlen": 5, "prompt_len": 3, "head_version": 2, "tail_version": 3}
        return {**known, "reward": 1.0 - i, "prompt": "2 + 2?", "completion": str(4 + i)}

    write_lines(root / "eval-rollout" / "3" / "9.jsonl", row(0))
    return write_lines(root / "rollout" / "3" / "9.jsonl", row(0), row(1))


def trace(i: int) -> dict[str, Any]:
    def node(parent: int | None, message: dict[str, Any], ids: list[int], sampled: bool) -> dict[str, Any]:
        known = {"message": message, "token_ids": ids, "mask": [sampled] * len(ids), "sampled": sampled}
        return {
            **known,
            "logprobs": [-0.5] * len(ids) if sampled else [],
            **({} if parent is None else {"parent": parent}),
        }

    nodes = [
        node(None if at == 0 else at - 1, one, [at, 10 + at], one["role"] == "assistant") for at, one in enumerate(CHAT)
    ]
    rewards = {"right": {"score": 1.0 - i, "weight": 1.0}, "short": {"score": 0.5, "weight": 0.0}}
    timing = {"start": 100.0, "agent": {"start": 100.0, "end": 102.5}, "scoring": {"start": 102.5, "end": 103.0}}
    calls = [{"node": 1, "finish_reason": "tool_calls", "time": {"start": 100.0, "end": 101.0}}]
    known = {"id": f"t{i}", "nodes": nodes, "calls": calls, "rewards": rewards, "metrics": {"words": 2.0}}
    return {**known, "info": {"advantage": 0.5}, "stop_condition": "agent_completed", "timing": timing}


def episode(i: int) -> dict[str, Any]:
    run = {"type": "train", "id": "r", "work": {"type": "train", "step": 3, "policy": {"start": 2, "end": 3}}}
    task = {"type": "Task", "key": "sum-1", "data": {"answer": "4"}}
    return {"id": f"e{i}", "env": {"id": "sums"}, "task": task, "group": {"id": "g"}, "run": run, "traces": [trace(i)]}


def prime_rl(root: Path) -> Path:
    folder = root / "rollouts" / "step_3" / "train"
    failed = {**episode(2), "traces": [], "errors": [{"type": "SandboxError", "message": "no box"}]}
    write_lines(root / "metrics.jsonl", {"step": 3, "time": 1.7e9, "reward/mean": 0.5})
    write_lines(folder / "effective" / "traces.jsonl", episode(0))
    return write_lines(folder / "all" / "traces.jsonl", episode(0), episode(1), failed)


def tinker(root: Path) -> Path:
    def row(i: int) -> dict[str, Any]:
        step = {"step_idx": 0, "ob_len": 3, "ac_len": 2, "reward": 1.0 - i, "episode_done": True}
        logged = {**step, "metrics": {"correct": 1.0 - i}, "logs": {"question": "2 + 2?", "response": str(4 + i)}}
        known = {"schema_version": 1, "split": "train", "iteration": 3, "group_idx": 0, "traj_idx": i, "tags": ["sums"]}
        return {**known, "sampling_client_step": 2, "total_reward": 1.0 - i, "final_reward": 0.0, "steps": [logged]}

    write_lines(root / "metrics.jsonl", {"step": 3, "env/all/reward/total": 0.5})
    span = {"name": "sampling", "duration": 2.0, "wall_start": 0.0, "wall_end": 2.0}
    write_lines(root / "timing_spans.jsonl", {"step": 3, "spans": [span]})
    return write_lines(root / "iteration_000003" / "train_rollout_summaries.jsonl", row(0), row(1))


def swift(root: Path) -> Path:
    table = {"step": ["3", "3"], "prompt": ["2 + 2?"] * 2, "completion": ["4", "5"], "Accuracy": [1.0, 0.0]}
    write_lines(
        root / "logging.jsonl", {"reward": 0.5, "loss": 0.1, "global_step/max_steps": "3/10", "percentage": "30%"}
    )
    return write_lines(root / "completions.jsonl", {**table, "advantages": [0.5, -0.5]})


def art(root: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = [{**one, "tool_calls": json.dumps(one["tool_calls"]) if "tool_calls" in one else None} for one in CHAT]
    messages = [{**one, "trainable": one["role"] == "assistant"} for one in flat]
    same = {"group_index": 0, "metrics": '{"words": 2.0}', "metadata": '{"source": "sums"}', "messages": messages}
    path = root / "trajectories" / "train" / "0003.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([{**same, "reward": 1.0 - i} for i in range(2)]), path)
    at = {"training_step": 3, "step": 3, "recorded_at": "2026-11-01T00:00:00"}
    write_lines(root / "history.jsonl", {"train/reward": 0.5, **at})
    return path


def rllm(root: Path) -> Path:
    def one(i: int) -> Path:
        step = {"observation": "2 + 2?", "reward": 1.0 - i, "model_response": "4", "chat_completions": CHAT}
        path = {"name": "solver", "uid": f"u{i}", "reward": 1.0 - i, "steps": [step]}
        known = {"training_step": 3, "epoch": 0, "episode_id": f"t:{i}", "task": {"ground_truth": "4"}}
        ended = {"task_hash": "abc", "is_correct": not i, "termination_reason": "env_done", "metrics": {"acc": 1.0 - i}}
        file = root / "episodes" / "train_step_3_epoch_0" / f"episode_hashabc_idt_{i}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**known, **ended, "trajectories": [path]}, indent=2))
        return file

    one(1)
    return one(0)


WRITERS: dict[str, Callable[[Path], Path]] = {  # framework -> writes its folder, returns the file of two samples
    writer.__name__: writer
    for writer in (slime, miles, roll, nemo_rl, skyrl, areal, prime_rl, tinker, swift, art, rllm)
}
