"""Lakes to test with: an embedded one, and one in PostgreSQL and S3, both real."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollscope.lake import making
from rollscope.lake.place import Place
from tests.lake.life import Life
from tests.lake.servers import KEY, S3, SECRET, Postgres


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lakes need the DuckDB of `.venvs/lake`; what those see who lack it is tested anywhere."""
    if "ROLLSCOPE_TEAM" not in os.environ:
        for item in items:
            if item.path.parent == Path(__file__).parent and item.path.name != "test_without_extra.py":
                item.add_marker(pytest.mark.skip(reason="run by: make team"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and none of this machine's settings."""
    for name in ("ROLLSCOPE_LAKE", "ROLLSCOPE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROLLSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "runs")


@pytest.fixture
def lake(tmp_path: Path) -> Place:
    """An embedded lake."""
    return making.init(str(tmp_path / "lake"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    if not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        os.chmod(folder, 0o755)
        server = Postgres(Path(folder, "pg"))
        yield server
        server.stop()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    server = S3(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


@pytest.fixture
def keys(postgres: Postgres, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of both servers, where people keep them."""
    said = {"PGPASSWORD": postgres.password, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    for name, value in {**said, "AWS_ENDPOINT_URL": s3.url}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def team(tmp_path: Path, postgres: Postgres, s3: S3, keys: None) -> Place:
    """A lake in PostgreSQL and S3. All tests share its catalogue."""
    return making.init(str(tmp_path / "team"), postgres.url, "s3://team/lake")
