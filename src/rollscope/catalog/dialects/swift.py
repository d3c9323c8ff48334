"""ms-swift: what it logs beside TRL's names, whose trainers it builds on."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

swift = partial(Name, "swift")

NAMES: dict[str, tuple[Name, ...]] = {
    "policy/entropy_aggregated": (
        swift("entropy/mean", trainer="grpo", note="a mean over completions of each completion's token mean"),
    ),
    "turns": (swift("num_turns", trainer="grpo", stat="mean"),),
    "policy/clip/cispo": (swift("cispo_clip_ratio", trainer="grpo"),),
    "mismatch/rollout_corr/{statistic}": (
        swift(
            "rollout_correction/{statistic}",
            trainer="grpo",
            same=False,
            note="averaged over micro-batches, and with ms-swift's own thresholds",
        ),
    ),
}
