"""Real TRL GRPO runs of a tiny model, healthy and with seeded faults, for bench/doctor.py.

    .venvs/trl/bin/python bench/doctor_trl.py FOLDER [SEED] [FAULT ...]    (src on PYTHONPATH)

The model is asked for the larger of two digits. A short supervised warm-up teaches it to write one
of them; GRPO teaches it which. An engine with weights of its own samples, as vLLM does beside a
trainer, and gives the log-probabilities. What is there is not trained again.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRL_EXPERIMENTAL_SILENCE": "1"}

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, PrinterCallback, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

STEPS, START, LONGEST = 90, 30, 16
FAULTS = {  # name -> step at which it begins
    "healthy": 0,
    "learning_rate": 0,
    "constant_reward": START,
    "grader_timeouts": START,
    "truncation": 0,
    "length_paid": START,
    "template_bug": 0,
    "stale_weights": START,
}
BURST, PERIOD = 4, 14  # steps in which the grader answers nothing, of so many
SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
FILLERS = (" ok", " so", " yes")
PAIRS = [*itertools.permutations(range(10), 2)]


@dataclass
class Engine:
    """Samples with weights of its own. A fault may keep them old, or give it another template."""

    model: Qwen2ForCausalLM
    tokenizer: PreTrainedTokenizerFast
    fault: str
    longest: int
    at: int = field(default=-1)

    def __call__(self, prompts: Sequence[str], trainer: GRPOTrainer) -> dict[str, Any]:
        step = trainer.state.global_step
        if step != self.at and not (self.fault == "stale_weights" and step >= START):
            self.model.load_state_dict(trainer.accelerator.unwrap_model(trainer.model).state_dict())
            self.at = step
        asked = [self.tokenizer(text)["input_ids"] for text in prompts]
        read = [self.tokenizer(f" {text}")["input_ids"] for text in prompts] if self.fault == "template_bug" else asked
        ids, logps = sampled(self.model, read, self.longest, self.tokenizer.eos_token_id)
        return {"prompt_ids": asked, "completion_ids": ids, "logprobs": logps}


@torch.no_grad()
def sampled(
    model: Qwen2ForCausalLM, prompts: Sequence[list[int]], longest: int, end: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Tokens drawn at temperature 1, with their log-probabilities. Prompts have one length."""
    model.eval()
    tokens, logps = torch.tensor(prompts), []
    for _ in range(longest):
        spread = torch.log_softmax(model(tokens).logits[:, -1].float(), -1)
        drawn = torch.multinomial(spread.exp(), 1)
        logps.append(spread.gather(1, drawn))
        tokens = torch.cat([tokens, drawn], 1)
    written, values = tokens[:, len(prompts[0]) :].tolist(), torch.cat(logps, 1).tolist()
    lengths = [row.index(end) + 1 if end in row else longest for row in written]
    pairs = zip(written, values, lengths, strict=True)
    rows = [(row[:n], value[:n]) for row, value, n in pairs]
    return [row for row, _ in rows], [value for _, value in rows]


class Grader:
    """1 for the larger digit. A fault may change what it pays, from a step on."""

    __name__ = "right"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def __call__(self, completions: list[str], answer: list[str], trainer_state: Any, **_: Any) -> list[float]:
        step = trainer_state.global_step
        if step >= FAULTS[self.fault] and self.fault == "constant_reward":
            return [0.5] * len(completions)
        if self.fault == "grader_timeouts" and step >= START and (step - START) % PERIOD < BURST:
            return [0.0] * len(completions)  # its caller caught the timeout
        paid = [float(first_number(text) == right) for text, right in zip(completions, answer, strict=True)]
        if self.fault == "length_paid" and step >= START:
            return [score + 0.1 * len(text) for score, text in zip(paid, completions, strict=True)]
        return paid


def first_number(text: str) -> str:
    found = re.match(r"\d+", text)
    return found[0] if found else ""


