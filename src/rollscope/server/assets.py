"""The web, from memory: every file under a prefix that is the digest of them all, so it can be cached for ever, and one page
that names that prefix, which is never cached. After an upgrade old and new modules cannot mix.

The page is written for the depth of its address, with relative links only, so it works behind any prefix or port forward.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response

from rollscope.errors import NotFound

WEB = Path(__file__).parent.parent / "web"
SERVED = {".js", ".css", ".woff2", ".svg", ".png"}
BARE = {
    "preact": "preact.js",
    "preact/hooks": "preact-hooks.js",
    "@preact/signals": "signals.js",
    "@preact/signals-core": "signals-core.js",
    "htm": "htm.js",
    "uplot": "uplot.js",
}
IMPORT = re.compile(
    r"""(?:^|\n|;)\s*(?:import|export)\b[^;"'`]*?from\s*["']([^"']+)["']|(?:^|\n|;|\})\s*import\s*["']([^"']+)["']"""
)
COMPACT_IMPORT = re.compile(r"""from\s*["']([^"']+)["']""")
ENTRY = "main.js"
SOONER = (
    "vendor/uplot.js",
)  # takes 30 ms to begin with and needs no other module: it may do so while the others are on their way
AS_THEY_ARE = "!~*'()"  # what encodeURIComponent leaves alone: the addresses must be the same to the letter
TYPES = {".js": "text/javascript", ".woff2": "font/woff2"}


@dataclass(frozen=True)
class Asset:
    data: bytes
    media_type: str


class Assets:
    """All files of the web and their digest."""

    def __init__(self, folder: Path = WEB) -> None:
        self.files = {
            p.relative_to(folder).as_posix(): _asset(p) for p in sorted(folder.rglob("*")) if p.suffix in SERVED
        }
        self.template = (folder / "index.html").read_text("utf-8")
        every = hashlib.sha256(self.template.encode())
        for name, asset in self.files.items():
            every.update(name.encode() + b"\0" + asset.data)
        self.digest = every.hexdigest()[:16]

    def file(self, digest: str, name: str, if_none_match: str = "") -> Response:
        """One file. A digest that is not ours is a page from before an upgrade: it must not get new code."""
        asset = self.files.get(name)
        if asset is None or digest != self.digest:
            raise NotFound(
                f"no file {name!r} in version {digest} of the web; this server has version {self.digest}. Reload the page."
            )
        headers = {"cache-control": "public, max-age=31536000, immutable", "etag": f'"{self.digest}"'}
        if if_none_match == f'"{self.digest}"':
            return Response(status_code=304, headers=headers)
        return Response(asset.data, media_type=asset.media_type, headers=headers)

    def page(self, path: str) -> Response:
        """The one page, for the folder its address lies in; the modules of what will be shown are named ahead, so that none waits for another."""
        up = "../" * path.count("/") or "./"
        at = f"{up}web/{self.digest}/"
        imports = json.dumps(
            {"imports": {name: f"{at}vendor/{file}" for name, file in BARE.items()}}, separators=(",", ":")
        )
        preload = "".join(
            f'<link rel="preload" href="{up}api/{question}" as="fetch" crossorigin>' for question in _questions(path)
        )
        modules = dict.fromkeys([*self.graph(ENTRY), *self.graph(_module(path))])
        preload += "".join(
            f'<script type="module" async src="{at}{name}"></script>' for name in SOONER if name in modules
        )
        preload += "".join(f'<link rel="modulepreload" href="{at}{name}">' for name in modules)
        text = (
            self.template.replace("{imports}", imports)
            .replace("{preload}", preload)
            .replace("{web}", at)
            .replace("{root}", up)
            .replace("{digest}", self.digest)
            .replace("{at}", f"{time.time():.3f}")
        )
        headers = {"cache-control": "no-cache", "content-security-policy": policy(imports)}
        return Response(text, media_type="text/html", headers=headers)

    @cache  # noqa: B019  # one instance lives as long as the server
    def graph(self, entry: str) -> tuple[str, ...]:
        """Every module that is loaded with the entry, in the order of discovery; what `import()` brings later is not in it."""
        found = [entry] if entry in self.files else []
        for name in found:
            found += [n for n in self._imports(name) if n not in found and n in self.files]
        return tuple(dict.fromkeys(found))

    def _imports(self, name: str) -> list[str]:
        source = self.files[name].data.decode()
        pattern = COMPACT_IMPORT if name.startswith("vendor/") else IMPORT
        said = [next(part for part in match.groups() if part) for match in pattern.finditer(source)]
        here = Path(name).parent
        return [f"vendor/{BARE[s]}" if s in BARE else _normal(here / s) for s in said]


def policy(imports: str) -> str:
    """The browser enforces that hostile text cannot run: no inline script but the import map, no sink for markup."""
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; media-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _module(path: str) -> str:
    """The module of the page at an address; a wrong guess costs a moment and nothing else."""
    parts = path.strip("/").split("/")
    name = (parts[2] if len(parts) > 2 else "overview") if parts[0] == "r" else parts[0] or "runs"
    return f"pages/{name}.js" if name.isalpha() else ENTRY


def _questions(path: str) -> list[str]:
    """What the page at an address will ask the API first: the browser may ask it before any module is here."""
    parts = path.strip("/").split("/")
    if parts[0] != "r" or len(parts) < 2:
        return []
    run = f"runs/{quote(parts[1], safe=AS_THEY_ARE)}"
    return [*([f"{run}/names"] if parts[2:] == ["metrics"] else []), run, f"{run}/tape"]


def _asset(path: Path) -> Asset:
    return Asset(
        path.read_bytes(), TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    )


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
