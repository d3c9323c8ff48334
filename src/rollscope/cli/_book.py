"""The book of tokens of a folder of runs, or of a lake."""

from __future__ import annotations

from rollscope.access import sqlite_book
from rollscope.access.book import Book
from rollscope.access.sqlite_book import SqliteBook
from rollscope.lake import place


def book(folder: str) -> Book:
    """The book; it is made when it is opened for the first time."""
    if not place.is_lake(folder):
        return SqliteBook(folder)
    from rollscope.lake.serving import tokens  # needs DuckDB

    return tokens.book(place.read(folder))


def exists(folder: str) -> bool:
    if not place.is_lake(folder):
        return sqlite_book.exists(folder)
    from rollscope.lake.serving import tokens

    return tokens.exists(place.read(folder))
