"""Supervised fine-tuning, alone or beside RL: token loss, accuracy and what the trainers add."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, reported, rlinf, trinity, trl, verl
from rollscope.catalog.spec import metric

key("target_logp", "token", "log-probability of a token that was given to imitate, not sampled")


@metric(
    "sft/loss",
    unit="nats/token",
    good="down",
    range=(0.0, None),
    example="log p -1.0 and -3.0: 2.0",
    names=[
        verl("train/loss", trainer="sft"),
        openrlhf("gpt_loss", trainer="sft"),
        openrlhf("loss_mean", trainer="sft", same=False, note="a running mean on one rank"),
        trl(
            "loss", trainer="sft", same=False, note="token mean over all steps since the last log; ours is of this step"
        ),
        rlinf("train/loss", trainer="sft"),
        rlinf("train/sft_loss", note="the supervised part of co-training"),
        trinity("actor/sft_loss"),
    ],
)
def loss(target_logp_M: Any) -> Mean:
    """Cross-entropy on the answers to imitate.

    Definition: mean over mask tokens of -log p(token), for tokens that were given and not sampled (target_logp); prompts are outside unless the mask holds them.

    Read: Falls fast, then slowly. Perplexity is its exponential. Rising on held-out data is overfitting.

    Check: mask, are prompts or padding inside; learning rate; duplicates in the data.
    """
    return ops.mean(-target_logp_M)


reported(
    "sft/token_accuracy",
    "share",
    "up",
    "Tokens the model would have written itself.",
    "share of label tokens that are the most likely token, Σ right / Σ tokens; in DPO over the chosen answers only.",
    "Easier to read than a loss: 0.6 to 0.8 is usual for text, more for code and templates.",
    "mask of the labels; template shared by all answers",
    "0.67",
    trl("mean_token_accuracy", trainer="sft,dpo", note="sum over sum of all ranks; with Liger a mean of ranks"),
    producer="trainer",
    needs=("the trainer's logits",),
    range=(0.0, 1.0),
)
reported(
    "sft/entropy",
    "nats/token",
    "context",
    "How unsure the model is of the text it is shown.",
    "mean over the answers' tokens of the full-vocabulary entropy of the raw logits, at temperature 1; chosen and rejected answers together in DPO.",
    "Falls as the model learns the text. Not the entropy of what it would write itself: that is policy/entropy.",
    "sft/loss; learning rate when it collapses",
    "5.9",
    trl(
        "entropy",
        trainer="sft,dpo,kto,distillation,async_distillation",
        same=False,
        note="kept as logged: of given text and at temperature 1, where policy/entropy is of sampled text",
    ),
    producer="trainer",
    needs=("the trainer's logits",),
    range=(0.0, None),
)
reported(
    "sft/tokens_seen",
    "tokens",
    "context",
    "Tokens an offline trainer has read so far.",
    "cumulative Σ attention mask over all ranks, prompts included; in DPO and reward models both answers of a pair count.",
    "Another x axis. It survives a resume only where the trainer restores it.",
    "counter/tokens for RL runs",
    "1160",
    trl(
        "num_tokens",
        trainer="sft,dpo,kto,reward",
        same=False,
        note="kept as logged; since 1.16 divided by the tensor-parallel size",
    ),
    kind="last",
    producer="trainer",
    needs=("the trainer's counter",),
    range=(0.0, None),
)
reported(
    "sft/lr",
    "1",
    "context",
    "Learning rate of a trainer without rollouts: SFT, preference pairs or a reward model.",
    "the scheduler's value for the step, the latest where a step has several.",
    "Follows its schedule. When the loss jumps, look here first.",
    "warm-up; what changed at a resume",
    "2e-5",
    verl("train/lr", trainer="sft"),
    verl("train/lr(1e-3)", trainer="sft", scale=1000.0, note="the old FSDP trainer writes thousandths"),
    openrlhf("lr", trainer="sft,dpo,rm"),
    rlinf("train/learning_rate", note="of SFT workers"),
    rlinf("train/lr", note="of value-model workers"),
    kind="last",
    producer="trainer",
    needs=("the scheduler",),
    range=(0.0, None),
)
reported(
    "sft/grad_norm",
    "1",
    "steady",
    "Gradient norm of a trainer without rollouts.",
    "L2 norm over all parameters before clipping, of the last update of the step.",
    "Ten times its usual size is a bad batch or a learning rate too high.",
    "sft/lr; longest sample of the batch; precision",
    "1.1",
    verl("train/grad_norm", trainer="sft"),
    openrlhf("grad_norm", trainer="sft,dpo,rm"),
    rlinf("train/grad_norm", note="of SFT and value-model workers"),
    kind="last",
    producer="trainer",
    needs=("the optimiser's gradient norm",),
    range=(0.0, None),
)
reported(
    "sft/loss_share",
    "ratio",
    "context",
    "Weight of the supervised loss against the RL loss.",
    "|sft loss| / |policy loss| of the step, as RLinf's co-training logs it; infinite where the policy loss is 0.",
    "Watch orders of magnitude: RLinf warns above 1e5, where RL no longer moves anything.",
    "weight of the supervised term; policy/loss_total",
    "0.3",
    rlinf("train/loss_ratio"),
    range=(0.0, None),
)
reported(
    "sft/rl_loss",
    "loss",
    "context",
    "The RL part of a co-trained loss.",
    "PPO loss of the step before the supervised term is added, as RLinf logs it.",
    "Read with sft/loss_share.",
    "weight of the supervised term",
    "0.02",
    rlinf("train/ppo_loss"),
)
for _key, _what in (
    ("sft_is_loss", "importance-weighted supervised loss"),
    ("sft_phi_loss", "reweighted supervised loss (phi)"),
):
    reported(
        f"sft/{_key}",
        "loss",
        "down",
        f"Trinity's {_what}.",
        f"the {_what} as the policy-loss function returns it, mean over micro-batches.",
        "Falls; comparable within one setting only.",
        "weights of the samples; learning rate",
        "1.4",
        trinity(f"actor/{_key}"),
    )
reported(
    "sft/mix/{part}",
    "loss",
    "context",
    "One part of a mixed RL and expert-data loss.",
    "Trinity's mix and chord losses: `usual/...` for policy samples, `expert/...` for expert samples, `loss` for their sum, `mu` for the weight of the expert part.",
    "The expert part falls as the policy imitates; mu is a schedule.",
    "share of expert samples; mu's schedule",
    "mu 0.4",
    trinity("actor/usual/{part}"),
    trinity("actor/expert/{part}", same=False, note="the expert samples' part"),
    trinity("actor/mu", same=False, note="the weight of the expert part"),
    trinity("actor/loss", same=False, note="the sum of both parts"),
)
reported(
    "sft/auxiliary_loss",
    "loss",
    "down",
    "Load-balancing loss of a mixture of experts.",
    "the router's auxiliary loss as the model returns it, before its coefficient.",
    "Near its minimum when experts are evenly used; rising means that routing collapses.",
    "moe/violation_max; coefficient of the term",
    "1.02",
    trl("aux_loss"),
    openrlhf("aux_loss"),
    producer="trainer",
    needs=("the router's loss",),
)
reported(
    "sft/mtp_loss/{i}",
    "nats/token",
    "down",
    "Loss of a multi-token-prediction head.",
    "cross-entropy of the i-th extra head, mean over micro-batches, as Megatron reports it.",
    "Higher heads lose more. They matter for speculative decoding.",
    "engine/spec_accept_rate",
    "2.3",
    verl("mtp_losses/mtp_{i}_loss"),
    range=(0.0, None),
)
reported(
    "sft/tokens_billion",
    "1e9 tokens",
    "context",
    "Tokens trained on so far, in billions.",
    "cumulative tokens of all ranks / 1e9.",
    "The x axis of pre-training habits. counter/tokens is the exact count.",
    "counter/tokens",
    "1.2",
    verl("train/total_tokens(B)", trainer="sft"),
    kind="last",
    producer="recorder",
    needs=("counter/tokens",),
    range=(0.0, None),
)
