"""Fetch the packages that the web ships: `python scripts/vendor.py`.

Each package comes from npm at a pinned version. `web/vendor/VENDOR.toml` records npm's integrity,
the licence, and the sha256 of every file; tests/web/test_rules.py compares the files with it. Only
this script writes that folder.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parent.parent / "src/rollscope/web/vendor"
SANS, MONO = "files/ibm-plex-sans-{}-wght-normal.woff2", "files/ibm-plex-mono-{}-normal.woff2"
PACKAGES: dict[tuple[str, str], dict[str, str]] = {  # (package, version) -> {file in the package: file here}
    ("preact", "11.2.0"): {
        "dist/preact.mjs": "preact.js",
        "hooks/dist/hooks.mjs": "preact-hooks.js",
        "src/index.d.ts": "preact/src/index.d.ts",
        "src/jsx.d.ts": "preact/src/jsx.d.ts",
        "src/dom.d.ts": "preact/src/dom.d.ts",
        "hooks/src/index.d.ts": "preact/hooks/src/index.d.ts",
    },
    ("@preact/signals-core", "1.14.5"): {
        "dist/signals-core.mjs": "signals-core.js",
        "dist/signals-core.d.ts": "signals-core.d.ts",
    },
    ("@preact/signals", "2.11.4"): {"dist/signals.mjs": "signals.js", "dist/signals.d.ts": "signals.d.ts"},
    ("htm", "3.1.1"): {"dist/htm.mjs": "htm.js", "dist/htm.d.ts": "htm.d.ts"},
    ("uplot", "1.6.32"): {
        "dist/uPlot.esm.js": "uplot.js",
        "dist/uPlot.d.ts": "uplot.d.ts",
        "dist/uPlot.min.css": "uplot.css",
    },
    ("markdown-it", "15.0.3"): {"dist/browser/markdown-it.esm.min.mjs": "markdown-it.js"},
    ("katex", "0.19.1"): {"dist/katex.mjs": "katex.js"},
    ("@fontsource-variable/ibm-plex-sans", "5.3.0"): {
        SANS.format(s): f"plex-sans-{s}.woff2" for s in ("latin", "latin-ext", "greek")
    },
    ("@fontsource/ibm-plex-mono", "5.3.0"): {MONO.format(f"latin-{w}"): f"plex-mono-{w}.woff2" for w in ("400", "600")},
}


def fetch(package: str, version: str) -> tuple[str, dict[str, bytes]]:
    """npm's integrity and the files of one package. Stops if they do not match."""
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", f"{package}@{version}", "--json"]
        output = subprocess.run(pack, cwd=folder, check=True, capture_output=True, text=True).stdout
        entries = json.loads(output)
        entry = entries[0] if isinstance(entries, list) else next(iter(entries.values()))
        data = next(Path(folder).glob("*.tgz")).read_bytes()
    digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if digest != entry["integrity"]:
        raise SystemExit(f"{package}@{version}: npm says {entry['integrity']}, the archive is {digest}")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = {m.name.split("/", 1)[1]: archive.extractfile(m) for m in archive.getmembers() if m.isfile()}
        return digest, {name: file.read() for name, file in members.items() if file}


def take(package: str, version: str, wanted: dict[str, str]) -> str:
    """Copy the wanted files and the licence, and return the package's table for VENDOR.toml."""
    integrity, files = fetch(package, version)
    licence = json.loads(files["package.json"])["license"]
    wanted = wanted | {"LICENSE": f"licences/{package.replace('@', '').replace('/', '-')}.txt"}
    lines = [
        f'["{package}"]',
        f'version = "{version}"',
        f'licence = "{licence}"',
        f'integrity = "{integrity}"',
        "",
        f'["{package}".files]',
    ]
    for source, target in wanted.items():
        text = files[source]
        if target.endswith(".js"):  # source maps are not shipped, so a link to one would be a 404
            text = b"\n".join(line for line in text.split(b"\n") if not line.startswith(b"//# sourceMappingURL"))
        path = VENDOR / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        lines.append(f'"{target}" = {{ from = "{source}", sha256 = "{hashlib.sha256(text).hexdigest()}" }}')
    return "\n".join(lines)


def main() -> None:
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    tables = [take(package, version, files) for (package, version), files in PACKAGES.items()]
    head = "# Written by scripts/vendor.py; tests/web/test_rules.py compares the files with it.\n\n"
    (VENDOR / "VENDOR.toml").write_text(head + "\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
