"""Make a lake: its catalogue, its tables, and the `lake.toml` that names them."""

from __future__ import annotations

import os

from . import engine, place, tables
from .place import Place


def init(folder: str, catalog: str = "", data: str = "") -> Place:
    """Make a lake, or join one: a second folder may name a catalogue that exists."""
    made = place.new(folder, catalog, data)
    if made.is_embedded:
        os.makedirs(made.folder, exist_ok=True)
    if not made.is_remote:
        os.makedirs(made.data_path(), exist_ok=True)
    with engine.connected(made) as connection:
        tables.create(connection)
        tables.check_version(connection, folder)
    place.write(made)  # last: without it the folder is no lake
    return made
