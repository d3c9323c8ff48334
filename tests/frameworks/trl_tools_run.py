"""Train with TRL's GRPO and a tool, on the CPU, with Rollscope attached: `... OUT`.

What the policy writes is scripted: a call of the tool, and then an answer. Chat template, parsing
of calls, the loop over tools, masks and training are TRL's.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from trl_run import SMALL, Dataset, common, policy, tokenizer

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": %d}}\n</tool_call>'


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first
        b: the second

    Returns:
        their sum
    """
    if b == 3:
        raise ValueError("3 is too much")
    return a + b


def said(completions: list[Any], **_: Any) -> list[float]:
    return [float(len(one)) for one in completions]


def main(out: str) -> None:
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

    import rollscope.sources.trl as source

    class Scripted(GRPOTrainer):  # type: ignore[misc]
        number = 0

        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
            texts = []
            for ids in prompt_ids:
                answered = "<tool_response>" in tok.decode(ids)
                texts.append("It is done." if answered else CALL % (self.number % 4))
                self.number += not answered
            return [[*tok.encode(text), tok.eos_token_id] for text in texts], None

    tok = tokenizer()
    tok.add_special_tokens({"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]})
    tok.chat_template = qwen3_chat_template
    more = {"per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 400, "max_steps": 2}
    prompts = Dataset.from_dict({"prompt": [[{"role": "user", "content": f"2 + {i}?"}] for i in range(8)]})
    about = {"reward_funcs": [said], "processing_class": tok, "tools": [add], "train_dataset": prompts}
    model = policy(tok, SMALL)
    model.config.max_position_embeddings = 4096  # longer than the description of the tool
    trainer = Scripted(model, args=GRPOConfig(**common(out, **more)), **about)
    source.attach(trainer, host=False)
    trainer.train()


if __name__ == "__main__":
    os.environ["ROLLSCOPE_DIR"] = f"{sys.argv[1]}/runs"
    main(sys.argv[1])
