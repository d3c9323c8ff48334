"""What scanners say of samples. `rollscope scan FILE RUN` runs them, after or during a training."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.reported import reported

said = partial(
    reported,
    producer="view over samples",
    needs=("the table scans, which `rollscope scan` fills",),
    good="context",
)

said(
    "scan/{scanner}/mean",
    meaning="Mean of the numbers that a scanner gave to the samples of a step.",
    definition="sum of a scanner's numbers over a step's training samples / how many of them have one.",
    read="The scanner defines its meaning. A scanner that answers yes or no gives a share.",
    check="filter Rollouts by `scan/{scanner}=1` to read the samples; was every sample of the step scanned?",
    unit="as logged",
    example="a scanner says yes of 3 samples in 8: 0.375",
)
said(
    "scan/{scanner}/{label}",
    meaning="Share of a step's samples to which a scanner gave one label.",
    definition="training samples with that label / training samples to which the scanner gave any label.",
    read="The shares of all labels of a scanner add up to 1. At most its 20 most frequent labels have a series.",
    check="filter Rollouts by `scan/{scanner}/{label}=1` to read the samples",
    unit="share",
    example="labels en, en, de, en: scan/language/en 0.75",
    range=(0, 1),
)
