"""What ms-swift imports for `--external_plugins`: makes "rollscope" a valid entry of `--callbacks`.

This file is alone in its folder, because ms-swift puts the folder on the path of modules.
"""

from __future__ import annotations

from swift.callbacks import callbacks_map

from rollscope.sources.swift.callback import callback

callbacks_map["rollscope"] = callback
