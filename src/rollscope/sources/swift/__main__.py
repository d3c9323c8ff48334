"""Print the path for `--external_plugins`: `python -m rollscope.sources.swift`."""

from __future__ import annotations

from pathlib import Path

if __name__ == "__main__":
    print(Path(__file__).parent / "plugin" / "__init__.py")
