"""The web from memory: files under a prefix that is the digest of them all, and one page.

The files can be cached for ever; the page, which names the prefix, is never cached. So after an
upgrade old and new modules cannot mix. The page is written for the depth of its address with
relative links only, so it works behind any prefix or port forward.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import mimetypes
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
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
EARLY = ("vendor/uplot.js",)  # takes 30 ms to start and needs no other module, so it starts before they arrive
STRETCH = re.compile(r"(-?[\d.]{1,30})-(-?[\d.]{1,30})$", re.ASCII)
WHOLE = re.compile(r"-?\d{1,15}$", re.ASCII)
FIRST_OF_ALL = {"": ["runs?newest=100"], "glossary": ["glossary"]}  # of pages that are of no run
FIRST = {
    "metrics": ["names"],
    "compare": ["names"],
    "glossary": ["names"],
    "system": ["hosts"],
    "environment": ["environment"],
    "evals": ["evals"],
    "findings": ["findings"],
    "console": ["output?after=0"],
}
UNESCAPED = "!~*'()"  # characters that JavaScript's encodeURIComponent leaves alone: addresses must be equal
TYPES = {".js": "text/javascript", ".woff2": "font/woff2"}
SIGN_IN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    data: bytes
    media_type: str


class Assets:
    """All files of the web and their digest."""

    def __init__(self, folder: Path = WEB) -> None:
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in SERVED]
        self.files = {path.relative_to(folder).as_posix(): _asset(path) for path in paths}
        self.template = (folder / "index.html").read_text("utf-8")
        self.frame_template = (folder / "frame.html").read_text("utf-8")
        self.sign_in_template = (folder / "sign-in.html").read_text("utf-8")
        digest = hashlib.sha256((self.template + self.frame_template + self.sign_in_template).encode())
        for name, asset in self.files.items():
            digest.update(name.encode() + b"\0" + asset.data)
        self.digest = digest.hexdigest()[:16]
        self._graphs: dict[str, tuple[str, ...]] = {}  # by entry

    def file(self, digest: str, name: str, if_none_match: str = "") -> Response:
        """One file. A page with another digest is older than this server and gets no new code."""
        asset = self.files.get(name)
        if asset is None or digest != self.digest:
            raise NotFound(
                f"no file {name!r} in version {digest} of the web; "
                f"this server has version {self.digest}. Reload the page."
            )
        headers = {"cache-control": FOR_EVER, "etag": f'"{self.digest}"'}
        if if_none_match == f'"{self.digest}"':
            return Response(status_code=304, headers=headers)
        return Response(asset.data, media_type=asset.media_type, headers=headers)

    def page(self, path: str, user: str = "", query: Mapping[str, str] = MappingProxyType({})) -> Response:
        """The page for an address. It preloads the first requests and every module it will need.

        `user` is the name of who signed in, `query` what the address says after its path.
        """
        up = "../" * path.count("/") or "./"
        web = f"{up}web/{self.digest}/"
        vendor = {name: f"{web}vendor/{file}" for name, file in BARE.items()}
        imports = json.dumps({"imports": vendor}, separators=(",", ":"))
        modules = dict.fromkeys([*self.graph(ENTRY), *self.graph(_module(path))])
        text = (
            self.template.replace("{imports}", imports)
            .replace("{preload}", _preloads(up, web, _first_requests(path, query), modules))
            .replace("{web}", web)
            .replace("{root}", up)
            .replace("{digest}", self.digest)
            .replace("{at}", f"{time.time():.3f}")
            .replace("{user}", html.escape(user))
        )
        headers = {"cache-control": "no-cache", "content-security-policy": policy(imports)}
        return Response(text, media_type="text/html", headers=headers)

    def frame(self) -> Response:
        """The sandboxed frame that draws text of models: without an origin, without network."""
        script = self.files["frame.js"].data.decode()
        headers = {"cache-control": "no-cache", "content-security-policy": frame_policy(script)}
        return Response(self.frame_template.replace("{script}", script), media_type="text/html", headers=headers)

    def sign_in(self, provider: str = "", says: str = "") -> Response:
        """The sign-in page: without any data of a run. `says`: why the last try was refused."""
        text = (
            self.sign_in_template.replace("{web}", f"./web/{self.digest}/")
            .replace("{hidden}", "" if provider else " hidden")
            .replace("{provider}", html.escape(provider))
            .replace("{says}", html.escape(says[:1].upper() + says[1:]))
        )
        headers = {"cache-control": "no-store", "content-security-policy": SIGN_IN_POLICY}
        return Response(text, media_type="text/html", headers=headers)

    def graph(self, entry: str) -> tuple[str, ...]:
        """Every module that an entry loads, in order of discovery, without later `import()`s."""
        if entry not in self._graphs and entry in self.files:
            modules = [entry]
            for name in modules:  # grows while it is read
                modules += [other for other in self._imports(name) if other not in modules and other in self.files]
            self._graphs[entry] = tuple(dict.fromkeys(modules))
        return self._graphs.get(entry, ())

    def _imports(self, name: str) -> list[str]:
        source = self.files[name].data.decode()
        pattern = COMPACT_IMPORT if name.startswith("vendor/") else IMPORT
        addresses = [next(part for part in match.groups() if part) for match in pattern.finditer(source)]
        here = Path(name).parent
        return [f"vendor/{BARE[address]}" if address in BARE else _normal(here / address) for address in addresses]


def _preloads(up: str, web: str, asked: Iterable[str], modules: Iterable[str]) -> str:
    addresses = [html.escape(f"{up}api/{one}") for one in asked]
    requests = [f'<link rel="preload" href="{address}" as="fetch" crossorigin>' for address in addresses]
    early = [f'<script type="module" async src="{web}{name}"></script>' for name in EARLY if name in modules]
    rest = [f'<link rel="modulepreload" href="{web}{name}">' for name in modules]
    return "".join([*requests, *early, *rest])


def policy(imports: str) -> str:
    """The content security policy: no inline script but the import map, no markup from text."""
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; font-src 'self'; "
        "img-src 'self' data: blob:; media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-src 'self'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def frame_policy(script: str) -> str:
    """The policy of the frame: its own script and what it makes itself; no request, no origin."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}' blob:; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
        "sandbox allow-scripts"
    )


