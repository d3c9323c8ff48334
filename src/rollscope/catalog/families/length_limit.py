"""Samples that reached a limit, and samples that ended by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import UNFINISHED, cut_short, floats, known, share, words
from rollscope.catalog.spec import Alarm, Name, derived, metric

key("max_total_tokens", "sample", "the limit on prompt and response together")
key(
    "loss_mask_only",
    "step",
    "1 if `mask` is the only mask, so that aborted samples cannot be recognised; compute sets it itself",
)
key(
    "padded_prompt_tokens", "step", "width that prompts are padded to; only for frameworks that compare lengths with it"
)
key(
    "padded_response_tokens",
    "step",
    "width that responses are padded to; only for frameworks that compare lengths with it",
)

_WIDTH = "compares with the padded width, not with a limit: see length/at_width"
_AT_WIDTH = (
    "compares with the padded width, which is the limit only if batches are padded to it; "
    "length/truncated compares with the limit"
)
_EOS = (
    "counts samples whose last token is neither an end token nor padding; TRL reads the token ids, we read `terminated`"
)


@derived
def written_tokens_S(completion_tokens_S: Any = None, response_tokens_S: Any = None, loss_mask_only: Any = None) -> Any:
    """Tokens by which an aborted sample is recognised: its sampled tokens, or all after the prompt.

    None if the batch has neither. A sample that was filtered out of the loss is not aborted, so a
    loss mask alone is not enough.
    """
    known = response_tokens_S if completion_tokens_S is None or loss_mask_only else completion_tokens_S
    return None if known is None else floats(known)


@derived
def truncated_S(stop_reason_S: Any = None, completion_tokens_S: Any = None, max_completion_tokens_S: Any = None) -> Any:
    """1 if a generation was cut by its limit, NaN if not known; None if the batch does not say."""
    limited = completion_tokens_S is not None and max_completion_tokens_S is not None
    at_limit = _at_limit(completion_tokens_S, max_completion_tokens_S) if limited else np.float64(0.0)
    if stop_reason_S is None:
        return at_limit if limited else None
    has_reason = np.array([bool(word) for word in words(stop_reason_S)], bool)
    return np.where(has_reason, cut_short(stop_reason_S), at_limit).astype(np.float64)


def _at_limit(tokens: Any, limit: Any) -> Any:
    return np.where(known(tokens, limit), floats(tokens) >= floats(limit), np.nan)


@derived
def ended_S(terminated_S: Any = None, stop_reason_S: Any = None, truncated_S: Any = None) -> Any:
    """1 if a sample ended by itself, 0 if not, NaN if not known; None if the batch does not say."""
    if terminated_S is not None:
        return floats(terminated_S)
    if stop_reason_S is not None:
        return np.array([float(word not in UNFINISHED) if word else np.nan for word in words(stop_reason_S)])
    return None if truncated_S is None else 1.0 - floats(truncated_S)


@metric(
    "length/truncated",
    unit="share",
    good="down",
    range=(0, 1),
    healthy=(0, 0.05),
    scoped=True,
    example="stop reasons stop, length, stop, stop: 0.25",
    names=(
        Name("openrlhf", "truncated"),
        Name("openrlhf", "rollout/truncated_rate", scope="generated"),
        Name("telescope", "stop_reason_length_pct", scale=100.0, note="percent; kept groups only"),
        Name("telescope", "discarded_stop_reason_length_pct", scale=100.0, scope="discarded"),
        Name("trl", "completions/truncated_fraction", trainer="distillation,iw_opd"),
        Name("verl", "response_length/clip_ratio", same=False, note=_WIDTH),
        Name("trinity", "response_length/clip_ratio", same=False, note=_WIDTH),
    ),
    alarms=(
        Alarm(
            "above",
            0.05,
            "watch",
            "AReaL algo_perf.md:115: act above 5 % without an end token",
            "answers are being cut",
        ),
        Alarm(
            "above",
            0.25,
            "bad",
            "miles advisory.py:32; veRL best_practices.rst:122 says 0.1",
            "a quarter of the answers are cut",
        ),
    ),
)
def truncated(truncated_S: Any) -> Ratio | None:
    """Share of samples cut by the length limit.

    Definition: samples in which a generation ended with `length`, over all samples. For a sample
    without a stop reason, completion_tokens >= max_completion_tokens counts as truncated. Never
    compared with the padded width.

    Read: Cut answers usually earn nothing, which teaches the policy to be short rather than right.
    Some truncation is normal early on.

    Check: max_completion_tokens: is it too low?; length/terminated/p95: how long are natural
    answers?; group/all_fail: do whole groups fail because they are cut?
    """
    return None if truncated_S is None else share(floats(truncated_S) == 1, known(truncated_S))


@metric(
    "length/not_ended",
    unit="share",
    good="down",
    range=(0, 1),
    healthy=(0, 0.05),
    scoped=True,
    example="terminated 1, 0, 1, 1: 0.25",
    names=(
        Name("trl", "completions/clipped_ratio", trainer="grpo,rloo,async_grpo,distillation,ssd,sdpo,sdft", note=_EOS),
    ),
    alarms=(Alarm("above", 0.05, "watch", "AReaL algo_perf.md:115", "answers do not come to an end"),),
)
def not_ended(ended_S: Any) -> Ratio | None:
    """Share of samples that did not end by themselves.

    Definition: samples with `terminated` 0, over those where it is known. Without that key, samples
    whose last stop reason is length, max_turns, aborted, error or cancelled; without stop reasons,
    samples at the length limit.

    Read: This is truncation judged by the end token. If it is above length/truncated, samples end
    for another bad reason.

    Check: stop/{reason}: which one?; length/truncated; the end-of-sequence token of the template.
    """
    return None if ended_S is None else share(ended_S == 0, ~np.isnan(ended_S))


@metric(
    "length/ended",
    unit="share",
    good="up",
    range=(0, 1),
    scoped=True,
    example="terminated 1, 0, 1, 1: 0.75",
    names=(
        Name("rlinf", "rollout/fraction_of_samples_properly_ended"),
        Name(
            "trl",
            "val/num_eos_tokens",
            trainer="ppo",
            same=False,
            note="the number of end tokens in the raw responses of a single process",
        ),
    ),
)
def ended(ended_S: Any) -> Ratio | None:
    """Share of samples that ended by themselves.

    Definition: 1 - length/not_ended, over the same samples.

    Read: Near 1 in a healthy run.

    Check: length/truncated; stop/{reason}.
    """
    return None if ended_S is None else share(ended_S == 1, ~np.isnan(ended_S))


@metric(
    "length/aborted",
    unit="share",
    good="down",
    range=(0, 1),
    healthy=(0, 0),
    scoped=True,
    example="completions of 10, 0, 20 and 30 tokens: 0.25",
    names=(Name("verl", "response/aborted_ratio", note="counts only answers of length 0"),),
    alarms=(
        Alarm(
            "above",
            0.05,
            "bad",
            "prime-rl training.md:121 (empty rollouts); miles advisory.py (abort storm)",
            "many generations give nothing",
        ),
    ),
)
def aborted(written_tokens_S: Any) -> Ratio | None:
    """Share of samples without a single sampled token.

    Definition: samples with completion_tokens = 0, over all samples; if only response_tokens are
    known, samples with response_tokens = 0. Aborted samples count here and in the lengths, and in
    no per-sequence statistic.

    Read: These are failures of the engine or the environment, not of the policy. Should be 0.

    Check: the engine's log; stop/aborted and stop/error; host and engine metrics at that time.
    """
    return None if written_tokens_S is None else share(written_tokens_S == 0, known(written_tokens_S))


@metric(
    "length/prompt_at_limit",
    unit="share",
    good="down",
    range=(0, 1),
    healthy=(0, 0),
    example="prompts of 512, 100 and 512 tokens with max_prompt_tokens 512: 0.667",
    names=(
        Name("verl", "prompt_length/clip_ratio", same=False, note=_WIDTH),
        Name("trinity", "prompt_length/clip_ratio", same=False, note=_WIDTH),
    ),
    alarms=(
        Alarm("above", 0.1, "watch", "veRL best_practices.rst:122: above 0.1 too much is cut", "prompts are being cut"),
    ),
)
def prompt_at_limit(prompt_tokens_S: Any, max_prompt_tokens_S: Any) -> Ratio:
    """Share of prompts at the prompt limit.

    Definition: samples with prompt_tokens >= max_prompt_tokens, over all samples.

    Read: A prompt that was cut has often lost its question. A prompt of exactly the limit also
    counts.

    Check: max_prompt_tokens; whether prompts are cut from the left or from the right.
    """
    there = known(prompt_tokens_S, max_prompt_tokens_S)
    return share(floats(prompt_tokens_S) >= floats(max_prompt_tokens_S), there)


@metric(
    "length/total_at_limit",
    unit="share",
    good="down",
    range=(0, 1),
    scoped=True,
    example="totals of 8192 and 1000 with max_total_tokens 8192: 0.5",
    names=(Name("openrlhf", "response_clip_ratio"),),
)
def total_at_limit(prompt_tokens_S: Any, response_tokens_S: Any, max_total_tokens_S: Any) -> Ratio:
    """Share of samples at the limit on prompt and response together.

    Definition: samples with prompt_tokens + response_tokens >= max_total_tokens, over all samples.

    Read: The context window is full: the answer, or the history of a long conversation, was cut.

    Check: length/prompt/max; turns/max; max_total_tokens.
    """
    total = floats(prompt_tokens_S) + floats(response_tokens_S)
    return share(total >= floats(max_total_tokens_S), known(total, max_total_tokens_S))


@metric(
    "length/at_width/prompt",
    unit="share",
    good="context",
    range=(0, 1),
    example="prompts of 4, 6 and 6 tokens padded to 6: 0.667",
    names=(
        Name("verl", "prompt_length/clip_ratio", note=_AT_WIDTH),
        Name("trinity", "prompt_length/clip_ratio", note=_AT_WIDTH),
    ),
)
def prompt_at_width(prompt_tokens_S: Any, padded_prompt_tokens: Any) -> Ratio:
    """Share of prompts as long as the padded width.

    Definition: samples with prompt_tokens equal to padded_prompt_tokens, over all samples.

    Read: This is a truncation rate only when batches are padded to the limit. veRL's V1 trainer and
    Trinity pad to the longest sample of the batch, so there it is never 0.

    Check: length/prompt_at_limit, which compares with the limit.
    """
    return share(floats(prompt_tokens_S) == padded_prompt_tokens, known(prompt_tokens_S))


@metric(
    "length/at_width/response",
    unit="share",
    good="context",
    range=(0, 1),
    example="responses of 7, 9, 12 and 12 tokens padded to 12: 0.5",
    names=(
        Name("verl", "response_length/clip_ratio", note=_AT_WIDTH),
        Name("trinity", "response_length/clip_ratio", note=_AT_WIDTH),
    ),
)
def response_at_width(response_tokens_S: Any, padded_response_tokens: Any) -> Ratio:
    """Share of responses as long as the padded width.

    Definition: samples with response_tokens equal to padded_response_tokens, over all samples,
    aborted ones included.

    Read: This is a truncation rate only when batches are padded to the limit. veRL's V1 trainer and
    Trinity pad to the longest sample of the batch, so there it is never 0.

    Check: length/truncated, which compares with the limit.
    """
    return share(floats(response_tokens_S) == padded_response_tokens, known(response_tokens_S))


@metric(
    "length/at_width/response_non_aborted",
    unit="share",
    good="context",
    range=(0, 1),
    example="responses of 0, 9, 12 and 12 tokens padded to 12: 0.667",
    names=(Name("verl", "response_length_non_aborted/clip_ratio", note=_AT_WIDTH),),
)
def response_at_width_non_aborted(response_tokens_S: Any, padded_response_tokens: Any) -> Ratio:
    """Share of non-empty responses that are as long as the padded width.

    Definition: samples with response_tokens equal to padded_response_tokens, over samples with at
    least one response token.

    Read: Same as length/at_width/response, without the empty answers.

    Check: length/truncated; length/aborted.
    """
    tokens = floats(response_tokens_S)
    return share(tokens == padded_response_tokens, tokens > 0)
