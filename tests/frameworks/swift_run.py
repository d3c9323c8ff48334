"""Run a few steps of one ms-swift trainer with a tiny random model, recorded by its callback.

    python swift_run.py KIND OUT

Runs in ms-swift's own environment. KIND is one of grpo, split, tools, dynamic, ranks, sft.
Writes `OUT/runs` (what Rollscope stored), `OUT/log_history.json` (what the trainer logged) and
`OUT/out`, ms-swift's own folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

torch.set_num_threads(1)
HERE = Path(__file__).parent
WORDS = ["add 2 and 3", "add 4 and 5", "say 7", "count to 3", "what is 9", "half of 8", "ten less 1", "2 times 2"]
HISTORY = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good day."}]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"]
ROLLOUTS = {  # settings of every training with rollouts
    "reward_funcs": ["digit", "brevity"],
    "reward_weights": [1, 0.5],
    "num_generations": 4,
    "max_completion_length": 16,
    "gradient_accumulation_steps": 2,
    "beta": 0.04,
    "use_vllm": False,
    "log_entropy": True,
    "log_completions": True,
}
MORE = {
    "grpo": {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "split_dataset_ratio": 0.25},
    "split": {"max_steps": 8, "num_iterations": 2, "learning_rate": 3e-2, "epsilon": 0.02, "overlong_filter": True},
    "tools": {"max_steps": 3, "multi_turn_scheduler": "asks", "max_turns": 2, "agent_template": "hermes"},
    "dynamic": {
        "max_steps": 3,
        "dynamic_sample": True,
        "max_resample_times": 8,
        "reward_funcs": ["rare"],
        "reward_weights": [1],
    },
    "reward_kl": {"max_steps": 4, "kl_in_reward": True, "beta": 5.0, "learning_rate": 3e-2},
    "ranks": {"max_steps": 3},
    "sft": {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "split_dataset_ratio": 0.25},
}


def tokenizer() -> PreTrainedTokenizerFast:
    letters = [*SPECIAL, *sorted(set(pre_tokenizers.ByteLevel.alphabet()))]
    core = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[], unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    named = {"pad_token": SPECIAL[0], "eos_token": SPECIAL[2], "unk_token": SPECIAL[3]}
    return PreTrainedTokenizerFast(tokenizer_object=core, additional_special_tokens=[SPECIAL[1]], **named)


def policy(folder: Path) -> str:
    """A model and its tokenizer, in a folder."""
    torch.manual_seed(0)
    tok = tokenizer()
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    special = {"eos_token_id": tok.eos_token_id, "pad_token_id": tok.pad_token_id, "bos_token_id": None}
    Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tok), **sizes, **heads, **special)).save_pretrained(folder)
    tok.save_pretrained(folder)
    return str(folder)


def dataset(path: Path, with_answers: bool) -> str:
    """Questions; every second one has a history, whose answer is not the policy's."""
    with path.open("w") as file:
        for i, words in enumerate(WORDS * 4):
            messages = [*(HISTORY if i % 2 else []), {"role": "user", "content": words}]
            said = [{"role": "assistant", "content": str(i)}] if with_answers else []
            file.write(json.dumps({"messages": [*messages, *said], "solution": str(i)}) + "\n")
    return str(path)


def plugin() -> str:
    """The path that a user finds out for `--external_plugins`."""
    command = [sys.executable, "-m", "rollscope.sources.swift"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def settings(kind: str, out: Path) -> dict[str, object]:
    known: dict[str, object] = {
        "model": policy(out / "model"),
        "model_type": "qwen2",
        "template": "chatml",
        "dataset": dataset(out / "data.jsonl", kind == "sft"),
        "output_dir": str(out / "out"),
        "external_plugins": [str(HERE / "swift_rewards.py"), plugin()],
        "callbacks": ["rollscope"],
        "tuner_type": "full",
        "torch_dtype": "float32",
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 4,
        "logging_steps": 1,
        "learning_rate": 2e-3,
        "report_to": ["none"],
        "save_strategy": "no",
        "add_version": False,
        "check_model": False,
        "attn_impl": "eager",
        "use_cpu": True,
        "bf16": False,
        "fp16": False,
        "seed": 1,
    }
    rollouts = {} if kind == "sft" else {"rlhf_type": "grpo", **ROLLOUTS}
    return {**known, **rollouts, **MORE[kind]}


def words(settings: dict[str, object]) -> list[str]:
    """The settings as the words of a command line."""
    found: list[str] = []
    for name, value in settings.items():
        found += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    return found


def train(kind: str, out: Path) -> list[dict[str, object]]:
    """Train as the command `swift rlhf` or `swift sft` does; returns what the trainer logged."""
    from swift import rlhf_main, sft_main
    from transformers import Trainer

    trainers, theirs = [], Trainer.train

    def noted(self: Trainer, *args: object, **kwargs: object) -> object:
        trainers.append(self)
        return theirs(self, *args, **kwargs)

    Trainer.train = noted
    try:
        (sft_main if kind == "sft" else rlhf_main)(words(settings(kind, out)))
    finally:
        Trainer.train = theirs
    return trainers[0].state.log_history


def main(kind: str, folder: str) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    os.environ["ROLLSCOPE_DIR"] = str(out / "runs")
    history = train(kind, out)
    if os.environ.get("RANK", "0") == "0":
        (out / "log_history.json").write_text(json.dumps(history))


if __name__ == "__main__":
    main(*sys.argv[1:])
