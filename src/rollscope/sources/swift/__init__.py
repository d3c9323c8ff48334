"""ms-swift, live and from its files.

    swift rlhf ... --external_plugins $(python -m rollscope.sources.swift) --callbacks rollscope

records the numbers of any of its trainers, and every sample of GRPO. Names and steps are the
trainer's own. From files: its output folder.
"""

from __future__ import annotations

from .files import recognises, rows

NAMES = ("swift", "ms-swift")
__all__ = ["NAMES", "recognises", "rows"]
