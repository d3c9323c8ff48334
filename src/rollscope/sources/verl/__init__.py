"""veRL, live and from its files.

    trainer.logger=["console","rollscope"]                     veRL >= 0.9 finds our entry point
    VERL_USE_EXTERNAL_MODULES=rollscope.sources.verl.plugin    needed in addition for veRL 0.8

From files: dumps of rollouts and validations (`{step}.jsonl`) and console logs. The source `jsonl`
reads the JSONL of veRL's file logger.
"""

from .files import recognises, rows

NAMES = ("verl", "verl rollout dump", "verl console log")
__all__ = ["NAMES", "recognises", "rows"]
