"""Write the pages that are made from code and from measurements.

These are metrics, batch keys, names, rules, commands, benchmarks and columns. With `--check`, write
nothing and fail if a page is stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(Path(__file__).parent))

import docs_batch  # noqa: E402
import docs_bench  # noqa: E402
import docs_cli  # noqa: E402
import docs_format  # noqa: E402
import docs_metrics  # noqa: E402
import docs_names  # noqa: E402
import docs_rules  # noqa: E402
import docs_sources  # noqa: E402


def texts() -> dict[Path, str]:
    """Every page that this script writes, with its text."""
    return {
        **{DOCS / "metrics" / name: text for name, text in docs_metrics.pages().items()},
        DOCS / "batch.md": docs_batch.page(),
        DOCS / "names.md": docs_names.page(),
        DOCS / "rules.md": docs_rules.page(),
        DOCS / "cli.md": docs_cli.page(),
        DOCS / "sources.md": docs_sources.page(),
        DOCS / "format.md": docs_format.page(),
        DOCS / "bench.md": docs_bench.page(),
        DOCS / "timeline.md": docs_bench.timeline(),
        DOCS.parent / "README.md": docs_bench.readme(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    pages = texts()
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    removed = sorted(set((DOCS / "metrics").glob("*.md")) - set(pages))  # pages of sections that are gone
    if not check:
        _write(pages, stale, removed)
    if names := ", ".join(str(path.relative_to(DOCS.parent)) for path in [*stale, *removed]):
        print(f"stale: {names}. Write them with: make docs" if check else f"written: {names}")
    return 1 if check and names else 0


def _write(pages: dict[Path, str], stale: list[Path], removed: list[Path]) -> None:
    (DOCS / "metrics").mkdir(exist_ok=True)
    for path in stale:
        path.write_text(pages[path])
    for path in removed:
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())