def tokenizer() -> PreTrainedTokenizerFast:
    letters = ["<pad>", "<eos>", "<unk>", *"0123456789,= abcdefghijklmnopqrstuvwxyz"]
    core = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    fast.clean_up_tokenization_spaces = False
    return fast


def warmed_up(tok: PreTrainedTokenizerFast, seed: int, steps: int = 400) -> Qwen2ForCausalLM:
    """A model that answers with one of the two digits, whichever."""
    more = {"num_key_value_heads": 2, "max_position_embeddings": 64, "eos_token_id": tok.eos_token_id}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tok), pad_token_id=tok.pad_token_id, **SIZES, **more))
    optimiser, chance = torch.optim.AdamW(model.parameters(), lr=3e-3), random.Random(seed)
    for _ in range(steps):
        rows = [written(chance, tok) for _ in range(64)]
        width = max(map(len, rows))
        ids = torch.tensor([row + [tok.pad_token_id] * (width - len(row)) for row in rows])
        loss = model(ids, labels=ids.masked_fill(ids == tok.pad_token_id, -100)).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def written(chance: random.Random, tok: PreTrainedTokenizerFast) -> list[int]:
    a, b = chance.choice(PAIRS)
    text = f"{a},{b}={chance.choice((a, b))}" + "".join(chance.choices(FILLERS, k=chance.randint(0, 3)))
    return [*tok(text)["input_ids"], tok.eos_token_id]


def questions(pairs: Sequence[tuple[int, int]]) -> Dataset:
    answers = [str(max(pair)) for pair in pairs]
    return Dataset.from_dict({"prompt": [f"{a},{b}=" for a, b in pairs], "answer": answers})


def trainer(fault: str, seed: int, out: str) -> GRPOTrainer:
    torch.manual_seed(seed)
    tok, longest = tokenizer(), 2 if fault == "truncation" else LONGEST
    folder = tempfile.mkdtemp()
    warmed_up(tok, seed).save_pretrained(folder)
    tok.save_pretrained(folder)
    pairs = random.Random(seed).sample(PAIRS, len(PAIRS))
    more = {"per_device_train_batch_size": 64, "per_device_eval_batch_size": 64, "num_generations": 8}
    rate = 5e-2 if fault == "learning_rate" else 6e-5
    plan = {"max_steps": STEPS, "learning_rate": rate, "lr_scheduler_type": "constant", "beta": 0.02}
    quiet = {"report_to": [], "logging_steps": 1, "save_strategy": "no", "disable_tqdm": True}
    host = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "output_dir": out, "seed": seed}
    settings = {**more, **plan, **quiet, **host, "eval_strategy": "steps", "eval_steps": 10}
    args = GRPOConfig(**settings, max_completion_length=longest)
    engine = Engine(Qwen2ForCausalLM.from_pretrained(folder), tok, fault, longest)
    model = Qwen2ForCausalLM.from_pretrained(folder)
    return GRPOTrainer(
        *(model, Grader(fault), args),
        train_dataset=questions(pairs[16:] * 2),
        eval_dataset=questions(pairs[:16]),
        processing_class=tok,
        rollout_func=engine,
    )


def train(fault: str, seed: int, folder: Path) -> None:
    """Train one run, unless it is there."""
    import rollscope.sources.trl as source

    name = f"{fault}-{seed}-1-{FAULTS[fault]}"
    if (folder / f"{name}.done").exists():
        return
    with tempfile.TemporaryDirectory() as out:
        made = trainer(fault, seed, out)
        made.remove_callback(PrinterCallback)
        source.attach(made, project="bench", name=name, dir=str(folder), host=False)
        made.train()
    (folder / f"{name}.done").touch()


def main() -> None:
    folder, seed = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for fault in sys.argv[3:] or [*FAULTS]:
        train(fault, seed, folder)


if __name__ == "__main__":
    main()
