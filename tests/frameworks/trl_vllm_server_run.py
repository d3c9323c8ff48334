"""Train with TRL and a vLLM server on the CPU, recorded by Rollscope.

    python trl_vllm_server_run.py OUT PORT PORT

Starts vLLM's server at the first port with the flags of TRL's guide. Trains with it in TRL's
server mode, and then with TRL's asynchronous trainer. Writes what `trl_vllm_run.py` writes, to
`OUT/server` and `OUT/async`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import trl_vllm_cpu
import trl_vllm_run
import vllm_weights
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer, async_grpo_trainer, packing, weight_transfer
from trl.generation import vllm_client
from trl_run import Dataset, common, policy

FLAGS = (  # the first three are those of TRL's guide
    *("--weight-transfer-config", '{"backend": "nccl"}'),
    *("--logprobs-mode", "processed_logprobs", "--max-logprobs", "-1"),
    *("--max-model-len", "256", "--max-num-seqs", "16", "--dtype", "float32", "--enforce-eager"),
    *("--host", "127.0.0.1", "--worker-extension-cls", "vllm_weights.Extension"),
)


def main(out: str, port: str, transfer: str) -> None:
    join_on_cpu()
    model = policy(trl_vllm_run.speaker(), trl_vllm_run.SIZES).name_or_path
    with server(out, model, port) as url:
        settings = {"vllm_mode": "server", "vllm_server_base_url": url, "vllm_server_timeout": 900.0}
        trl_vllm_run.KINDS["server"] = {**settings, "max_steps": 5, "vllm_group_port": int(transfer)}
        trl_vllm_run.train("server", f"{out}/server")
        train_async(f"{out}/async", model, url)


def train_async(out: str, model: str, url: str) -> None:
    import rollscope.sources.trl as source

    os.makedirs(out, exist_ok=True)
    os.environ["ROLLSCOPE_DIR"] = out + "/runs"
    async_grpo_trainer.get_peak_flops_per_device = lambda *_: None  # as of a GPU that TRL does not know
    packing._flash_attn = lambda: SimpleNamespace(flash_attn_varlen_func=attend)
    tok = trl_vllm_run.speaker()
    prompts = Dataset.from_dict({"prompt": [[{"role": "user", "content": f"2 + {i}?"}] for i in range(64)]})
    settings = {"max_steps": 6, "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 16}
    settings |= {"token_budget": -1, "max_staleness": 1, "learning_rate": 3e-2}  # eight samples in each update
    args = AsyncGRPOConfig(**common(out, **settings), vllm_server_base_url=url, max_inflight_tasks=32)
    about = {"reward_funcs": [digits], "processing_class": tok, "train_dataset": prompts}
    trainer = AsyncGRPOTrainer(model, args=args, **about)
    trained = listen(trainer)
    source.attach(trainer, project="tests", host=False)
    trainer.train()
    for name, content in (("log_history", trainer.state.log_history), ("trained", trained)):
        with open(f"{out}/{name}.json", "w") as file:
            json.dump(content, file)


def listen(trainer: Any) -> list[dict[str, Any]]:
    """What comes to the loss: its step, the engine's log-probabilities, and the version then."""
    trained: list[dict[str, Any]] = []
    compute = trainer.compute_loss

    def listening(model: Any, inputs: Any, *more: Any, **others: Any) -> Any:
        logps = inputs["old_log_probs"][inputs["token_index"] >= 0].tolist()
        step = trainer.state.global_step + 1
        trained.append({"step": step, "logps": logps, "version": trainer.model_version})
        return compute(model, inputs, *more, **others)

    trainer.compute_loss = listening
    return trained


def digits(completions: list[Any], **_: Any) -> list[float]:
    return [sum(c.isdigit() or c.isupper() for c in one[-1]["content"]) / 8 for one in completions]


def attend(query: Any, key: Any, value: Any, ends: Any, sees: Any, *_: Any, softmax_scale: Any, **__: Any) -> Any:
    """What FlashAttention computes: a segment sees the keys of the path that ends with it."""
    parts = []
    for (first, last), (start, stop) in zip(pairwise(ends.tolist()), pairwise(sees.tolist()), strict=True):
        length, width = last - first, stop - start
        q, k, v = (x.transpose(0, 1)[None] for x in (query[first:last], key[start:stop], value[start:stop]))
        seen = torch.ones(length, width, dtype=torch.bool).tril(width - length)
        attended = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=seen, scale=softmax_scale, enable_gqa=True
        )
        parts.append(attended[0].transpose(0, 1))
    return torch.cat(parts)


def join_on_cpu() -> None:
    """Let TRL's clients send weights without NCCL, and not ask for a CUDA device."""
    for client in (vllm_client, weight_transfer):
        client.open_trainer_endpoint = vllm_weights.join_as_trainer
        client.packed_nccl_broadcast_producer = vllm_weights.send
    join = vllm_client.VLLMClient.init_communicator
    vllm_client.VLLMClient.init_communicator = lambda self, device: join(self, device="cuda")  # any without a number


@contextlib.contextmanager
def server(out: str, model: str, port: str) -> Iterator[str]:
    """What `vllm serve` starts; that command asks for a package of the name `vllm`.

    The trainers wait until it answers.
    """
    os.makedirs(out, exist_ok=True)
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--port", port, *FLAGS]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]])
    env: dict[str, Any] = {**os.environ, "PYTHONPATH": path, "VLLM_SERVER_DEV_MODE": "1"}
    del env["VLLM_ENABLE_V1_MULTIPROCESSING"]  # that of a colocated engine
    with open(f"{out}/server.log", "w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    trl_vllm_cpu.use()
    main(*sys.argv[1:])
