"""McNemar's exact test: did more tasks go from wrong to right than from right to wrong?"""

from __future__ import annotations


def mcnemar(learnt: int, lost: int) -> float:
    """Two-sided p of the two kinds of flips, if either were as likely. Without a flip it is 1."""
    from scipy.special import bdtr

    flips = learnt + lost
    return min(1.0, 2.0 * float(bdtr(min(learnt, lost), flips, 0.5))) if flips else 1.0
