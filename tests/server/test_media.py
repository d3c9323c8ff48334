"""Media files only from below the run's folder, and never as pages."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("media/inside.png", 200),
        ("media/page.svg", 200),
        ("media/none.png", 404),
        ("media/link.png", 404),
        ("../outside.png", 404),
        ("..%2Foutside.png", 404),
        ("media/%2e%2e/%2e%2e/outside.png", 404),
        ("run.json", 400),
        ("/etc/passwd", 404),
        ("%2Fetc%2Fpasswd", 404),
        ("media", 400),
        ("media/inside.png%00.png", 400),
        ("media\\..\\..\\outside.png", 404),
    ],
)
def test_media_only_from_below_the_run(rolls: TestClient, path: str, status: int) -> None:
    reply = rolls.get(f"/api/runs/rolls/media/{path}")
    assert reply.status_code == status
    if status == 200:
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in reply.headers["content-security-policy"]
        assert reply.headers["content-type"].startswith("image/")
    else:
        assert b"PNG" not in reply.content and b"root:" not in reply.content
