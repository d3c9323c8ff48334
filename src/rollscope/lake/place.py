"""Where a lake is: `lake.toml` names its catalogue and its data. Keys are never in it.

Keys come from the variables PG* and AWS_*, or from a pgpass file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from rollscope.errors import BadInput, CannotWrite, CorruptFile, NotFound
from rollscope.store import regular_file

NAME = "lake.toml"
FORMAT = 1
CATALOG, DATA = "catalog.ducklake", "data"  # of an embedded lake, in its folder
POSTGRES = ("postgres", "postgresql")
_ID = re.compile(r"[0-9a-f]{32}")
_SECRET = (
    "Keep keys out of lake.toml: set PGPASSWORD, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use ~/.pgpass."
)


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a lake, and what its `lake.toml` says."""

    folder: str
    id: str
    catalog: str
    data: str

    @property
    def is_embedded(self) -> bool:
        return urlsplit(self.catalog).scheme not in POSTGRES

    @property
    def is_remote(self) -> bool:
        """True if the objects are in S3."""
        return self.data.startswith("s3://")

    def catalog_path(self) -> str:
        """The catalogue's file."""
        return os.path.join(os.path.abspath(self.folder), self.catalog)

    def data_path(self) -> str:
        """The folder or the bucket and prefix of all objects, without a slash at its end."""
        return self.data.rstrip("/") if self.is_remote else os.path.join(os.path.abspath(self.folder), self.data)


def is_lake(path: str | os.PathLike[str]) -> bool:
    """True if a folder has a `lake.toml`, whatever that is: to read it says what is wrong."""
    return os.path.lexists(os.path.join(path, NAME))


def read(folder: str | os.PathLike[str]) -> Place:
    """The place of a lake, by its folder or by its `lake.toml`."""
    folder = os.fspath(folder)
    folder = os.path.dirname(folder) or "." if os.path.basename(folder) == NAME else folder
    path = os.path.join(folder, NAME)
    if not os.path.lexists(path):
        raise NotFound(f"{folder!r} is no lake: it has no {NAME}. Make one with: rollscope lake init {folder}")
    try:
        said = regular_file.read_toml(path)
    except (OSError, ValueError) as error:
        why = regular_file.why(error, named=False)
        raise CorruptFile(f"{path} cannot be read ({why}). It names the lake's catalogue and data.") from error
    return _checked(folder, path, said)


def _checked(folder: str, path: str, said: dict[str, Any]) -> Place:
    if not isinstance(said.get("format"), int):
        raise CorruptFile(f'{path} has no number under "format"; this Rollscope writes format = {FORMAT}')
    if said["format"] > FORMAT:
        raise CorruptFile(
            f"{path} has format {said['format']} and was written by a newer Rollscope; this one reads up to {FORMAT}."
            " Upgrade to open the lake."
        )
    for key in ("id", "catalog", "data"):
        if not isinstance(said.get(key), str) or not said[key]:
            raise CorruptFile(f'{path} has no text under "{key}"; a lake needs id, catalog and data')
    if not _ID.fullmatch(said["id"]):
        raise CorruptFile(f'"id" of {path} is {said["id"][:80]!r}; expected 32 hexadecimal digits')
    check_catalog(said["catalog"])
    check_data(said["data"])
    return Place(folder, said["id"], said["catalog"], said["data"])


def new(folder: str, catalog: str = "", data: str = "") -> Place:
    """The place of a lake that does not exist yet. Nothing is written."""
    if is_lake(folder):
        raise CannotWrite(f"{folder!r} is a lake already: push to it, or choose another folder")
    if os.path.isdir(folder) and any(name != NAME for name in os.listdir(folder)):
        raise CannotWrite(f"{folder!r} holds other files: choose a new or an empty folder for the lake")
    import secrets

    check_catalog(catalog or CATALOG)
    check_data(data or DATA)
    return Place(folder, secrets.token_hex(16), catalog or CATALOG, data or DATA)


def write(place: Place) -> None:
    """Write `lake.toml` whole or not at all."""
    os.makedirs(place.folder, exist_ok=True)
    said = {"id": place.id, "catalog": place.catalog, "data": place.data}
    lines = [f"format = {FORMAT}", *(f"{key} = {_quoted(value)}" for key, value in said.items())]
    aside = os.path.join(place.folder, f".{NAME}.{os.getpid()}")
    Path(aside).write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(aside, os.path.join(place.folder, NAME))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_catalog(catalog: str) -> None:
    """Raise a sentence for a catalogue that we cannot use. A key in it is not repeated."""
    url = _split("catalogue", catalog)
    if url.password is not None or "password=" in catalog.lower():  # also libpq's words: host=… password=…
        raise BadInput(f"the address of the catalogue holds a password. {_SECRET}")
    if url.scheme and (url.scheme not in POSTGRES or not url.path.strip("/")):
        raise BadInput(
            f"the catalogue {catalog[:80]!r} is no address that we know; expected postgres://USER@HOST:PORT/DATABASE"
        )
    _check_text("catalogue", catalog)


def check_data(data: str) -> None:
    """Raise a sentence for a place of objects that we cannot use."""
    url = _split("data", data)
    if url.scheme and ("@" in data or url.query):
        raise BadInput(f"the address of the data holds more than a bucket and a prefix. {_SECRET}")
    if url.scheme and (url.scheme != "s3" or not url.netloc):
        raise BadInput(f"the data {data[:80]!r} are at no place that we know; expected a folder, or s3://BUCKET/PREFIX")
    _check_text("data", data)


def _split(what: str, address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise BadInput(f"the address of the {what} is no address: {error}") from error


def _check_text(what: str, text: str) -> None:
    if any(ord(sign) < 32 or sign == "'" for sign in text):
        raise BadInput(f"the address of the {what} has a quote or a control character: {text[:80]!r}")


def postgres_words(catalog: str) -> dict[str, str]:
    """What a postgres:// address says, by libpq's keywords. The rest comes from PG* variables."""
    url = urlsplit(catalog)
    said = {"host": url.hostname, "port": url.port, "user": url.username, "dbname": url.path.strip("/")}
    return {key: unquote(str(value)) for key, value in said.items() if value}
