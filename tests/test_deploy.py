"""`compose.yaml` and the configurations of proxies say what the server wants."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from rollscope.cli import serve
from rollscope.lake.spool import PIECE

ROOT = Path(__file__).parent.parent


def test_compose_is_whole() -> None:
    said = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services, volumes = said["services"], set(said["volumes"])
    assert set(services) == {"database", "objects", "lake", "rollscope", "tidy"}
    for name, service in services.items():
        assert "image" in service or "dockerfile_inline" in service["build"], name
        assert {volume.split(":")[0] for volume in service["volumes"]} <= volumes, name
        assert set(service.get("depends_on", {})) <= set(services), name
        for key, value in service["environment"].items():  # a key is never written into the file
            assert not re.search("PASSWORD|KEY", key) or re.fullmatch(r"(\$\{\w+:\?\},?)+", value), key
    served = services["rollscope"]
    assert served["ports"] == [f"127.0.0.1:{serve.PORT}:{serve.PORT}"]
    assert {"--lake", "--sign-in", "--behind-proxy"} <= set(served["command"])


def test_proxies_let_objects_and_events_through() -> None:
    nginx, caddy = (ROOT / "deploy" / "nginx.conf").read_text(), (ROOT / "deploy" / "Caddyfile").read_text()
    for text in (nginx, caddy):
        assert f"127.0.0.1:{serve.PORT}" in text
        most = re.search(r"(?:client_max_body_size|max_size) (\d+)(?:m|MB)", text)
        assert most and int(most[1]) * 10**6 > PIECE
    assert "proxy_buffering off" in nginx and "X-Forwarded-Host" in nginx and "X-Forwarded-Proto" in nginx
