"""Drawn rollouts as veRL's agent loops give them to its trainers."""

from __future__ import annotations

from typing import Any

N, WIDTH, END = 2, 6, 1  # samples of a prompt, most tokens of a response, the token that ends one


class Tokenizer:
    eos_token_id, pad_token_id = END, 0

    def batch_decode(self, rows: Any, skip_special_tokens: bool = False) -> list[str]:
        special = (0, END) if skip_special_tokens else ()
        return [" ".join(f"t{int(token)}" for token in row if int(token) not in special) for row in rows]


def rollouts(count: int, generator: Any, bare: bool = False) -> Any:
    """Answers of random length; the last token ends those that are not cut off.

    A bare batch has no more than veRL needs.
    """
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    lengths = torch.randint(2, WIDTH + 1, (count,), generator=generator)
    mask = (torch.arange(WIDTH) < lengths[:, None]).long()
    responses = torch.randint(5, 90, (count, WIDTH), generator=generator) * mask
    ended = lengths < WIDTH
    responses[ended, lengths[ended] - 1] = END
    words_of_prompts = torch.randint(5, 90, (count, 3), generator=generator)
    prompts = torch.cat([torch.zeros(count, 1), words_of_prompts], 1).long()
    prompts = prompts[::N].repeat_interleave(N, 0)
    attention = torch.cat([(prompts > 0).long(), mask], 1)
    action = mask.clone()
    action[:, 1] = 0  # the second token came from the environment
    scores = torch.zeros(count, WIDTH)
    scores[torch.arange(count), lengths - 1] = torch.randn(count, generator=generator)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "attention_mask": attention,
        "response_mask": action,
        "input_ids": torch.cat([prompts, responses], 1),
        "position_ids": attention.cumsum(1),
        "rm_scores": scores,
    }
    words = {"multi_modal_inputs": np.array([{} for _ in range(count)], dtype=object)}
    about: dict[str, Any] = {"timing": {}}
    if not bare:
        tensors["rollout_log_probs"] = torch.randn(count, WIDTH, generator=generator) * mask
        words["__num_turns__"] = np.full(count, 4)
        words["format"] = np.array([float(i % 2) for i in range(count)], dtype=object)
        about["reward_extra_keys"] = ["format"]
    batch = DataProto(TensorDict(tensors, count), words)
    batch.meta_info = about
    return batch
