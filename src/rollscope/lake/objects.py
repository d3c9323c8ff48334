"""The object store of a lake: immutable objects in a folder or in S3, each with its SHA-256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol
from urllib.parse import urlsplit

from rollscope.store import regular_file

from . import keys
from .engine import LakeUnreachable
from .place import Place

CHUNK = 1 << 20
ASIDE = ".aside-"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some bytes of a local file."""

    path: str
    start: int
    size: int

    def chunks(self) -> Iterator[bytes]:
        """The bytes. Raises EOFError if the file has become shorter."""
        left = self.size
        with regular_file.opened(self.path) as file:
            file.seek(self.start)
            while left:
                chunk = file.read(min(CHUNK, left))
                if not chunk:
                    raise EOFError(f"{self.path} has become shorter while it was shipped")
                left -= len(chunk)
                yield chunk

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return digest.hexdigest()


class Source(Protocol):
    """What an object is made of."""

    def chunks(self) -> Iterator[bytes]: ...


class Objects:
    """Put, get, list and delete objects by key. A key is a path below the lake's data."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._root = place.data_path()
        self._fs: Any = None

    def put(self, key: str, source: Source) -> None:
        """Store bytes under a key, whole or not at all. The same bytes may be stored again."""
        with self._saying():
            if self.place.is_remote:
                with self._s3().open_output_stream(self._path(key)) as sink:
                    for chunk in source.chunks():
                        sink.write(chunk)
            else:
                self._put_file(self._path(key), source)

    def _put_file(self, path: str, source: Source) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        aside = os.path.join(os.path.dirname(path), ASIDE + secrets.token_hex(8))
        try:
            with open(aside, "xb") as sink:
                for chunk in source.chunks():
                    sink.write(chunk)
                sink.flush()
                os.fsync(sink.fileno())
            os.replace(aside, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside)

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[IO[bytes]]:
        """An object, open for reading. Raises FileNotFoundError."""
        path = self._path(key)
        with self._saying():
            with self._s3().open_input_stream(path) if self.place.is_remote else open(path, "rb") as source:
                yield source

    def keys(self, prefix: str) -> dict[str, tuple[int, float]]:
        """The keys below a prefix, with the size of each object and the time it was stored."""
        import pyarrow.fs as fs

        with self._saying():
            system = self._s3() if self.place.is_remote else fs.LocalFileSystem()
            found = system.get_file_info(fs.FileSelector(self._path(prefix), allow_not_found=True, recursive=True))
            start = len(self._path("x")) - 1
            return {
                info.path[start:]: (info.size, info.mtime_ns / 1e9) for info in found if info.type == fs.FileType.File
            }

    def delete(self, key: str) -> None:
        """Delete an object; nothing happens if there is none."""
        with self._saying(), contextlib.suppress(FileNotFoundError):
            if not self.place.is_remote:
                os.unlink(self._path(key))
                return
            try:
                self._s3().delete_file(self._path(key))
            except OSError:  # Arrow then stores an empty folder, which a server may refuse
                if self._is_there(key):
                    raise

    def delete_below(self, prefix: str) -> None:
        """Delete every object below a prefix."""
        with self._saying(), contextlib.suppress(FileNotFoundError):
            if not self.place.is_remote:
                shutil.rmtree(self._path(prefix))
                return
            try:
                self._s3().delete_dir(self._path(prefix))
            except OSError:
                if self.keys(prefix):
                    raise

    def _is_there(self, key: str) -> bool:
        import pyarrow.fs as fs

        return bool(self._s3().get_file_info(self._path(key)).type == fs.FileType.File)

    def _path(self, key: str) -> str:
        return f"{self._root.removeprefix('s3://')}/{key}"

    def _s3(self) -> Any:
        if self._fs is None:
            import pyarrow.fs as fs

            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
            if endpoint:  # few servers but Amazon's know the checksums that newer clients add
                os.environ.setdefault("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
            url = urlsplit(endpoint)
            where = {"endpoint_override": url.netloc, "scheme": url.scheme} if endpoint else {}
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
            self._fs = fs.S3FileSystem(region=region, connect_timeout=10, request_timeout=60, **where)
        return self._fs

    @contextlib.contextmanager
    def _saying(self) -> Iterator[None]:
        """An error of S3 becomes a sentence. A missing object stays a FileNotFoundError."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if not self.place.is_remote:
                raise
            why = " ".join(keys.without(str(error)).split())[:400]
            raise LakeUnreachable(
                f"the objects of the lake {self.place.folder!r} at {self.place.data} cannot be reached: {why}."
                " Are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL right, and does the bucket exist?"
            ) from None
