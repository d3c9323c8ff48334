"""What slime and miles do with the samples of a rollout, as read in their source.

Neither is on PyPI. The samples have the fields of theirs, and a rollout is dumped, logged and made
ready for the training in their order: the last step changes masks that were logged before.
"""

from __future__ import annotations

import importlib
import json
import sys
from argparse import Namespace
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

ASKED = {"role": "user", "content": "2 + 2?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
CHAT: list[dict[str, Any]] = [
    ASKED,
    {"role": "assistant", "content": "I add.", "tool_calls": [CALL]},
    {"role": "tool", "content": "4", "tool_call_id": "c1"},
    {"role": "assistant", "content": "It is 4."},
]
LOG = {
    "custom_rollout_log_function_path": "rollscope.sources.slime.log_rollout",
    "custom_eval_rollout_log_function_path": "rollscope.sources.slime.log_eval_rollout",
}


class Status(Enum):
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"


@dataclass
class Info:
    cached_tokens: int = 0
    total_prompt_tokens: int = 0


@dataclass
class Sample:
    group_index: int | None = None
    index: int | None = None
    rollout_id: int | None = None
    prompt: Any = ""
    tokens: list[int] = field(default_factory=list)
    multimodal_inputs: Any = None
    multimodal_train_inputs: Any = None
    response: str = ""
    response_length: int = 0
    label: str | None = None
    reward: Any = None
    loss_mask: list[int] | None = None
    weight_versions: list[str] = field(default_factory=list)
    rollout_log_probs: Any = None
    rollout_routed_experts: Any = None
    remove_sample: bool = False
    teacher_log_probs: list[float] | None = None
    status: Status = Status.COMPLETED
    metadata: dict[str, Any] = field(default_factory=dict)
    generate_function_path: str | None = None
    train_metadata: dict[str, Any] | None = None
    non_generation_time: float = 0.0
    spec_info: Info = field(default_factory=Info)
    prefix_cache_info: Info = field(default_factory=Info)

    def to_dict(self) -> dict[str, Any]:
        infos = {"spec_info": vars(self.spec_info), "prefix_cache_info": vars(self.prefix_cache_info)}
        return {**self.__dict__, "status": self.status.value, **infos}


class Slime(Sample):
    pass


@dataclass
class Miles(Sample):
    reward_spec: Any = None
    routing_key: str | None = None
    opd_reverse_kl: list[float] | None = None


CLASSES = {"slime": Slime, "miles": Miles}
for name, cls in CLASSES.items():
    cls.__module__ = f"{name}.utils.types"


def rollout(framework: str, step: int) -> list[Any]:
    """Two groups of two samples, no two of them alike."""
    cls, found = CLASSES[framework], []
    for i in range(4):
        words: dict[str, Any] = {
            "group_index": 2 * step + i // 2,
            "index": 4 * step + i,
            "prompt": f"{i // 2} + 2?" if i else [ASKED],
            "tokens": [1, 2, 10 + i, 20 + i, 30 + i],
            "response": f"answer {i}",
            "response_length": 3,
            "label": "4",
            "reward": {"score": 0.5, "format": 1.0} if i == 1 else i / 2,
            "loss_mask": [1, 0, 1] if i == 2 else None,
            "weight_versions": [str(step), str(step + 1)] if i else ["default"],
            "rollout_log_probs": _log_probs(i),
            "rollout_routed_experts": np.zeros((4, 2, 2), np.int32),
            "remove_sample": i == 3,
            "status": Status.TRUNCATED if i == 1 else Status.COMPLETED,
            "metadata": {"difficulty": 3.0 + i, "source": "sums", "seeds": np.arange(3), "nothing": None},
            "non_generation_time": 0.25 * i,
            "spec_info": Info(1, 2),
        }
        found.append(cls(**words))
    found[0].metadata["messages"] = CHAT
    found[1].reward_model_words = "added by the user"  # a field of no class
    return found


def _log_probs(i: int) -> Any:
    import torch

    values = [-0.5, -0.25, -0.125 * (i + 1)]
    return [None, torch.tensor(values, dtype=torch.bfloat16), np.array(values, np.float32), values][i]


def evaluation(framework: str, step: int) -> dict[str, Any]:
    """Two sets, in which samples are numbered from 0 and are in no group."""
    sets = {}
    for name in ("math", "code"):
        samples = rollout(framework, step)[1:3]
        for i, sample in enumerate(samples):
            sample.index, sample.group_index, sample.prompt = i, None, f"{name}?"
            sample.response = f"{name} {i}"
        sets[name] = {"rewards": [1.0, 0.0], "truncated": [False, False], "samples": samples}
    return sets


class Manager:
    """Makes rollouts, dumps and logs them. The file `truth` has what log functions returned."""

    def __init__(self, framework: str, dump: str | None, truth: str) -> None:
        path = None if dump is None else str(Path(dump) / "rollout_data" / "{rollout_id}.pt")
        self.args = Namespace(
            **LOG, save_debug_rollout_data=path, wandb_group="sums", wandb_key="f00dfeed01" * 4, lr=0.1
        )
        self.framework, self.truth = framework, Path(truth)

    def generate(self, step: int) -> None:
        samples = rollout(self.framework, step)
        self._dump(str(step), step, samples)
        self._log("custom_rollout_log_function_path", step, samples, {"rollout/time": 1.0}, 2.5)
        for sample in samples:
            sample.loss_mask = sample.loss_mask or [1] * sample.response_length
            if sample.remove_sample:
                sample.loss_mask = [0] * sample.response_length

    def eval(self, step: int) -> None:
        sets = evaluation(self.framework, step)
        self._dump(f"eval_{step}", step, [one for about in sets.values() for one in about["samples"]])
        self._log("custom_eval_rollout_log_function_path", step, sets, {})

    def _dump(self, name: str, step: int, samples: list[Any]) -> None:
        if self.args.save_debug_rollout_data is not None:
            import torch

            path = Path(self.args.save_debug_rollout_data.format(rollout_id=name))
            path.parent.mkdir(parents=True, exist_ok=True)
            more = {"metadata": {}} if self.framework == "miles" else {}
            torch.save({"rollout_id": step, **more, "samples": [one.to_dict() for one in samples]}, path)

    def _log(self, option: str, step: int, samples: Any, *more: Any) -> None:
        if getattr(self.args, option) is None:
            return
        module, _, name = getattr(self.args, option).rpartition(".")
        returned = getattr(importlib.import_module(module), name)(step, self.args, samples, *more)
        with self.truth.open("a") as file:
            file.write(json.dumps(returned) + "\n")


def main(framework: str, dump: str, truth: str) -> None:
    """Two rollouts and an evaluation. Numbers go to W&B."""
    import wandb

    wandb.init(project="p", name="n", config={})
    for axis in ("rollout", "eval"):
        wandb.define_metric(f"{axis}/step")
        wandb.define_metric(f"{axis}/*", step_metric=f"{axis}/step")
    manager = Manager(framework, dump or None, truth)
    for step in (3, 4):
        manager.generate(step)
        wandb.log({"rollout/raw_reward": 0.75, "rollout/step": step})
    manager.eval(4)
    wandb.log({"eval/math": 0.25, "eval/step": 4})
    wandb.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
