"""Without the extra, or with a wrong place, a lake says in a sentence what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from rollscope.lake import place
from rollscope.lake.shipping.requests import Requests

LAKE_TOML = 'format = 1\nid = "{id}"\ncatalog = "catalog.ducklake"\ndata = "data"\n'


def test_a_folder_that_is_no_lake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["push", "r1", "--to", str(tmp_path)]) == 2
    assert "is no lake: it has no lake.toml" in capsys.readouterr().err
    assert main(["push", "r1"]) == 2
    assert "say which lake" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'no number under "format"'),
        ("format = 9", "newer Rollscope"),
        ("format = 1", 'no text under "id"'),
        ('format = 1\nid = "x"\ncatalog = "c"\ndata = "d"', "32 hexadecimal digits"),
        ("format = [", "cannot be read"),
        ("format = " + "[" * 100_000, "nested too deeply"),
        ("# " + "x" * (5 << 20), "larger than 4 MB"),
    ],
)
def test_a_lake_toml_that_is_odd_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "lake.toml").write_text(text)
    with pytest.raises(rs.RollscopeError, match=says):
        rs.open(tmp_path)


@pytest.mark.parametrize(
    ("catalog", "data", "says"),
    [
        ("postgres://me:secret-word@db/lake", "", "holds a password"),
        ("postgres://db/lake?password=secret-word", "", "holds a password"),
        ("mysql://db/lake", "", "expected postgres://"),
        ("postgres://db", "", "expected postgres://"),
        ("", "gs://bucket/x", "expected a folder, or s3://"),
        ("", "s3://key:secret-word@bucket/x", "more than a bucket"),
        ("", "gs://key:secret-word@bucket/x", "more than a bucket"),
        ("", "s3:/key:secret-word@bucket", "more than a bucket"),
        ("host=db dbname=lake password=secret-word", "", "holds a password"),
        ("postgres://[db/lake", "", "no address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_no_key_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], catalog: str, data: str, says: str
) -> None:
    assert main(["lake", "init", str(tmp_path / "lake"), "--catalog", catalog, "--data", data]) == 2
    said = capsys.readouterr().err
    assert says in said and "secret-word" not in said
    assert not place.is_lake(tmp_path / "lake")


@pytest.mark.parametrize(
    "url", ["https://[server", "https://me:secret-word@server", "https://server?token=secret-word"]
)
def test_the_address_of_a_server_is_an_address_alone(url: str) -> None:
    with pytest.raises(BadInput, match="address") as raised:
        Requests(url)
    assert "secret-word" not in str(raised.value)


def test_a_folder_with_other_files_is_not_made_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["lake", "init", str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err


def test_a_lake_needs_its_extra(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    import duckdb

    (tmp_path / "lake.toml").write_text(LAKE_TOML.format(id="0" * 32))
    if duckdb.__version__ != "1.5.5":
        with pytest.raises(rs.RollscopeError, match=r"rollscope\[lake\]"):
            rs.open(tmp_path).runs()
    else:  # with the extra, a lake without its catalogue is a sentence too
        with pytest.raises(rs.RollscopeError, match="catalogue of the lake"):
            rs.open(tmp_path).runs()
