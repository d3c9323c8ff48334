"""The keys of the object store and the database, which come from the environment alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rollscope.store.tables.sql import quoted

from .place import Place

if TYPE_CHECKING:
    import duckdb


def add_to(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Tell DuckDB the keys of S3, which live as long as the connection."""
    if not place.is_remote:
        return
    said = {
        "KEY_ID": os.environ.get("AWS_ACCESS_KEY_ID", ""),
        "SECRET": os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
        "SESSION_TOKEN": os.environ.get("AWS_SESSION_TOKEN", ""),
        "REGION": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
    }
    options = [f"{key} {quoted(value)}" for key, value in said.items() if value]
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        url = urlsplit(endpoint)
        options += [
            f"ENDPOINT {quoted(url.netloc)}",
            "URL_STYLE 'path'",
            f"USE_SSL {str(url.scheme != 'http').lower()}",
        ]
    connection.execute(f"CREATE SECRET (TYPE s3, {', '.join(options)})")


def without(text: str) -> str:
    """A message of somebody else's, without any key of ours."""
    for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"):
        if value := os.environ.get(name):
            text = text.replace(value, "…")
    return text
