"""A run's folder, written as the store's tests write it."""

from __future__ import annotations

from tests.store.conftest import *  # noqa: F403
