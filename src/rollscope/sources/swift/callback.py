"""The callback of ms-swift's trainers: that of Hugging Face's, with the samples of GRPO."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from rollscope.sources.live.quiet import quiet
from rollscope.sources.trl.callback import RollscopeCallback, kind

from .rollouts import Rollouts
from .spans import Parts


def callback(args: Any, trainer: Any) -> TrainerCallback:
    """What `--callbacks rollscope` stands for; ms-swift calls it when it makes its trainer."""
    made = _made(args, trainer)
    return TrainerCallback() if made is None else made


@quiet
def _made(args: Any, trainer: Any) -> RollscopeCallback:
    algorithm = kind(args)
    if algorithm.endswith("trainingarguments"):  # of several tasks, such as SFT and embeddings
        algorithm = ""
    made = RollscopeCallback(framework=_dialect(algorithm), algorithm=algorithm, **_named(args))
    made.trainer = trainer
    for listener in (Rollouts(trainer, made), Parts(trainer, made)):
        quiet(listener.watch)()  # a trainer that is not as we know it trains all the same
    return made


def _named(args: Any) -> dict[str, str]:
    """`MODEL/v0-DATE`, the end of the output folder, where the run was given no name."""
    if args.run_name not in (None, args.output_dir):
        return {}
    return {"name": "/".join(Path(args.output_dir).parts[-2:])}


def _dialect(algorithm: str) -> str:
    """Such as `swift:grpo@4.6.0`."""
    version = getattr(sys.modules.get("swift.version"), "__version__", "")
    return "swift" + (f":{algorithm}" if algorithm else "") + (f"@{version}" if version else "")
