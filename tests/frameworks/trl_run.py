"""Run a few steps of one TRL trainer with a tiny random model, recorded by Rollscope.

    python trl_run.py KIND OUT

Runs in TRL's own environment. KIND is one of grpo, grpo_split, grpo_packed, grpo_ranks, rloo,
dpo, kto, reward, sft, ppo, callback, report_to. Writes `OUT/runs` (what Rollscope stored) and
`OUT/log_history.json` (what the trainer logged).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRL_EXPERIMENTAL_SILENCE": "1"}

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen2ForSequenceClassification

torch.set_num_threads(1)
torch.manual_seed(0)
WORDS = ["add 2 and 3", "add 4 and 5", "say 7", "count to 3", "what is 9", "half of 8", "ten less 1", "2 times 2"]


def tokenizer() -> PreTrainedTokenizerFast:
    letters = ["<pad>", "<eos>", "<unk>", *sorted(set(pre_tokenizers.ByteLevel.alphabet()))]
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    fast.chat_template = "{% for m in messages %}{{ m['role'][0] }}:{{ m['content'] }}\n{% endfor %}"
    return fast


SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
LARGE = {
    "hidden_size": 384,
    "intermediate_size": 1024,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
}


def config(tok: PreTrainedTokenizerFast, sizes: dict[str, int] = SMALL, **more: object) -> Qwen2Config:
    return Qwen2Config(
        vocab_size=len(tok),
        **{"max_position_embeddings": 256, **sizes},
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        **more,
    )


def policy(tok: PreTrainedTokenizerFast, sizes: dict[str, int] = SMALL) -> Qwen2ForCausalLM:
    """A model loaded from a folder, from which the trainer also loads its reference."""
    folder = tempfile.mkdtemp()
    Qwen2ForCausalLM(config(tok, sizes)).save_pretrained(folder)
    tok.save_pretrained(folder)
    return Qwen2ForCausalLM.from_pretrained(folder)


def digit_reward(
    completions: list[str], log_extra: object = None, log_metric: object = None, **_: object
) -> list[float]:
    digits = [sum(c.isdigit() for c in text) for text in completions]
    if callable(log_extra):
        log_extra("digits", digits)
    if callable(log_metric):
        log_metric("custom/has_digit", sum(count > 0 for count in digits) / len(completions))
    return [count / max(1, len(text)) for count, text in zip(digits, completions, strict=True)]


def brevity_reward(completions: list[str], **_: object) -> list[float | None]:
    return [None if not text else -len(text) / 24 for text in completions]


def common(out: str, **more: object) -> dict[str, object]:
    settings = {
        "output_dir": out + "/out",
        "use_cpu": True,
        "report_to": [],
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "seed": 1,
        "bf16": False,
    }
    return {**settings, "gradient_checkpointing": False, "learning_rate": 2e-3, **more}


def rollouts(kind: str, out: str) -> object:
    tok = tokenizer()
    prompts = Dataset.from_dict({"prompt": WORDS * 8, "answer": [str(i) for i in range(64)]})
    more: dict[str, object] = {
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 16,
        "beta": 0.04,
    }
    functions = {"reward_funcs": [digit_reward, brevity_reward], "processing_class": tok}
    # Make the model first: the configuration joins the ranks, and then only rank 0 saves weights.
    model = policy(tok, LARGE if kind in ("grpo_size", "grpo_half") else SMALL)
    if kind == "rloo":
        from trl import RLOOConfig, RLOOTrainer

        args = RLOOConfig(**common(out, **more, max_steps=6, reward_weights=[1.0, 0.5]))
        return RLOOTrainer(model, args=args, train_dataset=prompts, **functions)
    from trl import GRPOConfig, GRPOTrainer

    if kind == "grpo_packed":
        from packing import PackingTrainer as GRPOTrainer
    more |= {"reward_weights": [1.0, 0.5], "max_steps": 25}
    if kind == "grpo":
        more |= {"eval_strategy": "steps", "eval_steps": 10, "per_device_eval_batch_size": 8}
    if kind in ("grpo_split", "grpo_packed"):  # two updates of a generation: ratios leave 1, the batch is shuffled
        more |= {"max_steps": 8, "steps_per_generation": 2, "gradient_accumulation_steps": 1}
        more |= {"learning_rate": 3e-2, "epsilon": 0.02}
    if kind == "grpo_ranks":  # two ranks; 12 samples a step in groups of 4, so that one group is on both
        more |= {"max_steps": 4, "per_device_train_batch_size": 6}
        more |= {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 8}
    if kind == "report_to":
        more |= {"max_steps": 3, "report_to": ["rollscope"]}
    if kind == "callback":
        more |= {"max_steps": 3}
    if kind == "grpo_cost":  # for bench/trl_cost.py
        more |= {"max_steps": 150}
    if kind == "grpo_half":  # for bench/trl_cost.py: steps of about half a second
        more |= {"max_steps": 14, "max_completion_length": 20, "learning_rate": 1e-6}
    if kind == "grpo_size":  # for bench/trl_cost.py: as large as two cores can train
        more |= {"max_steps": 9, "per_device_train_batch_size": 64, "num_generations": 8}
        more |= {"max_completion_length": 96, "learning_rate": 1e-6}
    args = GRPOConfig(**common(out, **more))
    return GRPOTrainer(model, args=args, train_dataset=prompts, eval_dataset=prompts.select(range(8)), **functions)


def pairs(kind: str, out: str) -> object:
    tok = tokenizer()
    data = {"prompt": WORDS * 4, "chosen": [" yes 5"] * 32, "rejected": [" no!"] * 32}
    settings = common(out, max_steps=8, per_device_train_batch_size=4)
    if kind == "dpo":
        from trl import DPOConfig, DPOTrainer

        rows = Dataset.from_dict(data)
        args = DPOConfig(**settings, eval_strategy="steps", eval_steps=4)
        held_out = rows.select(range(4))
        return DPOTrainer(policy(tok), args=args, train_dataset=rows, eval_dataset=held_out, processing_class=tok)
    if kind == "kto":
        try:
            from trl import KTOConfig, KTOTrainer
        except ImportError:
            from trl.experimental.kto import KTOConfig, KTOTrainer
        rows = Dataset.from_dict({"prompt": WORDS * 4, "completion": [" yes", " no"] * 16, "label": [True, False] * 16})
        return KTOTrainer(policy(tok), args=KTOConfig(**settings), train_dataset=rows, processing_class=tok)
    if kind == "reward":
        from trl import RewardConfig, RewardTrainer

        return RewardTrainer(
            Qwen2ForSequenceClassification(config(tok, num_labels=1)),
            args=RewardConfig(**settings),
            train_dataset=Dataset.from_dict(data),
            processing_class=tok,
        )
    from trl import SFTConfig, SFTTrainer

    return SFTTrainer(
        policy(tok),
        args=SFTConfig(**settings),
        train_dataset=Dataset.from_dict({"text": [f"{w} ok" for w in WORDS * 4]}),
        processing_class=tok,
    )


def ppo(out: str) -> object:
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    tok = tokenizer()
    ids = [tok(words)["input_ids"] for words in WORDS * 8]
    rows = Dataset.from_list([{"input_ids": row, "length": len(row)} for row in ids])
    settings = common(
        out,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        num_mini_batches=2,
        response_length=8,
        total_episodes=32,
        num_ppo_epochs=1,
    )
    args = PPOConfig(**settings, num_sample_generations=0)
    heads = config(tok, num_labels=1)
    score = [Qwen2ForSequenceClassification(heads) for _ in range(2)]
    models = (policy(tok), policy(tok), score[0])
    return PPOTrainer(args, tok, *models, rows, value_model=score[1], eval_dataset=rows.select(range(4)))


def main(kind: str, out: str) -> None:
    os.makedirs(out, exist_ok=True)
    os.environ["ROLLSCOPE_DIR"] = out + "/runs"
    import rollscope.sources.trl as source

    make = pairs if kind in ("dpo", "kto", "reward", "sft") else rollouts
    trainer = ppo(out) if kind == "ppo" else make(kind, out)
    if kind == "callback":
        trainer.add_callback(source.RollscopeCallback(project="tests"))
    elif kind != "report_to":
        source.attach(trainer, project="tests", host=False)
    began, cpu = time.perf_counter(), time.process_time()
    trainer.train()
    times = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    if not trainer.accelerator.is_main_process:
        return
    with open(out + "/log_history.json", "w") as file:
        json.dump(trainer.state.log_history, file)
    with open(out + "/times.json", "w") as file:
        json.dump(times, file)


if __name__ == "__main__":
    main(*sys.argv[1:3])
