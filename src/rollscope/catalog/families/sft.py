"""Supervised fine-tuning, alone or together with RL: token loss, accuracy and more."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, reported, rlinf, trinity, trl, verl
from rollscope.catalog.spec import metric

key("target_logp", "token", "log-probability of a token that was given for imitation, not sampled")


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
            "loss",
            trainer="sft",
            same=False,
            note="token mean over all steps since the last log; ours is that of this step",
        ),
        rlinf("train/loss", trainer="sft"),
        rlinf("train/sft_loss", note="the supervised part of co-training"),
        trinity("actor/sft_loss"),
    ],
)
def loss(target_logp_M: Any) -> Mean:
    """Cross-entropy on the answers to imitate.

    Definition: mean over mask tokens of -log p(token), for tokens that were given and not sampled
    (target_logp). Prompts are not counted unless the mask contains them.

    Read: Falls fast, then slowly. Perplexity is its exponential. A rise on held-out data is
    overfitting.

    Check: mask: does it contain prompts or padding?; learning rate; duplicates in the data.
    """
    return ops.mean(-target_logp_M)


reported(
    "sft/token_accuracy",
    meaning="Share of tokens that the model would have chosen itself.",
    definition=(
        "share of label tokens that are the most likely token, Σ correct / Σ tokens; in DPO over "
        "the chosen answers only."
    ),
    read="Easier to read than a loss. 0.6 to 0.8 is usual for text; more for code and templates.",
    check="mask of the labels; template shared by all answers",
    unit="share",
    good="up",
    example="0.67",
    producer="trainer",
    needs=("the trainer's logits",),
    range=(0.0, 1.0),
    names=(
        trl("mean_token_accuracy", trainer="sft,dpo", note="sum / sum over all ranks; with Liger, a mean over ranks"),
    ),
)
reported(
    "sft/entropy",
    meaning="How uncertain the model is about the text it is given.",
    definition=(
        "mean over the answers' tokens of the full-vocabulary entropy of the raw logits, at "
        "temperature 1; chosen and rejected answers together in DPO."
    ),
    read=(
        "Falls as the model learns the text. It is not the entropy of the model's own output; that is policy/entropy."
    ),
    check="sft/loss; learning rate, if it collapses",
    unit="nats/token",
    good="context",
    example="5.9",
    producer="trainer",
    needs=("the trainer's logits",),
    range=(0.0, None),
    names=(
        trl(
            "entropy",
            trainer="sft,dpo,kto,distillation,async_distillation",
            same=False,
            note="of given text at temperature 1; policy/entropy is of sampled text",
        ),
    ),
)
reported(
    "sft/tokens_seen",
    meaning="Tokens an offline trainer has read so far.",
    definition=(
        "cumulative Σ attention mask over all ranks, prompts included. In DPO and reward models, "
        "both answers of a pair count."
    ),
    read="Another x axis. It survives a resume only if the trainer restores it.",
    check="counter/tokens for RL runs",
    unit="tokens",
    good="context",
    example="1160",
    kind="last",
    producer="trainer",
    needs=("the trainer's counter",),
    range=(0.0, None),
    names=(
        trl(
            "num_tokens",
            trainer="sft,dpo,kto,reward",
            same=False,
            note="since 1.16, divided by the tensor-parallel size",
        ),
    ),
)
reported(
    "sft/lr",
    meaning="Learning rate of a trainer without rollouts: SFT, preference pairs or a reward model.",
    definition="the scheduler's value for the step; the latest value if a step has several.",
    read="Follows its schedule. If the loss jumps, look here first.",
    check="warm-up; changes at a resume",
    unit="1",
    good="context",
    example="2e-5",
    kind="last",
    producer="trainer",
    needs=("the scheduler",),
    range=(0.0, None),
    names=(
        verl("train/lr", trainer="sft"),
        verl("train/lr(1e-3)", trainer="sft", scale=1000.0, note="the old FSDP trainer writes thousandths"),
        openrlhf("lr", trainer="sft,dpo,rm"),
        rlinf("train/learning_rate", note="of SFT workers"),
        rlinf("train/lr", note="of value-model workers"),
    ),
)
reported(
    "sft/grad_norm",
    meaning="Gradient norm of a trainer without rollouts.",
    definition="L2 norm over all parameters before clipping, of the last update of the step.",
    read="Ten times its usual size means a bad batch or a learning rate that is too high.",
    check="sft/lr; longest sample of the batch; precision",
    unit="1",
    good="steady",
    example="1.1",
    kind="last",
    producer="trainer",
    needs=("the optimiser's gradient norm",),
    range=(0.0, None),
    names=(
        verl("train/grad_norm", trainer="sft"),
        openrlhf("grad_norm", trainer="sft,dpo,rm"),
        rlinf("train/grad_norm", note="of SFT and value-model workers"),
    ),
)
reported(
    "sft/loss_share",
    meaning="Size of the supervised loss relative to the RL loss.",
    definition=(
        "|sft loss| / |policy loss| of the step, as RLinf's co-training logs it; infinite where the policy loss is 0."
    ),
    read="Watch orders of magnitude: RLinf warns above 1e5, where the RL loss no longer has any effect.",
    check="weight of the supervised term; policy/loss_total",
    unit="ratio",
    good="context",
    example="0.3",
    range=(0.0, None),
    names=(rlinf("train/loss_ratio"),),
)
reported(
    "sft/rl_loss",
    meaning="The RL part of a co-trained loss.",
    definition="PPO loss of the step before the supervised term is added, as RLinf logs it.",
    read="Read it together with sft/loss_share.",
    check="weight of the supervised term",
    unit="loss",
    good="context",
    example="0.02",
    names=(rlinf("train/ppo_loss"),),
)
for _key, _what in (
    ("sft_is_loss", "importance-weighted supervised loss"),
    ("sft_phi_loss", "reweighted supervised loss (phi)"),
):
    reported(
        f"sft/{_key}",
        meaning=f"Trinity's {_what}.",
        definition=f"the {_what} as the policy-loss function returns it, mean over micro-batches.",
        read="Should fall. Comparable only within one configuration.",
        check="weights of the samples; learning rate",
        unit="loss",
        good="down",
        example="1.4",
        names=(trinity(f"actor/{_key}"),),
    )
reported(
    "sft/mix/{part}",
    meaning="One part of a mixed RL and expert-data loss.",
    definition=(
        "Trinity's mix and chord losses: `usual/...` for policy samples, `expert/...` for expert "
        "samples, `loss` for their sum, `mu` for the weight of the expert part."
    ),
    read="The expert part falls as the policy imitates the expert; mu is a schedule.",
    check="share of expert samples; mu's schedule",
    unit="loss",
    good="context",
    example="mu 0.4",
    names=(
        trinity("actor/usual/{part}"),
        trinity("actor/expert/{part}", same=False, note="the expert samples' part"),
        trinity("actor/mu", same=False, note="the weight of the expert part"),
        trinity("actor/loss", same=False, note="the sum of both parts"),
    ),
)
reported(
    "sft/auxiliary_loss",
    meaning="Load-balancing loss of a mixture of experts.",
    definition="the router's auxiliary loss as the model returns it, before it is multiplied by its coefficient.",
    read="Near its minimum when experts are used evenly. A rise means that routing collapses.",
    check="moe/violation_max; coefficient of the term",
    unit="loss",
    good="down",
    example="1.02",
    producer="trainer",
    needs=("the router's loss",),
    names=(
        trl("aux_loss"),
        openrlhf("aux_loss"),
    ),
)
reported(
    "sft/mtp_loss/{i}",
    meaning="Loss of a multi-token-prediction head.",
    definition="cross-entropy of the i-th extra head, mean over micro-batches, as Megatron reports it.",
    read="Heads that predict further ahead have a higher loss. They matter for speculative decoding.",
    check="engine/spec_accept_rate",
    unit="nats/token",
    good="down",
    example="2.3",
    range=(0.0, None),
    names=(verl("mtp_losses/mtp_{i}_loss"),),
)
reported(
    "sft/tokens_billion",
    meaning="Tokens trained on so far, in billions.",
    definition="cumulative tokens of all ranks / 1e9.",
    read="The usual x axis of pre-training. counter/tokens is the exact count.",
    check="counter/tokens",
    unit="1e9 tokens",
    good="context",
    example="1.2",
    kind="last",
    producer="recorder",
    needs=("counter/tokens",),
    range=(0.0, None),
    names=(verl("train/total_tokens(B)", trainer="sft"),),
)
