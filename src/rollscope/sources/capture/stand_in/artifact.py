"""Artifacts: what they are and where their files lie is noted. The files stay where they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .anything import Anything, unsupported

MOST_FILES = 1_000  # of an artifact that are named


class Artifact(Anything):
    def __init__(
        self, name: str, type: str = "artifact", description: str | None = None, metadata: Any = None, **_: Any
    ) -> None:
        self.name, self.type, self.description = str(name), str(type), description
        self.metadata = dict(metadata or {})
        self.version, self.id, self.aliases = "latest", str(name), ["latest"]
        self.files: list[tuple[str, str]] = []  # name inside -> path or address

    def add_file(self, local_path: Any, name: str | None = None, **_: Any) -> Any:
        self.files.append((name or Path(local_path).name, str(local_path)))
        return self

    def add_dir(self, local_path: Any, name: str | None = None, **_: Any) -> Any:
        self.files.append((name or Path(local_path).name, str(local_path)))
        return self

    def add_reference(self, uri: Any, name: str | None = None, **_: Any) -> Any:
        self.files.append((name or str(uri), str(uri)))
        return self

    def add(self, obj: Any, name: str, **_: Any) -> Any:
        self.files.append((str(name), type(obj).__name__))
        return self

    def wait(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        unsupported(f"an artifact's {name}")
        return Anything()

    def about(self) -> dict[str, Any]:
        """What is noted: the artifact and its files, with their sizes."""
        files = [{"name": name, "path": path, **_size(path)} for name, path in self.files[:MOST_FILES]]
        known = {"name": self.name, "type": self.type, "description": self.description, "files": files}
        return {key: value for key, value in {**known, "metadata": self.metadata}.items() if value}

    def __bool__(self) -> bool:
        return True


def _size(path: str) -> dict[str, int]:
    try:
        found = Path(path)
        files = found.rglob("*") if found.is_dir() else [found]
        return {"bytes": sum(file.stat().st_size for file in files if file.is_file())}
    except (OSError, ValueError):
        return {}


def copied(pattern: str, base: Path, folder: Path, most: int) -> Iterator[Path]:
    """Copy the files of a pattern below `folder`, as they lie below `base`."""
    path = Path(pattern)
    anchor = Path(path.anchor) if path.is_absolute() else Path()
    for file in sorted(anchor.glob(str(path.relative_to(path.anchor)))):
        if not file.is_file():
            continue
        if file.stat().st_size > most:
            raise ValueError(f"{file} has {file.stat().st_size:,} bytes, more than {most:,}; it stays where it is")
        absolute = file.resolve()
        inside = absolute.relative_to(base) if absolute.is_relative_to(base) else Path(file.name)
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        yield target
