"""slime and miles, live and from their dumps.

    --custom-rollout-log-function-path rollscope.sources.slime.log_rollout
    --custom-eval-rollout-log-function-path rollscope.sources.slime.log_eval_rollout

Both call these functions with the samples of each finished rollout, and then log as they do without
them. The samples go to the run that `rollscope run` records, or that the driver began; if there is
none, to a run of their own. From files: what `--dump-details` writes.
"""

from __future__ import annotations

from .files import recognises, rows
from .live import log_eval_rollout, log_rollout

NAMES = ("slime", "miles")
__all__ = ["NAMES", "log_eval_rollout", "log_rollout", "recognises", "rows"]
