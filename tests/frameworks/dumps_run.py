"""Write a small dump with a framework's own code: `python dumps_run.py NAME FOLDER`.

The four rollouts of two groups are the same for every framework; `tests/sources/test_packages.py`
reads what was written, and the copies in `tests/golden/dumps`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

STEP = 3
ROLLOUTS = [  # group, prompt, completion, reward
    (0, "2 + 2?", "4", 1.0),
    (0, "2 + 2?", "5", 0.0),
    (1, "3 + 3?", "6", 1.0),
    (1, "3 + 3?", "It is 6.", 0.5),
]


def verifiers(root: Path) -> None:
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.episode import Episode, GroupInfo, PolicySpan, TrainRunInfo, TrainWorkInfo
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.task import TaskData
    from verifiers.v1.trace import AgentInfo, Reward, Trace, TraceTask
    from verifiers.v1.types import AssistantMessage, UserMessage

    path = root / "rollouts" / f"step_{STEP}" / "train" / "all" / "traces.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        for i, (group, prompt, completion, reward) in enumerate(ROLLOUTS):
            task = TraceTask(type="Task", data=TaskData(idx=group, prompt=prompt), key=f"sum-{group}")
            trace = Trace(id=f"trace-{i}", task=task, agent=AgentInfo(config=AgentConfig()))
            asked = MessageNode(message=UserMessage(content=prompt), token_ids=[1, 2], mask=[False, False])
            said = {"token_ids": [3, 4], "mask": [False, True], "logprobs": [-0.5]}
            trace.nodes = [
                asked,
                MessageNode(parent=0, message=AssistantMessage(content=completion), sampled=True, **said),
            ]
            trace.rewards = {"right": Reward(score=reward)}
            trace.metrics = {"words": float(len(completion.split()))}
            run = TrainRunInfo(id="r", work=TrainWorkInfo(step=STEP, policy=PolicySpan(start=2, end=3)))
            episode = Episode(id=f"e{i}", task=task, group=GroupInfo(id=str(group)), run=run, traces=[trace])
            file.write(json.dumps(episode.to_record()) + "\n")


def tinker(root: Path) -> None:
    import tinker
    from tinker_cookbook.completers import TokensWithLogprobs
    from tinker_cookbook.rl.rollout_logging import serialize_rollout_summaries
    from tinker_cookbook.rl.types import Trajectory, TrajectoryGroup, Transition
    from tinker_cookbook.stores.storage import LocalStorage
    from tinker_cookbook.stores.training_store import TrainingRunStore

    def trajectory(prompt: str, completion: str, reward: float) -> Trajectory:
        seen = tinker.ModelInput.from_ints([1, 2])
        action = TokensWithLogprobs(tokens=[3, 4, 5], maybe_logprobs=[-0.5] * 3)
        logs = {"question": prompt, "response": completion}
        step = Transition(ob=seen, ac=action, reward=reward, episode_done=True, metrics={"correct": reward}, logs=logs)
        return Trajectory(transitions=[step], final_ob=seen)

    groups = []
    for number in (0, 1):
        own = [rollout for rollout in ROLLOUTS if rollout[0] == number]
        groups.append(TrajectoryGroup([trajectory(*one[1:]) for one in own], [0.0] * len(own), [{}] * len(own)))
    store = TrainingRunStore(LocalStorage(str(root)))
    known = {"split": "train", "iteration": STEP, "trajectory_groups_P": groups, "taglist_P": [["sums"]] * 2}
    store.write_rollouts(STEP, serialize_rollout_summaries(**known, sampling_client_steps_P=[2, 2]))
    store.write_metrics({"env/all/reward/total": 0.625}, step=STEP)
    store.write_timing_spans(STEP, [{"name": "sampling", "duration": 2.0, "wall_start": 0.0, "wall_end": 2.0}])


def art(root: Path) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from art.trajectories import Trajectory, TrajectoryGroup
    from art.utils.trajectory_logging import write_trajectory_groups_parquet
    from openai.types.chat.chat_completion import Choice
    from openai.types.chat.chat_completion_message import ChatCompletionMessage

    def trajectory(prompt: str, completion: str, reward: float) -> Any:
        said = ChatCompletionMessage(role="assistant", content=completion)
        answer = Choice(finish_reason="stop", index=0, message=said)
        return Trajectory(messages_and_choices=[{"role": "user", "content": prompt}, answer], reward=reward)

    groups = [TrajectoryGroup([trajectory(*one[1:]) for one in ROLLOUTS if one[0] == group]) for group in (0, 1)]
    path = root / "trajectories" / "train" / f"{STEP:04d}.parquet"
    path.parent.mkdir(parents=True)
    write_trajectory_groups_parquet(groups, path)


def swift(root: Path) -> None:
    """The writer of ms-swift; the table is filled as its GRPO trainer fills it."""
    from swift.utils.io_utils import JsonlWriter, append_to_jsonl

    _, prompts, completions, rewards = zip(*ROLLOUTS, strict=True)
    table = {"step": [str(STEP)] * 4, "prompt": list(prompts), "completion": list(completions)}
    JsonlWriter(str(root / "completions.jsonl")).append({**table, "Accuracy": list(rewards), "advantages": [0.0] * 4})
    append_to_jsonl(str(root / "logging.jsonl"), {"reward": 0.625, "global_step/max_steps": f"{STEP}/10"})


class Words:
    """A tokenizer whose tokens are the numbers of texts."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(self._texts[id] for id in ids)


