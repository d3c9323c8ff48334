"""SwanLab's interface over a run of ours: `import rollscope.swanlab as swanlab`.

The calls of a training script are recorded in the folder of runs. No account is needed, no
connection is opened, nothing raises into training. A plain `import swanlab` is SwanLab's own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rollscope.sources.capture.stand_in.swanlab import stand_in

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


stand_in(sys.modules[__name__])
