"""Train with TRL and a real vLLM engine on the CPU, recorded by Rollscope.

    python trl_vllm_run.py OUT KIND...

Runs in the environment of vLLM, all trainings in one process with one engine. KIND is one of
KINDS. Writes `OUT/KIND/runs` (what Rollscope stored), `OUT/KIND/log_history.json` (what the
trainer logged) and `OUT/KIND/answers.json` (what the engine returned to the trainer).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import trl_vllm_cpu
from trl_run import WORDS, Dataset, brevity_reward, common, digit_reward, policy, tokenizer
from trl_tools_run import add, said

SIZES = {  # heads of 32, the smallest that vLLM's attention on the CPU knows
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 2048,  # longer than the description of the tool
}
CALL = r'<tool_call>\n\{"name": "add", "arguments": \{"a": 2, "b": [1-4]\}\}\n</tool_call>|It is [0-9]\.'
SETTINGS: dict[str, Any] = {
    "use_vllm": True,
    "vllm_mode": "colocate",
    "vllm_max_model_length": SIZES["max_position_embeddings"],
    "per_device_train_batch_size": 8,
    "num_generations": 4,
    "max_completion_length": 16,
    "beta": 0.04,
    "learning_rate": 3e-2,  # so large that an engine with old weights is found out
}
KINDS: dict[str, dict[str, Any]] = {
    "grpo": {"max_steps": 6, "eval_strategy": "steps", "eval_steps": 3, "per_device_eval_batch_size": 8},
    # Two updates of a generation; the engine draws from fewer tokens than the trainer assumes.
    "grpo_split": {
        "max_steps": 6,
        "steps_per_generation": 2,
        "gradient_accumulation_steps": 1,
        "epsilon": 0.02,
        "top_k": 40,
        "vllm_importance_sampling_mode": "token_truncate",
        "vllm_importance_sampling_clip_min": 0.1,
    },
    # Two updates with the same samples; some are masked, since the engine draws from fewer tokens.
    "grpo_twice": {
        "max_steps": 6,
        "num_iterations": 2,
        "epsilon": 0.02,
        "beta": 0.0,
        "top_p": 0.95,
        "vllm_importance_sampling_clip_min": 0.5,
    },
    "rloo": {"max_steps": 4},
    "tools": {
        "max_steps": 2,
        "max_completion_length": 600,
        "max_tool_calling_iterations": 2,
        "vllm_structured_outputs_regex": CALL,
    },
}


def trainer_of(kind: str, out: str) -> Any:
    from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

    tok = speaker()
    model = policy(tok, SIZES)
    arguments = common(out, **{**SETTINGS, **KINDS[kind]})
    about: dict[str, Any] = {"processing_class": tok, "reward_funcs": [digit_reward, brevity_reward]}
    prompts = Dataset.from_dict({"prompt": WORDS * 8, "answer": [str(i) for i in range(64)]})
    if kind == "rloo":
        args = RLOOConfig(**arguments, reward_weights=[1.0, 0.5])
        return RLOOTrainer(model, args=args, train_dataset=prompts, **about)
    if kind == "tools":
        about |= {"reward_funcs": [said], "tools": [add]}
        prompts = Dataset.from_dict({"prompt": [[{"role": "user", "content": f"2 + {i}?"}] for i in range(8)]})
        return GRPOTrainer(model, args=GRPOConfig(**arguments), train_dataset=prompts, **about)
    args = GRPOConfig(**arguments, reward_weights=[1.0, 0.5])
    return GRPOTrainer(model, args=args, train_dataset=prompts, eval_dataset=prompts.select(range(8)), **about)


def speaker() -> Any:
    """A tokenizer that can write chats with calls of tools."""
    from trl.chat_template_utils import qwen3_chat_template

    tok = tokenizer()
    tok.add_special_tokens({"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]})
    tok.chat_template = qwen3_chat_template
    return tok


def train(kind: str, out: str) -> None:
    import rollscope.sources.trl as source

    os.makedirs(out, exist_ok=True)
    os.environ["ROLLSCOPE_DIR"] = out + "/runs"
    trainer = trainer_of(kind, out)
    answers = listen(trainer)
    source.attach(trainer, project="tests", host=False)
    trainer.train()
    for name, content in (("log_history", trainer.state.log_history), ("answers", answers)):
        with open(f"{out}/{name}.json", "w") as file:
            json.dump(content, file)


def listen(trainer: Any) -> list[dict[str, Any]]:
    """What the engine answers: token ids and their log-probabilities, and after which update."""
    answers: list[dict[str, Any]] = []
    generate = trainer.vllm_generation.generate

    def listening(**given: Any) -> Any:
        result = generate(**given)
        for ids, logprobs in zip(result[1], result[2] or [[]] * len(result[1]), strict=True):
            logps = [one[0] for one in logprobs]  # RLOO does not ask for them
            answers.append({"updates": trainer.state.global_step, "ids": list(ids), "logps": logps})
        return result

    trainer.vllm_generation.generate = listening
    return answers


if __name__ == "__main__":
    trl_vllm_cpu.use()
    for kind in sys.argv[2:]:
        train(kind, f"{sys.argv[1]}/{kind}")
