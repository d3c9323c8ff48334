"""Train a tiny model on the CPU with all of veRL: Ray workers, FSDP engine, vLLM for rollouts.

    python verl_vllm_run.py OUT [MODE]

It starts `python -m verl.trainer.main_ppo` as a user does. The modules that `environment` names let
veRL and vLLM run on the CPU, and write what they held: each answer of vLLM to `OUT/engine.jsonl`,
each batch before its update to `OUT/held/STEP.json`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from verl_vllm_model import ASKED, taught

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
N, STEPS, LONGEST = 4, 3, 64  # samples of a prompt, steps, most tokens of a prompt
WORDS = ("add", "say", "sing", "add")  # the prompts of a step


def main(out: str, mode: str = "sync") -> None:
    folder = Path(out).absolute()
    packages(folder / "site")
    taught(folder / "model")
    prompts(folder / "train.parquet")
    settings = [f"{name}={value}" for name, value in (configuration(folder, mode) | MORE[mode]).items()]
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *settings]
    sys.exit(subprocess.run(command, env=os.environ | environment(folder), cwd=folder).returncode)


def length(width: int) -> dict[str, Any]:
    """Most tokens of an answer, and room for them in the engine."""
    return {"data.max_response_length": width, "actor_rollout_ref.rollout.max_model_len": LONGEST + width}


MORE = {  # in the second, most answers to `sing` are under way when the weights change
    "sync": length(128) | {"trainer.total_training_steps": STEPS, "trainer.test_freq": STEPS},
    "colocate_async": length(384) | {"trainer.total_training_steps": STEPS + 2, "trainer.test_freq": -1},
}


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
    """What an installed Rollscope says of itself; and `vllm`, by which veRL looks for vllm-cpu."""
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


def prompts(file: Path) -> None:
    """Prompts of all steps. Those that ask for a sum are answered in turns, with a tool."""
    import pandas

    rows = [
        {
            "prompt": [{"role": "user", "content": ASKED[word]}],
            "data_source": word,
            "reward_model": {"ground_truth": "5", "style": "rule"},
            "extra_info": {"index": i},
            "agent_name": "tool_agent" if word == "add" else "single_turn_agent",
        }
        for i, word in enumerate(WORDS * STEPS)
    ]
    pandas.DataFrame(rows).to_parquet(file)


def configuration(out: Path, mode: str) -> dict[str, Any]:
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    fsdp = {"fsdp_config.model_dtype": "fp32", "fsdp_config.use_torch_compile": False, "strategy": "fsdp2"}
    exact = {f"fsdp_config.mixed_precision.{part}_dtype": "fp32" for part in ("param", "reduce", "buffer")}
    sizes = {"log_prob_micro_batch_size_per_gpu": len(WORDS) * N}
    return {
        **dict.fromkeys(("data.train_files", "data.val_files"), out / "train.parquet"),
        "data.train_batch_size": len(WORDS),
        "data.max_prompt_length": LONGEST,
        "data.shuffle": False,
        "data.dataloader_num_workers": 0,
        "actor_rollout_ref.model.path": out / "model",
        "actor_rollout_ref.model.use_remove_padding": False,
        "actor_rollout_ref.model.enable_gradient_checkpointing": False,
        "+actor_rollout_ref.model.override_config.attn_implementation": "eager",
        f"{actor}.ppo_mini_batch_size": len(WORDS),
        f"{actor}.ppo_micro_batch_size_per_gpu": len(WORDS) * N,
        f"{actor}.use_kl_loss": True,
        f"{actor}.use_torch_compile": False,
        f"{actor}.optim.lr": 0.0001,
        **{f"actor_rollout_ref.ref.{name}": value for name, value in sizes.items()},
        **{f"actor_rollout_ref.{part}.{name}": value for part in ("actor", "ref") for name, value in fsdp.items()},
        **{f"+actor_rollout_ref.{part}.{name}": value for part in ("actor", "ref") for name, value in exact.items()},
        f"{rollout}.name": "vllm",
        **{f"{rollout}.{name}": value for name, value in sizes.items()},
        f"{rollout}.n": N,
        f"{rollout}.dtype": "float32",
        f"{rollout}.tensor_model_parallel_size": 1,
        f"{rollout}.max_num_seqs": len(WORDS) * N,
        f"{rollout}.enforce_eager": True,
        f"{rollout}.free_cache_engine": False,
        f"+{rollout}.enable_sleep_mode": False,
        f"+{rollout}.engine_kwargs.vllm.kv_cache_memory_bytes": 64 << 20,
        f"{rollout}.agent.num_workers": 1,
        f"{rollout}.multi_turn.enable": True,
        f"{rollout}.multi_turn.function_tool_path": HERE / "verl_tools.py",
        f"{rollout}.checkpoint_engine.update_weights_bucket_megabytes": 8,
        "algorithm.adv_estimator": "grpo",
        "reward.num_workers": 1,
        "reward.custom_reward_function.path": HERE / "verl_vllm_reward.py",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
        "trainer.project_name": "p",
        "trainer.experiment_name": "e",
        "trainer.logger": '["console","file","rollscope"]',
        "trainer.save_freq": -1,
        "trainer.log_val_generations": len(WORDS) * STEPS,
        "trainer.val_before_train": False,
        "trainer.n_gpus_per_node": 1,
        "trainer.nnodes": 1,
        "trainer.device": "cpu",
        "trainer.resume_mode": "disable",
        "trainer.rollout_data_dir": out / "dump",
        "trainer.v1.trainer_mode": mode,
        "+trainer.v1.sampler.sampler_kwargs.poll_interval": 0.05,
        "ray_kwargs.ray_init.num_cpus": 8,
        "+ray_kwargs.ray_init.num_gpus": 1,  # veRL asks Ray for one; nobody uses it
        "+ray_kwargs.ray_init.include_dashboard": False,
        "+ray_kwargs.ray_init.object_store_memory": 200 << 20,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
