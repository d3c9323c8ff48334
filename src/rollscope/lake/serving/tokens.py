"""The book of a lake: where its access tokens, sessions and audit are kept.

A catalogue in PostgreSQL keeps them, too. A catalogue in a file lets one process in at a time, so
the book of such a lake is a file of its own beside it: nobody waits at the door for a ship.
"""

from __future__ import annotations

from rollscope.access import sqlite_book
from rollscope.access.book import Book
from rollscope.access.sqlite_book import SqliteBook
from rollscope.lake.place import Place

from . import postgres_book
from .postgres_book import PostgresBook


def book(place: Place) -> Book:
    """The book of a lake. It is made when it is opened for the first time."""
    return SqliteBook(place.folder) if place.is_embedded else PostgresBook(place)


def exists(place: Place) -> bool:
    return sqlite_book.exists(place.folder) if place.is_embedded else postgres_book.exists(place)
