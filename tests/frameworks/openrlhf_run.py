"""Run OpenRLHF's PPO trainer with a stubbed engine, and Rollscope attached: `... OUT [FAULT...]`.

Runs in veRL's environment with OpenRLHF beside it. The training step, the experience maker, the
advantages, the samples generator and the loggers are OpenRLHF's; the engine answers with drawn
tokens and the workers with drawn log-probabilities. Libraries that need a GPU are empty modules.
What the trainer held is written to `OUT/held/STEP.json`. For each fault there is a further training
in `OUT/FAULT`, in which our code fails; in `fields`, an experience lacks what our hook reads.
"""

from __future__ import annotations

import copy
import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from types import SimpleNamespace as Space
from typing import Any

EMPTY = ("deepspeed", "flash_attn", "ring_flash_attn", "vllm", "peft", "optree")
PROMPTS, N, STEPS, END = 3, 2, 2, 1


class Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that hold a class of any name."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        is_one = name.partition(".")[0] in EMPTY
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_one else None

    def create_module(self, spec: Any) -> Any:
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: _class(name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: Any) -> None: ...


def _class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})


class Tokenizer:
    eos_token_id, pad_token_id = END, 0

    def batch_decode(self, rows: Any, skip_special_tokens: bool = False) -> list[str]:
        special = (0, END) if skip_special_tokens else ()
        return [" ".join(f"t{int(token)}" for token in row if int(token) not in special) for row in rows]

    def decode(self, rows: Any, skip_special_tokens: bool = False) -> list[str]:
        return self.batch_decode(rows, skip_special_tokens)


class Group:
    """Workers that take experiences and do nothing."""

    def async_run_method_batch(self, **_: Any) -> list[Any]:
        return []


def arguments(out: str) -> Any:
    kl = Space(target=None, init_coef=0.01, use_loss=False, estimator="k1")
    advantage = Space(estimator="group_norm", gamma=1.0, lambd=1.0, is_correction_enable=False, no_std_norm=False)
    return Space(
        algo=Space(kl=kl, advantage=advantage, dynamic_filtering_enable=False),
        rollout=Space(n_samples_per_prompt=N, batch_size=PROMPTS, micro_batch_size=2, max_new_tokens=6),
        train=Space(dynamic_batch_enable=False),
        reward=Space(
            clip_range=None, overlong_buffer_len=None, overlong_penalty_factor=None, stop_properly_penalty_coef=None
        ),
        eval=Space(n_samples_per_prompt=1, steps=1, temperature=0.0),
        logger=Space(tensorboard_dir=f"{out}/tb", wandb=Space(key=None, run_name="ppo")),
        ckpt=Space(best_metric_key=""),
        vllm=Space(enable_sleep=False),
        data=Space(max_len=64),
    )


def main(out: str, *modes: str) -> None:
    sys.meta_path.insert(0, Empty())
    import faults

    faults.install()
    faults.FREE = 2_000  # less is written here than in other trainings
    import rollscope.sources.openrlhf as source

    source.attach(project="p", host=False)
    for mode in ("", *modes):
        folder = os.path.join(out, mode)
        os.makedirs(folder, exist_ok=True)
        os.environ["ROLLSCOPE_DIR"] = f"{folder}/runs"
        with faults.broken(mode, f"{folder}/runs"):
            if mode == "fields":  # the last one
                without_masks()
            train(folder)
        print(f"{mode} ended at step {STEPS}", file=sys.stderr)


def without_masks() -> None:
    """Experiences as a version of OpenRLHF would give them that calls its masks otherwise."""
    from rollscope.sources.openrlhf import experiences

    real = experiences._rollouts

    def lacking(held: list[Any]) -> Any:
        less = [Space(**{name: value for name, value in vars(one).items() if name != "action_mask"}) for one in held]
        return real(less)

    experiences._rollouts = lacking


def train(out: str) -> None:
    import torch
    from openrlhf.trainer import ppo_trainer
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    ppo_trainer.ray = Space(get=lambda refs: refs)
    drawn = torch.Generator().manual_seed(0)

    class Maker(ppo_trainer.RemoteExperienceMaker):  # type: ignore[misc]
        def make_experience(self, samples: list[Any]) -> list[Any]:
            for one in samples:
                shape = one.action_mask.shape
                one.action_log_probs, one.base_action_log_probs = (
                    -torch.rand(shape, generator=drawn) for _ in range(2)
                )
                one.kl = torch.zeros(shape)
            return samples

    class Trainer(ppo_trainer.PPOTrainer.__ray_metadata__.modified_class):  # type: ignore[misc]
        def __init__(self, args: Any) -> None:
            group = Group()
            strategy = Space(args=args)
            ppo_trainer.BasePPOTrainer.__init__(self, strategy, group, None, None, None, None, Tokenizer())
            self.experience_maker.__class__ = Maker
            self.samples_generator = SamplesGenerator.__new__(SamplesGenerator)
            self.samples_generator.args, self.samples_generator.tokenizer = args, self.tokenizer
            self.samples_generator._generate_vllm = lambda **kwargs: (rollouts(1), PROMPTS, True)
            self.samples_generator.eval_dataloader = self.eval_dataloader = [(["sums"], ["p0"], ["5"], [None])]
            self.samples_generator.vllm_engines = None

        def _compute_rollout_stats(self, experiences: list[Any]) -> Any:
            self.kept, self.given = [copy.copy(one) for one in experiences], experiences
            return super()._compute_rollout_stats(experiences)

        def ppo_train(self, step: int) -> dict[str, float]:
            for one in self.given:  # as its dynamic batches do, while our thread decodes
                one.index = None
            return {"policy_loss": 0.5, "kl": 0.0}

    def rollouts(many: int) -> list[Any]:
        made = []
        for i in range(PROMPTS * many):
            length = int(torch.randint(2, 7, (1,), generator=drawn))
            tokens = [*(20 + i // many, 21, 22), *torch.randint(5, 90, (length,), generator=drawn).tolist()]
            response = {
                "observation_tokens": tokens,
                "action_ranges": [(3, 4), (5, len(tokens))] if length > 3 else [(3, len(tokens))],
                "rollout_log_probs": [0.0] * 3 + (-torch.rand(length, generator=drawn)).tolist(),
                "prompt": f"p{i // many}",
                "label": str(i // many),
                "reward": float(i % 2) + i / 10,
                "scores": float(i % 2),
                "truncated": length == 6,
                "extra_logs": {"format": i / 4},
            }
            made.append(SamplesGenerator._process_response_into_experience(None, response, max_len=64))
        return made

    trainer = Trainer(arguments(out))
    for step in range(STEPS):
        samples = rollouts(N)
        status, after = trainer.train_step(samples, step)
        trainer.tensorboard_logger.log_train(after, status)
        trainer.evaluate(after, n_samples_per_prompt=1)
        keep(trainer.kept, f"{out}/held/{after}.json")
    trainer.tensorboard_logger.close()


def keep(experiences: list[Any], path: str) -> None:
    """Write what the trainer held of each rollout, in the order of generation."""
    names = ("sequences", "action_mask", "rollout_log_probs", "action_log_probs", "base_action_log_probs", "advantages")
    rows = {}
    for one in experiences:
        for i, index in enumerate(one.index):
            rows[index] = {name: getattr(one, name)[i].tolist() for name in names}
            rows[index] |= {"length": int(one.attention_mask[i].sum()), "reward": float(one.rewards[i])}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump([rows[index] for index in sorted(rows)], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
