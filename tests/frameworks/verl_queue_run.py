"""Run veRL's V1 trainer with a stubbed engine, and Rollscope as its logger.

    python verl_queue_run.py OUT [FAULT...]

Runs in veRL's own environment. The training loop, TransferQueue, the replay buffer, the agent loop
with its tool, the advantages, the metrics and the dump of rollouts are veRL's. The engine answers
with scripted text, the workers with drawn log-probabilities; rewards come from a rule. What the
queue held at the update is written to `OUT/held/STEP.json`. For each fault there is a further
training in `OUT/FAULT`, in which our code fails; those with the asynchronous V1 trainers are in
`OUT/colocate_async` and `OUT/separate_async`, one with the fully asynchronous trainer in
`OUT/async`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PROMPTS, N, STEPS, LONGEST = 4, 2, 3, 112
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
UPDATES = 2  # of a step, where trainer and engine are apart
ASYNC = ("colocate_async", "separate_async")
APART = {  # what veRL asks for where the engine has GPUs of its own
    "actor_rollout_ref": {
        "hybrid_engine": False,
        "actor": {"ppo_mini_batch_size": PROMPTS // UPDATES},
        "rollout": {"nnodes": 1, "n_gpus_per_node": 1, "checkpoint_engine": {"backend": "nccl"}},
    },
    "trainer": {"v1": {"separate_async": {"parameter_sync_step": UPDATES}}},
}
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'


def main(out: str, *modes: str) -> None:
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "RAY_USAGE_STATS_ENABLED": "0"}
    import ray
    import verl_async_run

    import faults

    faults.install()
    from rollscope.sources.verl import plugin

    plugin.plug()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    try:
        for mode in ("", *modes, *ASYNC):  # the last ones leave prompts in the queue
            folder = os.path.join(out, mode)
            os.makedirs(f"{folder}/held", exist_ok=True)
            os.environ |= {"ROLLSCOPE_DIR": f"{folder}/runs", "VERL_FILE_LOGGER_PATH": f"{folder}/logged.jsonl"}
            with faults.broken(mode, f"{folder}/runs"):
                step = train(Path(folder), loop, mode if mode in ASYNC else "sync")
            print(f"{mode} ended at step {step}", file=sys.stderr)
        os.environ |= {"ROLLSCOPE_DIR": f"{out}/async/runs", "VERL_FILE_LOGGER_PATH": f"{out}/async/logged.jsonl"}
        print("async ended at version", verl_async_run.train(Path(out, "async")), file=sys.stderr)
    finally:
        ray.shutdown()


def train(out: Path, loop: Any, mode: str) -> int:
    import transfer_queue

    config = configuration(out, mode)
    transfer_queue.init(config.transfer_queue)
    trainer = made(config, out)
    trainer.fit(Manager(config, loop))
    trainer.logger.finish(exit_code=0)
    return int(trainer.global_steps)


def configuration(out: Path, mode: str) -> Any:
    import pandas
    import verl
    from omegaconf import OmegaConf

    model(out / "model")
    rows = [
        {
            "prompt": [{"role": "user", "content": f"add {i} and 3"}],
            "data_source": "sums",
            "reward_model": {"ground_truth": str(i + 3), "style": "rule"},
            "extra_info": {"index": i},
            "agent_name": "tool_agent",
        }
        for i in range(PROMPTS * STEPS)
    ]
    pandas.DataFrame(rows).to_parquet(out / "train.parquet")
    folder, tools = Path(verl.__file__).parent / "trainer" / "config", str(Path(__file__).with_name("verl_tools.py"))
    changes = {
        "data": {
            **dict.fromkeys(("train_files", "val_files"), str(out / "train.parquet")),
            "train_batch_size": PROMPTS,
            "max_prompt_length": 64,
            "max_response_length": LONGEST,
            "shuffle": False,
            "dataloader_num_workers": 0,
            "return_raw_chat": True,
        },
        "actor_rollout_ref": {
            "model": {"path": str(out / "model")},
            "actor": {"ppo_mini_batch_size": PROMPTS, "use_kl_loss": True},
            "rollout": {
                "name": "vllm",
                "n": N,
                "prompt_length": 64,
                "response_length": LONGEST,
                "calculate_log_probs": True,
                "multi_turn": {"enable": True, "function_tool_path": tools, "format": "hermes"},
            },
        },
        "algorithm": {"adv_estimator": "grpo"},
        "transfer_queue": {"enable": True, "backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
        "trainer": {
            "project_name": "p",
            "experiment_name": "e",
            "logger": ["console", "file", "rollscope"],
            "total_training_steps": STEPS,
            "save_freq": -1,
            "test_freq": STEPS if mode == "sync" else -1,
            "log_val_generations": PROMPTS * STEPS,
            "val_before_train": False,
            "n_gpus_per_node": 1,
            "device": "cpu",
            "resume_mode": "disable",
            "balance_batch": True,
            "rollout_data_dir": str(out / "dump"),
            "v1": {"trainer_mode": mode},
        },
    }
    more = APART if mode == "separate_async" else {}
    config = OmegaConf.merge(OmegaConf.load(folder / "_generated_ppo_trainer.yaml"), changes, more)
    OmegaConf.resolve(config)
    return config


def model(folder: Path) -> None:
    """A model's folder: its configuration and a tokenizer of bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config

    special = ["<pad>", "<|im_end|>", "<|im_start|>"]
    letters = {letter: i for i, letter in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    core = Tokenizer(models.BPE(vocab=letters, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(word, special=True) for word in special])
    fast = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<|im_end|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    sizes = {"vocab_size": len(fast), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    Qwen2Config(**sizes, architectures=["Qwen2ForCausalLM"]).save_pretrained(folder)


class Engine:
    """Answers as a policy would: every second session calls the tool, some end at the limit."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self.version = tokenizer, 0
        self._asked: dict[str, int] = {}  # request -> its number

    async def generate(self, request_id: str, prompt_ids: list[int], **_: Any) -> Any:
        import torch
        from verl.workers.rollout.replica import TokenOutput

        first, number = request_id not in self._asked, self._asked.setdefault(request_id, len(self._asked))
        text = CALL if number % 2 and first else "It is 5." if number % 3 else "no" * LONGEST
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        ids = [*ids, self._tokenizer.eos_token_id][:LONGEST]
        drawn = torch.Generator().manual_seed(len(ids) + number)
        logps = (-torch.rand(len(ids), generator=drawn)).tolist()
        versions = {"min_global_steps": self.version, "max_global_steps": self.version}
        return TokenOutput(token_ids=ids, log_probs=logps, extra_fields=versions)


class Reward:
    """A reward worker with two parts: is the answer there, and was the tool called?"""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.compute_score = SimpleNamespace(remote=self._score)

    async def _score(self, data: Any) -> Any:
        text = self._tokenizer.decode(data.batch["responses"][-1])
        parts = {"answer": float("5." in text), "called": float("tool_call" in text), "seen": text[:5]}
        return {"reward_score": parts["answer"] + 0.5 * parts["called"], "reward_extra_info": parts}


class Manager:
    """veRL's agent loop worker in this process, where its manager would start some with Ray."""

    def __init__(self, config: Any, loop: Any) -> None:
        from transformers import AutoTokenizer
        from verl.trainer.ppo.v1 import AgentLoopWorkerTQ

        tokenizer = AutoTokenizer.from_pretrained(config.actor_rollout_ref.model.path)
        self._loop, self.engine = loop, Engine(tokenizer)
        self._worker = self._wait(
            _started(AgentLoopWorkerTQ.__ray_metadata__.modified_class, config, self.engine, Reward(tokenizer))
        )

    def _wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(300)

    def generate_sequences(self, prompts: Any) -> None:
        self._wait(self._worker.generate_sequences(prompts))


async def _started(worker: Any, config: Any, engine: Engine, reward: Reward) -> Any:
    return worker(config, engine, None, [reward])


def made(config: Any, out: Path) -> Any:
    import torch
    import transfer_queue as tq
    from tensordict import TensorDict
    from verl.trainer.ppo.v1 import get_trainer_cls

    drawn = torch.Generator().manual_seed(0)

    def nested(lengths: list[int]) -> Any:
        rows = [-torch.rand(length, generator=drawn) for length in lengths]
        return torch.nested.as_nested_tensor(rows, layout=torch.jagged)

    class Workers:
        """The actor's workers: log-probabilities of all tokens are drawn, updates do nothing."""

        _dispatch_info = {"actor": [0]}

        def compute_log_prob(self, batch: Any, *more: str) -> Any:
            lengths = [tag["seq_len"] for tag in batch.tags]
            fields = {name: nested(lengths) for name in (more or ("log_probs", "entropy"))}
            put = TensorDict(fields, len(lengths))
            return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=put)

        def compute_ref_log_prob(self, batch: Any) -> Any:
            return self.compute_log_prob(batch, "log_probs")

        def save_model_to_cpu(self, update: int) -> None:
            """Weights that are drawn from need no copy."""

        restore_model_from_cpu = clear_cpu_model = save_model_to_cpu

        def update_actor(self, batch: Any) -> Any:
            keep(batch, out / "held" / f"{trainer.global_steps}.json")
            return {"metrics": {"grad_norm": [0.5], "mfu": [0.0], "pg_loss": [0.1]}}

    class Trainer(get_trainer_cls(config.trainer.v1.trainer_mode)):  # type: ignore[misc]
        def _setup(self) -> None:
            """All of it but processes on GPUs."""
            self._init_tokenizer()
            self._init_dataloader()
            self._init_dump_executor()
            self.resource_pool_manager = SimpleNamespace(get_n_gpus=lambda: 1)
            self.reward_loop_manager = SimpleNamespace(reward_loop_worker_handles=[None])
            self.actor_rollout_wg = self.ref_policy_wg = Workers()
            self.ref_in_actor = False
            nothing = dict.fromkeys(("sleep_replicas", "abort_replicas", "resume_generation_replicas"), lambda: None)
            self.checkpoint_manager = SimpleNamespace(**nothing, update_weights=self._updated)
            self.standalone_checkpoint_manager, self.current_mode = self.checkpoint_manager, None
            self.llm_server_manager = SimpleNamespace()
            self._load_checkpoint()

        def _updated(self, version: int) -> None:
            if hasattr(self, "agent_loop_manager"):
                self.agent_loop_manager.engine.version = version

    trainer = Trainer(config)
    trainer.replay_buffer.poll_interval = 0.05
    trainer.init()
    return trainer


def keep(batch: Any, path: Path) -> None:
    """Write what the queue holds of a batch, to be compared with what was recorded."""
    import transfer_queue as tq

    fields = ["prompts", "responses", "loss_mask", "rollout_log_probs", "old_log_probs", "ref_log_prob", "entropy"]
    data = tq.kv_batch_get(
        keys=batch.keys, partition_id=batch.partition_id, select_fields=[*fields, "advantages", "rm_scores"]
    )
    rows = {name: [row.tolist() for row in data[name].unbind()] for name in data.keys()}  # noqa: SIM118
    earlier = json.loads(path.read_text()) if path.exists() else {}  # updates of the same step
    kept = {"keys": batch.keys, **rows}
    path.write_text(json.dumps({name: earlier.get(name, []) + kept[name] for name in kept}))


if __name__ == "__main__":
    main(*sys.argv[1:])
