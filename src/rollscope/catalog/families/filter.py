"""Samples flagged by a filter, such as overlong, gibberish or repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import floats, share
from rollscope.catalog.spec import Alarm, Name, metric

key("filters", "table", "filter -> [B], 1 if it flagged the sample")


@metric(
    "filter/{filter}",
    unit="share",
    good="down",
    range=(0, 1),
    example="filters={'repetition': [0, 1, 0, 0]}: filter/repetition 0.25",
    names=(
        Name(
            "telescope",
            "filter/{filter}_frac",
            note=(
                "gibberish: a rare token of very low probability; repetition: the last 10,000 characters "
                "compress tenfold; overlong: cut by the limit"
            ),
        ),
    ),
    alarms=(
        Alarm(
            "above",
            0.05,
            "watch",
            "prime-rl training.md:121: above 5 % of bad rollouts is a smell",
            "many samples are flagged",
        ),
    ),
)
def flagged(filters_S: Any) -> dict[str, Ratio]:
    """Share of samples that a filter flagged.

    Definition: samples flagged by that filter over all samples that it examined (NaN means not
    examined), whether or not they were then dropped or masked.

    Read: In a collapse, repetition and gibberish rise before the reward falls. Overlong follows the
    length limit.

    Check: the flagged samples; policy/entropy; policy/kl_sampler_k3: does the engine sample from
    the policy that the trainer has?
    """
    return {name: share(floats(x) == 1, ~np.isnan(floats(x))) for name, x in filters_S.items()}
