"""A tiny model that was taught, for some seconds, to call the tool of `verl_tools.py`.

Nothing else makes a model of this size call a tool: untrained it writes noise. To `add 2 and 3` it
mostly answers with a call, and with the sum when the tool has spoken; to `say` with some letters,
and to `sing` with letters without an end.
"""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

from verl_queue_run import CALL, model

ASKED = {"add": "add 2 and 3", "say": "say it", "sing": "sing it"}
SIZES = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 128}
KINDS, EACH, LESSONS, OUTSIDE = 3, 2, 300, -100
CALLS_COUNT = 10  # times as much as letters, which cannot be guessed


def taught(folder: Path) -> None:
    """Write the model's folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config

    model(folder)
    torch.manual_seed(0)
    config = Qwen2Config.from_pretrained(folder, **SIZES, max_position_embeddings=512)
    pupil = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    learn(pupil, AutoTokenizer.from_pretrained(folder))
    pupil.save_pretrained(folder)


def learn(pupil: Any, tokenizer: Any) -> None:
    import torch

    drawn = random.Random(0)
    optimiser = torch.optim.AdamW(pupil.parameters(), lr=4e-3)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=LESSONS)
    for _ in range(LESSONS):
        rows = [parts for _ in range(EACH) for parts in (call(), short(drawn), endless(drawn))]
        ids, labels = lesson(rows, tokenizer)
        logps = pupil(input_ids=ids).logits[:, :-1].log_softmax(-1)
        wrong = torch.nn.functional.nll_loss(
            logps.transpose(1, 2), labels[:, 1:], ignore_index=OUTSIDE, reduction="none"
        )
        wrong[::KINDS] *= CALLS_COUNT
        wrong.mean().backward()
        optimiser.step()
        slower.step()
        optimiser.zero_grad()


def asked(word: str) -> str:
    return f"<|im_start|>user\n{ASKED[word]}<|im_end|>\n<|im_start|>assistant\n"


def call() -> list[tuple[str, bool]]:
    """A conversation in parts: the words, and whether the model is to write them."""
    told = "\n<|im_start|>tool\n5<|im_end|>\n<|im_start|>assistant\n"
    return [(asked("add"), False), (f"{CALL}<|im_end|>", True), (told, False), ("It is 5.<|im_end|>", True)]


def short(drawn: random.Random) -> list[tuple[str, bool]]:
    return [(asked("say"), False), (letters(drawn, drawn.randint(3, 12)) + "<|im_end|>", True)]


def endless(drawn: random.Random) -> list[tuple[str, bool]]:
    return [(asked("sing"), False), (letters(drawn, 128), True)]


def letters(drawn: random.Random, count: int) -> str:
    return "".join(drawn.choices(string.ascii_lowercase, k=count))


def lesson(rows: list[list[tuple[str, bool]]], tokenizer: Any) -> tuple[Any, Any]:
    """Padded ids of the conversations, and what of them is to be learnt."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    ids, labels = [], []
    for parts in rows:
        words = [(torch.tensor(tokenizer.encode(text, add_special_tokens=False)), own) for text, own in parts]
        ids.append(torch.cat([word for word, _ in words]))
        labels.append(torch.cat([word if own else torch.full_like(word, OUTSIDE) for word, own in words]))
    padded = pad_sequence(ids, batch_first=True, padding_value=tokenizer.pad_token_id)
    return padded, pad_sequence(labels, batch_first=True, padding_value=OUTSIDE)
