"""Train a tiny model with veRL: its loop, its FSDP engine, its loss and its optimiser.

    python verl_train_run.py OUT [STEPS]

Runs on the GPU if there is one, else on the CPU. The workers are veRL's own, in this process
instead of one that Ray starts. veRL's rollout engines need vLLM or SGLang, so transformers writes
the answers, with the weights of the actor. Rollscope is one of the loggers. What the trainer held
is written to `OUT/held/STEP.npz`, and `OUT/about.json` says where it ran.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verl_draws import END
from verl_fit_run import configuration
from verl_queue_run import model

PROMPTS, N, WIDTH, ASKED = 4, 4, 16, 4  # prompts of a step, samples of a prompt, tokens of an answer, of a prompt
LAYERS = 2
FSDP = {"strategy": "fsdp2", "fsdp_size": 1, "model_dtype": "fp32", "use_torch_compile": False}


def main(out: str, steps: str = "3") -> None:
    folder = Path(out)
    (folder / "held").mkdir(parents=True, exist_ok=True)
    use_this_machine()
    os.environ |= {"ROLLSCOPE_DIR": f"{out}/runs", "VERL_FILE_LOGGER_PATH": f"{out}/logged.jsonl"}
    import torch

    from rollscope.sources.verl import plugin

    plugin.plug()
    torch.manual_seed(0)
    trainer = made(folder, int(steps))
    trainer.fit()
    about = {"torch": torch.__version__, "device": trainer.device, "steps": trainer.global_steps - 1}
    about |= {"gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None}
    (folder / "about.json").write_text(json.dumps(about))
    print(f"the training ended at step {trainer.global_steps} on {trainer.device}", file=sys.stderr)


def use_this_machine() -> None:
    """Let veRL train here alone, on the CPU if there is no GPU. Called before anything of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    os.environ |= {"MASTER_PORT": str(port), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    import torch

    if not torch.cuda.is_available():
        import verl_cpu

        verl_cpu.use()


def changed(out: Path, device: str) -> Any:
    """veRL's configuration for a tiny model on one device."""
    from omegaconf import OmegaConf

    sizes = {"ppo_mini_batch_size": PROMPTS, "ppo_micro_batch_size_per_gpu": PROMPTS, "use_kl_loss": True}
    engine = {"strategy": "fsdp2", "fsdp_config": FSDP, "use_torch_compile": False}
    changes = {
        "data": {"max_response_length": WIDTH, "max_prompt_length": ASKED},
        "trainer": {"device": device, "n_gpus_per_node": 1},
        "actor_rollout_ref": {
            "model": {
                "path": str(out / "model"),
                "use_remove_padding": False,
                "enable_gradient_checkpointing": False,
                "override_config": {"attn_implementation": "eager"},
            },
            "actor": {**engine, **sizes, "optim": {"lr": 0.01}},
            "ref": {**engine, "log_prob_micro_batch_size_per_gpu": PROMPTS},
            "rollout": {"n": N, "log_prob_micro_batch_size_per_gpu": PROMPTS, "response_length": WIDTH},
        },
    }
    config = OmegaConf.merge(configuration(out), changes)
    OmegaConf.resolve(config)
    return config


class Workers:
    """The actor and the reference in this process: calls return what a group of one would."""

    _dispatch_info = {"actor": [0]}

    def __init__(self, config: Any) -> None:
        from verl.workers.engine_workers import ActorRolloutRefWorker

        self._actor, self._ref = (ActorRolloutRefWorker(config, role) for role in ("actor", "ref"))
        for worker in (self._actor, self._ref):
            worker.init_model()
        self.compute_log_prob, self.update_actor = self._actor.compute_log_prob, self._actor.update_actor
        self.compute_ref_log_prob = self._ref.compute_ref_log_prob

    @property
    def module(self) -> Any:
        return self._actor.actor.engine.module


class Writer:
    """Writes answers with the actor's weights, token by token, and scores them by a rule."""

    def __init__(self, workers: Workers, device: str) -> None:
        self._workers, self._device = workers, device

    def generate_sequences(self, batch: Any) -> Any:
        import torch

        asked = torch.randint(5, 90, (len(batch) // N, ASKED)).repeat_interleave(N, 0)
        answers, logps = self._written(asked.to(self._device))
        return as_batch(asked, answers.cpu(), logps.cpu())

    def _written(self, ids: Any) -> tuple[Any, Any]:
        """Drawn tokens, and the log-probabilities that they were drawn with."""
        import torch

        words, logps, read = [], [], None
        with torch.no_grad():
            for _ in range(WIDTH):
                said = self._workers.module(input_ids=ids, past_key_values=read, use_cache=True)
                scores, read = said.logits[:, -1].float().log_softmax(-1), said.past_key_values
                ids = torch.multinomial(scores.exp(), 1)
                words.append(ids)
                logps.append(scores.gather(1, ids))
        return torch.cat(words, 1), torch.cat(logps, 1)


def as_batch(asked: Any, answers: Any, logps: Any) -> Any:
    """A batch as veRL's agent loops give it. An answer ends with the token `END`."""
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    count = len(answers)
    ended = (answers == END).int()
    mask = (ended.cumsum(1) - ended == 0).long()  # up to the first END, which belongs to the answer
    scores = torch.zeros(count, WIDTH)
    scores[torch.arange(count), mask.sum(1) - 1] = ((answers % 2) * mask).sum(1) / mask.sum(1)
    attention = torch.cat([torch.ones_like(asked), mask], 1)
    tensors = {
        "prompts": asked,
        "responses": answers * mask,
        "attention_mask": attention,
        "response_mask": mask,
        "input_ids": torch.cat([asked, answers * mask], 1),
        "position_ids": (attention.cumsum(1) - 1).clamp(min=0),
        "rm_scores": scores,
        "rollout_log_probs": logps * mask,
    }
    words = {"multi_modal_inputs": np.array([{} for _ in range(count)], dtype=object)}
    batch = DataProto(TensorDict(tensors, count), words)
    batch.meta_info = {"timing": {}}
    return batch


def made(out: Path, steps: int) -> Any:
    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.models.qwen2 import Qwen2Config
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    model(out / "model")
    sizes = Qwen2Config.from_pretrained(
        out / "model", num_key_value_heads=4, intermediate_size=64, num_hidden_layers=LAYERS
    )
    AutoModelForCausalLM.from_config(sizes).save_pretrained(out / "model")

    class Trainer(RayPPOTrainer):
        def __init__(self) -> None:
            self.device = "cuda" if torch.cuda.is_available() else "cpu"
            self.config = changed(out, self.device)
            self.tokenizer = AutoTokenizer.from_pretrained(out / "model")
            self.use_critic, self.use_rm, self.use_reference_policy, self.ref_in_actor = False, False, True, False
            self.actor_rollout_wg = self.ref_policy_wg = Workers(self.config.actor_rollout_ref)
            self.total_training_steps, self.train_dataset = steps, object()
            self.checkpoint_manager = SimpleNamespace(update_weights=lambda *_: None, sleep_replicas=lambda: None)
            self.async_rollout_manager = Writer(self.actor_rollout_wg, self.device)
            self.resource_pool_manager = SimpleNamespace(get_n_gpus=lambda: 1)
            self._init_dump_executor()
            self.train_dataloader = [{"dummy_tensor": torch.zeros(PROMPTS, 1)} for _ in range(steps)]

        def _load_checkpoint(self) -> None:
            pass

        def _start_profiling(self, *_: Any, **__: Any) -> None:
            pass

        _stop_profiling = _start_profiling

        def _update_actor(self, batch: Any) -> Any:
            kept = {name: batch.batch[name].cpu().numpy() for name in batch.batch.keys()}  # noqa: SIM118
            np.savez(out / "held" / f"{self.global_steps}.npz", **kept, uid=batch.non_tensor_batch["uid"].astype(str))
            return super()._update_actor(batch)

    return Trainer()


if __name__ == "__main__":
    main(*sys.argv[1:])
