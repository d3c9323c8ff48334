"""Train a tiny model on the CPU with all of veRL: Ray workers, FSDP engine, and vLLM for the rollouts.

    python verl_vllm_run.py OUT

It starts `python -m verl.trainer.main_ppo` as a user does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from verl_queue_run import model

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROMPTS, N, STEPS, ASKED, WIDTH = 4, 4, 3, 64, 32


def main(out: str) -> None:
    folder = Path(out).absolute()
    packages(folder / "site")
    tiny(folder / "model")
    prompts(folder / "train.parquet")
    settings = [f"{name}={value}" for name, value in configuration(folder).items()]
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *settings]
    sys.exit(subprocess.run(command, env=os.environ | environment(folder), cwd=folder).returncode)


def environment(out: Path) -> dict[str, str]:
    path = [str(out / "site"), str(HERE), os.environ["PYTHONPATH"]]
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "VERL_USE_EXTERNAL_MODULES": "verl_vllm_cpu",
        "VERL_FILE_LOGGER_PATH": f"{out}/logged.jsonl",
        "ROLLSCOPE_DIR": f"{out}/runs",
        "WITNESS": str(out),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }


def packages(site: Path) -> None:
    """What an installed Rollscope says of itself, and a name for vLLM's CPU build by which veRL looks for it."""
    from importlib.metadata import version

    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    about(site, "rollscope", "0", points)
    own = {name: f"verl_vllm_engine:{name}" for name in ("keep_weights", "witness")}
    about(site, "vllm", version("vllm-cpu") + "+cpu", {"vllm.general_plugins": own})


def about(site: Path, name: str, version: str, points: dict[str, dict[str, str]]) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [line for group, own in points.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in own.items()))]
    (folder / "entry_points.txt").write_text("\n".join(lines))


def tiny(folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, Qwen2Config

    model(folder)
    sizes = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 128}
    torch.manual_seed(0)
    config = Qwen2Config.from_pretrained(folder, **sizes, max_position_embeddings=512)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)


def prompts(file: Path) -> None:
    import pandas

    rows = [
        {
            "prompt": [{"role": "user", "content": f"say {i}"}],
            "data_source": "sums",
            "reward_model": {"ground_truth": str(i), "style": "rule"},
            "extra_info": {"index": i},
        }
        for i in range(PROMPTS * STEPS)
    ]
    pandas.DataFrame(rows).to_parquet(file)


def configuration(out: Path) -> dict[str, Any]:
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    fsdp = {"model_dtype": "fp32", "dtype": "float32", "use_torch_compile": False, "strategy": "fsdp2"}
    sizes = {"log_prob_micro_batch_size_per_gpu": PROMPTS * N}
    return {
        **dict.fromkeys(("data.train_files", "data.val_files"), out / "train.parquet"),
        "data.train_batch_size": PROMPTS,
        "data.max_prompt_length": ASKED,
        "data.max_response_length": WIDTH,
        "data.shuffle": False,
        "data.dataloader_num_workers": 0,
        "actor_rollout_ref.model.path": out / "model",
        "actor_rollout_ref.model.use_remove_padding": False,
        "actor_rollout_ref.model.enable_gradient_checkpointing": False,
        "+actor_rollout_ref.model.override_config.attn_implementation": "eager",
        f"{actor}.strategy": "fsdp2",
        f"{actor}.ppo_mini_batch_size": PROMPTS,
        f"{actor}.ppo_micro_batch_size_per_gpu": PROMPTS * N,
        f"{actor}.use_kl_loss": True,
        f"{actor}.use_torch_compile": False,
        f"{actor}.optim.lr": 0.01,
        **{f"{actor}.fsdp_config.{name}": value for name, value in fsdp.items()},
        "actor_rollout_ref.ref.strategy": "fsdp2",
        **{f"actor_rollout_ref.ref.{name}": value for name, value in sizes.items()},
        **{f"actor_rollout_ref.ref.fsdp_config.{name}": value for name, value in fsdp.items()},
        f"{rollout}.name": "vllm",
        **{f"{rollout}.{name}": value for name, value in sizes.items()},
        f"{rollout}.n": N,
        f"{rollout}.dtype": "float32",
        f"{rollout}.tensor_model_parallel_size": 1,
        f"{rollout}.max_model_len": ASKED + WIDTH,
        f"{rollout}.max_num_seqs": PROMPTS * N,
        f"{rollout}.enforce_eager": True,
        f"{rollout}.free_cache_engine": False,
        f"+{rollout}.enable_sleep_mode": False,
        f"+{rollout}.engine_kwargs.vllm.kv_cache_memory_bytes": 64 << 20,
        f"{rollout}.agent.num_workers": 1,
        f"{rollout}.checkpoint_engine.update_weights_bucket_megabytes": 8,
        "algorithm.adv_estimator": "grpo",
        "reward.num_workers": 1,
        "reward.custom_reward_function.path": HERE / "verl_vllm_reward.py",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
        "trainer.project_name": "p",
        "trainer.experiment_name": "e",
        "trainer.logger": '["console","file","rollscope"]',
        "trainer.total_training_steps": STEPS,
        "trainer.save_freq": -1,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.n_gpus_per_node": 1,
        "trainer.nnodes": 1,
        "trainer.device": "cpu",
        "trainer.resume_mode": "disable",
        "trainer.rollout_data_dir": out / "dump",
        "ray_kwargs.ray_init.num_cpus": 8,
        "+ray_kwargs.ray_init.num_gpus": 1,  # veRL asks Ray for one; nobody uses it
        "+ray_kwargs.ray_init.include_dashboard": False,
        "+ray_kwargs.ray_init.object_store_memory": 200 << 20,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
