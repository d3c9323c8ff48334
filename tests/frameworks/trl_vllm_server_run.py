"""Train with TRL and a vLLM server on the CPU, recorded by Rollscope.

    python trl_vllm_server_run.py OUT PORT PORT

Starts `vllm serve` at the first port as TRL's guide says, trains with it in TRL's server mode, and then with TRL's
asynchronous trainer. Writes what `trl_vllm_run.py` writes, to `OUT/server` and `OUT/async`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trl_vllm_cpu
import trl_vllm_run
import vllm_weights
from trl.experimental.async_grpo import weight_transfer
from trl.generation import vllm_client
from trl_run import policy

FLAGS = (  # the first three are those of TRL's guide
    *("--weight-transfer-config", '{"backend": "nccl"}'),
    *("--logprobs-mode", "processed_logprobs", "--max-logprobs", "-1"),
    *("--max-model-len", "256", "--max-num-seqs", "16", "--dtype", "float32", "--enforce-eager"),
    *("--host", "127.0.0.1", "--worker-extension-cls", "vllm_weights.Extension"),
)


def main(out: str, port: str, transfer: str) -> None:
    join_on_cpu()
    with server(out, port) as url:
        settings = {"vllm_mode": "server", "vllm_server_base_url": url, "vllm_server_timeout": 900.0}
        trl_vllm_run.KINDS["server"] = {**settings, "max_steps": 5, "vllm_group_port": int(transfer)}
        trl_vllm_run.train("server", f"{out}/server")


def join_on_cpu() -> None:
    """Let TRL's clients send weights without NCCL, and not ask for a CUDA device."""
    for client in (vllm_client, weight_transfer):
        client.open_trainer_endpoint = vllm_weights.join_as_trainer
        client.packed_nccl_broadcast_producer = vllm_weights.send
    join = vllm_client.VLLMClient.init_communicator
    vllm_client.VLLMClient.init_communicator = lambda self, device: join(self, device="cuda")  # any without a number


@contextlib.contextmanager
def server(out: str, port: str) -> Iterator[str]:
    """`vllm serve`, which begins while the trainers wait for it as they do."""
    os.makedirs(out, exist_ok=True)
    model = policy(trl_vllm_run.speaker(), trl_vllm_run.SIZES).name_or_path
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", model, "--port", port, *FLAGS]
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
