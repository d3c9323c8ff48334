"""The README's ten lines as a program: a policy of one table learns to spell a word with GRPO.

It needs only numpy and takes a second.

python examples/01_ten_lines.py && rollscope show
"""

import numpy as np

import rollscope as rs

WORD, GROUP, PROMPTS, LETTERS = "scope", 8, 4, "abcdefghijklmnopqrstuvwxyz"


class Speller:
    """One distribution over letters per position, updated by the policy gradient."""

    def __init__(self, seed: int = 0) -> None:
        self.dice = np.random.default_rng(seed)
        self.logits = np.zeros((len(WORD), len(LETTERS)))

    def logp(self) -> np.ndarray:
        return self.logits - np.log(np.exp(self.logits).sum(-1, keepdims=True))

    def generate(self, step: int) -> dict:
        table = self.logp()
        chosen = np.stack([self.dice.choice(len(LETTERS), GROUP * PROMPTS, p=np.exp(row)) for row in table], axis=1)
        words = ["".join(LETTERS[i] for i in row) for row in chosen]
        reward = np.array([sum(a == b for a, b in zip(word, WORD, strict=True)) / len(WORD) for word in words])
        group = np.repeat(np.arange(PROMPTS), GROUP)
        mean, spread = (np.repeat(f(reward.reshape(PROMPTS, GROUP), axis=1), GROUP) for f in (np.mean, np.std))
        logp = np.take_along_axis(table[None], chosen[..., None], axis=2)[..., 0]
        rows = zip(group, words, reward, strict=True)
        samples = [self.sample(step, i, *row) for i, row in enumerate(rows)]
        return {
            "old_logp": logp,
            "action_mask": np.ones_like(logp),
            "advantages": (reward - mean) / (spread + 1e-6),
            "reward": reward,
            "group": group,
            "task": [sample["task"] for sample in samples],
            "clip_low": 0.2,
            "clip_high": 0.2,
            "chosen": chosen,
            "samples": samples,
        }

    def sample(self, step: int, i: int, group: int, word: str, reward: float) -> dict:
        return {
            "id": f"{step}-{i}",
            "group": f"{step}-{group}",
            "task": f"spell {group}",
            "env": "spelling",
            "prompt": "Spell it.",
            "completion": word,
            "reward": float(reward),
            "completion_tokens": len(word),
            "stop_reason": "stop",
            "trained": True,
        }

    def update(self, batch: dict, rate: float = 1.0) -> np.ndarray:
        probability, advantages = np.exp(self.logp()), batch["advantages"]
        for row, advantage in zip(batch["chosen"], advantages, strict=True):
            gradient = -probability.copy()
            gradient[np.arange(len(WORD)), row] += 1
            self.logits += rate * advantage * gradient / len(advantages)
        return np.take_along_axis(self.logp()[None], batch["chosen"][..., None], axis=2)[..., 0]


def main() -> None:
    policy = Speller()
    config = {"group": GROUP, "rate": 1.0}
    run = rs.init(project="spelling", name="ten-lines", config=config, algorithm="grpo", steps=120)
    run.declare(env="spelling", reward_min=0, reward_max=1)
    for step in range(120):
        with run.span("generate", lane="inference/0", step=step):
            batch = policy.generate(step)
        with run.span("update", lane="trainer/0", step=step):
            batch["logp"] = policy.update(batch)
        samples = batch.pop("samples")
        del batch["chosen"]
        run.log({"custom/logits/largest": float(policy.logits.max())}, step=step)  # never blocks, never raises
        run.log_batch(batch, step=step)  # every metric that the batch supports, computed on another thread
        run.log_samples(step=step, samples=samples)  # every rollout
        run.commit(step)
    run.finish()
    print(f"recorded {run.id} in {run.folder}")


if __name__ == "__main__":
    main()
