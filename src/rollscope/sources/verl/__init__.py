"""veRL, live and from its files.

    trainer.logger=["console","rollscope"]     with Rollscope installed (veRL >= 0.9 finds it by its entry point)
    VERL_USE_EXTERNAL_MODULES=rollscope.sources.verl.plugin     the same, for veRL 0.8

From files: rollout and validation dumps (`{step}.jsonl`) and console logs. The file logger's JSONL is read by the source `jsonl`.
"""

from .files import recognises, rows

NAMES = ("verl", "verl rollout dump", "verl console log")
__all__ = ["NAMES", "recognises", "rows"]
