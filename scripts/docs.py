"""Write the pages that are made from code and from measurements: metrics, names, rules, commands, benchmarks, columns. `--check` fails when one is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(Path(__file__).parent))

import docs_bench  # noqa: E402
import docs_cli  # noqa: E402
import docs_format  # noqa: E402
import docs_metrics  # noqa: E402
import docs_names  # noqa: E402
import docs_rules  # noqa: E402

PAGES = {
    "metrics.md": docs_metrics.page,
    "names.md": docs_names.page,
    "rules.md": docs_rules.page,
    "cli.md": docs_cli.page,
    "format.md": docs_format.page,
    "bench.md": docs_bench.page,
    "../README.md": docs_bench.readme,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text)
    if stale:
        print(
            f"{'stale' if check else 'written'}: {', '.join(stale)}"
            + (". Write them anew with: make docs" if check else "")
        )
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