def skyrl(root: Path) -> None:
    import typing

    import typing_extensions

    typing.TypedDict = typing_extensions.TypedDict  # type: ignore[assignment]  # pydantic asks for it before 3.12
    from skyrl.train.utils.trainer_utils import dump_per_dataset_eval_results

    _, prompts, completions, rewards = zip(*ROLLOUTS, strict=True)
    numbers = {"prompt_token_ids": [[i] for i in range(4)], "response_ids": [[i + 4] for i in range(4)]}
    outputs = {**numbers, "rewards": list(rewards), "stop_reasons": ["stop"] * 4}
    folder = root / "dumped_evals" / f"global_step_{STEP}_evals"
    folder.mkdir(parents=True)
    about = (["sums"] * 4, ["gsm8k"] * 4, [{"reward_spec": {"ground_truth": "4"}}] * 4)
    dump_per_dataset_eval_results(
        folder, Words(*prompts, *completions), outputs, *about, {"eval/sums/avg_score": 0.625}
    )
    from skyrl_run import dump

    dump(root, list(rewards), STEP)


def areal(root: Path) -> None:
    import asyncio
    import threading
    from types import SimpleNamespace

    import torch
    from areal.infra.workflow_executor import WorkflowExecutor

    executor = object.__new__(WorkflowExecutor)  # only what its dump needs
    executor._tokenizer_lock = threading.Lock()
    executor.config = SimpleNamespace(tokenizer_path="x", fileroot=str(root), experiment_name="e", trial_name="t")
    executor._get_dump_dir = lambda is_eval: str(root / ("eval-rollout" if is_eval else "rollout"))
    _, prompts, completions, _ = zip(*ROLLOUTS, strict=True)
    executor._tokenizer = Words(*prompts, *completions)
    for group in (0, 1):
        own = [i for i, one in enumerate(ROLLOUTS) if one[0] == group]
        ids = torch.tensor([[i, i + 4] for i in own])
        mask = torch.tensor([[0, 1]] * len(own))
        known = {"input_ids": ids, "loss_mask": mask, "attention_mask": torch.ones_like(ids)}
        rewards = torch.tensor([ROLLOUTS[i][3] for i in own])
        trajectory = {**known, "rewards": rewards, "versions": torch.tensor([[2, STEP]] * len(own))}
        done, why = asyncio.run(executor._dump_trajectory(trajectory, group, is_eval=False))
        assert done, why


def telescope(root: Path) -> None:
    """Its event logger, with a folder in place of a W&B run. A checkout of it is on the path."""
    from types import SimpleNamespace

    from telescope.orchestrator.loggers.event_logger import EvalGenerationRollout, EvalPrompt, EventLogger
    from telescope.orchestrator.loggers.event_logger import GenerationRecord as Generation

    logger = EventLogger()
    logger.initialize(SimpleNamespace(dir=str(root), name="sums", save=lambda *_, **__: None, summary={}))
    for i, (group, prompt, completion, reward) in enumerate(ROLLOUTS):
        at = {"group_id": group, "sample_id": i, "generation_idx": 0, "server_id": 0, "server_lane": i}
        logger.log_rollout_event("generation", "start", timestamp=1e9 + i, **at)
        logger.log_rollout_event("generation", "end", timestamp=1e9 + i + 2, **at)
        said = {"generation_idx": 0, "content": completion, "tokens": 2, "prompt_tokens": 3, "stop_reason": "eos"}
        known = {"reward": reward, "advantage": reward - 0.5, "env": "sums", "tokens_prompt": 3, "total_tokens": 5}
        more = {
            "sample_metrics": {"right": reward},
            "golden_answers": {"answer": "4"},
            "sample_tags": {"level": "easy"},
        }
        logger.log_generation_rollout(STEP, group, i, prompt, [said], **known, **more, stop_reason="final_answer")
    logger.log_event("forward", "trainer", STEP, rank=0, start_time=1e9 + 5, end_time=1e9 + 6, microbatch=0)
    logger.log_infra_event("weight_sync", "start", timestamp=1e9 + 7, step=STEP, server_id=0)
    logger.log_infra_event("weight_sync", "end", timestamp=1e9 + 8, step=STEP, server_id=0)
    logger.log_step_metric(STEP, "grad_norm", 0.5)
    task = {"step": STEP, "eval_name": "sums", "model_step": STEP, "sample_idx": 0, "env": "sums", "sample_id": 9}
    logger.log_eval_prompt(EvalPrompt(**task, prompt="5 + 5?", tokens_prompt=3))
    right = {"sample_metrics": {"right": 1.0}, "completion_idx": 0, "generations": [Generation(0, "10", tokens=2)]}
    logger.log_eval_rollout(EvalGenerationRollout(**task, **right))
    logger.finish()


def agentlightning(root: Path) -> None:
    """What its exporter sends, as a collector writes it: a line of OTLP's JSON for each request."""
    import asyncio

    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = "rl.run.id=agentlightning"
    from agentlightning_run import answering, line, rollouts

    with (root / "spans.jsonl").open("w") as file, answering(lambda body: _kept(file, line(body))) as url:
        asyncio.run(rollouts(f"{url}/v1/traces"))


def _kept(file: Any, text: str) -> bytes:
    file.write(text + "\n")
    return b""


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    writers = {one.__name__: one for one in (verifiers, tinker, art, swift, skyrl, areal, telescope, agentlightning)}
    writers[sys.argv[1]](folder)