def _module(path: str) -> str:
    """The module of the page at an address. A wrong guess only costs a moment."""
    parts = path.strip("/").split("/")
    name = (parts[2] if len(parts) > 2 else "overview") if parts[0] == "r" else parts[0] or "runs"
    return f"pages/{name}.js" if name.isalpha() else ENTRY


def _first_requests(path: str, query: Mapping[str, str]) -> list[str]:
    """The first API requests of a page, which the browser can send before it has any module.

    They are written as the modules write them. One that is not only costs a request.
    """
    parts = path.strip("/").split("/")
    if parts[0] != "r" or len(parts) < 2:
        return FIRST_OF_ALL.get(path.strip("/"), [])
    run, page = f"runs/{quote(parts[1], safe=UNESCAPED)}", "/".join(parts[2:])
    own = _of_timeline(query) if page == "timeline" else _of_page(page, query)
    return [*(f"{run}/{one}" for one in own), run, f"{run}/tape"]


def _of_page(page: str, query: Mapping[str, str]) -> list[str]:
    if query.get("env") or query.get("view"):  # words that these requests would carry too
        return []
    return [f"overview?{_of_step(query)}"] if page in ("", "overview") else FIRST.get(page, [])


def _of_timeline(query: Mapping[str, str]) -> list[str]:
    """Lanes, and the spans that are seen first: of a stretch of time, else around a step."""
    stretch, step = STRETCH.match(query.get("view", "")), _of_step(query)
    which = f"lo={stretch[1]}&hi={stretch[2]}&" if stretch else step and f"{step}&"
    return ["timeline", f"timeline/spans?{which}margin=1&pixels=4096"]


def _of_step(query: Mapping[str, str]) -> str:
    step = query.get("step", "")
    return f"step={step}" if WHOLE.match(step) else ""


def _asset(path: Path) -> Asset:
    guess = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Asset(path.read_bytes(), TYPES.get(path.suffix) or guess)


def _normal(path: Path) -> str:
    """The path without `.` and `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
