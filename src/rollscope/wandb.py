"""W&B's interface over a run of ours: `import rollscope.wandb as wandb`.

The calls of a training script are recorded in the folder of runs. No account is needed, no
connection is opened, nothing raises into training. A plain `import wandb` is W&B's own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rollscope.sources.capture.stand_in.wandb import stand_in

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


stand_in(sys.modules[__name__])
