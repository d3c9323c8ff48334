"""What a rule of a lake let go of, as a sentence: a text that is gone is no empty text."""

from __future__ import annotations

from datetime import UTC, datetime

from rollscope.store.run import Run


def let_go_sentence(run: Run) -> str:
    """Says what the samples of a run had and have no more; nothing if they have everything."""
    gone = run.let_go()
    if not gone:
        return ""
    whats = " and ".join(f"the {what}" for what in sorted(gone))
    day = datetime.fromtimestamp(max(gone.values()) / 1e9, UTC).date().isoformat()
    return f"The lake let go of {whats} of this run on {day}, by its rule."
