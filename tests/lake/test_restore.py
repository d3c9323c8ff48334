"""A backup of the database and of the bucket is the whole lake: runs, rows, tokens and audit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from rollscope.access import tokens
from rollscope.lake import making
from rollscope.lake.check import check
from rollscope.lake.serving import tokens as lake_tokens
from tests.lake.life import Life, check_same, pushed
from tests.lake.servers import S3, Postgres


def run(postgres: Postgres, program: str, *words: str) -> None:
    """A program of PostgreSQL's, which takes the password from PGPASSWORD."""
    path = next(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    where = ("-h", "127.0.0.1", "-p", str(postgres.port), "-U", "lake")
    subprocess.run([str(path), *where, *words], check=True, timeout=120)


def test_a_lake_is_restored_from_its_backup(tmp_path: Path, postgres: Postgres, s3: S3, keys: None, life: Life) -> None:
    run(postgres, "createdb", "kept")
    lake = making.init(str(tmp_path / "lake"), postgres.url.replace("/postgres", "/kept"), "s3://team/kept")
    life.happen()
    pushed(lake, life)
    text = tokens.make(lake_tokens.book(lake), "alice", ["p/1"], "read", 1)[1]
    dump, bucket, copy = tmp_path / "kept.dump", s3.folder / "team" / "kept", tmp_path / "kept"
    run(postgres, "pg_dump", "--format=custom", f"--file={dump}", "kept")  # the database first: objects only come
    shutil.copytree(bucket, copy)
    run(postgres, "dropdb", "--force", "kept")
    shutil.rmtree(bucket)
    run(postgres, "createdb", "kept")
    run(postgres, "pg_restore", "--dbname=kept", str(dump))
    shutil.copytree(copy, bucket)
    check_same(lake, life)
    assert not check(lake).problems
    book = lake_tokens.book(lake)
    assert tokens.check(book, text).name == "alice" and book.events(1)[0].what == "made"
    life.happen()
    assert pushed(lake, life).ships  # and it goes on
