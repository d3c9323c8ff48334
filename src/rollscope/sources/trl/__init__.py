"""TRL, from its files."""

from rollscope.sources.trl.files import recognises, rows

NAMES = ("trl", "transformers")
__all__ = ["NAMES", "recognises", "rows"]
