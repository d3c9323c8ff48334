"""A small server that speaks what the wandb library asks for: runs, history by pages, files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Held:
    """What the server holds of one run, and what it was asked."""

    history: list[dict[str, Any]]
    config: dict[str, Any]
    axes: list[dict[str, Any]] = field(default_factory=list)  # of define_metric, in W&B's form
    system: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    fails_from: int = 1 << 60  # the first step that it cannot read
    asked: list[int] = field(default_factory=list)  # first steps of the pages
    viewer: bool = True
    gone: str = ""  # the id of a run that is listed first and cannot be read

    def facts(self) -> dict[str, Any]:
        return {
            **dict(id="R1", projectId="1", tags=["a"], name="abc123", displayName="first", sweepName=None),
            **dict(state="finished", group="g", jobType=None, commit=None, readOnly=False, description=""),
            **dict(createdAt="2026-01-01T00:00:00Z", heartbeatAt="2026-01-01T01:00:00Z", notes="a note"),
            **dict(systemMetrics="{}", historyLineCount=len(self.history), user={"name": "u", "username": "u"}),
            "summaryMetrics": json.dumps(self.history[-1]),
            "config": json.dumps({key: {"value": value, "desc": None} for key, value in self._config().items()}),
            "historyKeys": {"lastStep": self.history[-1]["_step"], "keys": {}},
        }

    def _config(self) -> dict[str, Any]:
        return {**self.config, "_wandb": {"m": self.axes}}

    def answer(self, query: str, variables: dict[str, Any], url: str) -> dict[str, Any]:
        if "viewer" in query:
            viewer = {"id": "u", "username": "u", "entity": "team", "email": "", "flags": "{}", "teams": {"edges": []}}
            return {"viewer": viewer if self.viewer else None}
        if "query Runs(" in query:
            pages = {"endCursor": "c", "hasNextPage": False}
            listed = [*([{**self.facts(), "name": self.gone}] if self.gone else []), self.facts()]
            runs = {"edges": [{"node": node, "cursor": "c"} for node in listed], "pageInfo": pages}
            return {"project": {"internalId": "1", "runCount": len(listed), "readOnly": False, "runs": runs}}
        if self.gone and self.gone in variables.values():
            return {"project": {"internalId": "1", "run": None}}
        if "RunParquetHistory" in query:
            return {"project": {"run": {"parquetHistory": {"parquetUrls": [], "liveData": []}}}}
        if "RunOutputArtifacts" in query:
            nodes = [{"node": _artifact(name), "cursor": "c"} for name in self.artifacts]
            pages = {"endCursor": "c", "hasNextPage": False}
            found = {"totalCount": len(nodes), "edges": nodes, "pageInfo": pages}
            return {"project": {"run": {"artifacts": found}}}
        if "RunFullHistory" in query:
            return {"project": {"run": {"events": [json.dumps(row) for row in self.system]}}}
        if "HistoryPage" in query:
            return {"project": {"run": {"history": self.page(variables["minStep"], variables["maxStep"])}}}
        if "RunFiles" in query:
            return {"project": {"internalId": "1", "run": {"fileCount": len(self.files), "files": self.listing(url)}}}
        return {"project": {"internalId": "1", "run": self.facts()}}

    def page(self, first: int, end: int) -> list[str]:
        self.asked.append(first)
        if end > self.fails_from:
            raise PermissionError("the history cannot be read now")
        return [json.dumps(row) for row in self.history if first <= row["_step"] < end]

    def listing(self, url: str) -> dict[str, Any]:
        nodes = [
            {
                **dict(id=name, name=name, url=f"{url}/files/{i}", directUrl=f"{url}/files/{i}"),
                **dict(sizeBytes=len(data), mimetype="text/plain", updatedAt=None, md5=None),
            }
            for i, (name, data) in enumerate(self.files.items())
        ]
        pages = {"endCursor": "c", "hasNextPage": False}
        return {"edges": [{"node": node, "cursor": "c"} for node in nodes], "pageInfo": pages}


def _artifact(name: str) -> dict[str, Any]:
    """A version of an artifact as W&B describes it."""
    project = {"id": "P", "internalId": "P", "name": "countdown", "entity": {"name": "team"}}
    sequence = {"__typename": "ArtifactSequence", "id": "S", "name": name, "project": project}
    return {
        **dict(
            __typename="Artifact", id="A", artifactSequence=sequence, versionIndex=3, artifactType={"name": "model"}
        ),
        **dict(description=None, metadata=None, ttlDurationSeconds=-2, ttlIsInherited=True, tags=[], historyStep=None),
        **dict(state="COMMITTED", size=1234, digest="d", commitHash=None, fileCount=1, aliases=[]),
        **dict(createdAt="2026-01-01T00:00:00Z", updatedAt=None),
    }


@contextmanager
def serving(held: Held) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            found = list(held.files.values())
            number = self.path.rpartition("/")[2]
            known = self.path.startswith("/files/") and number.isdigit() and int(number) < len(found)
            self.reply(200 if known else 404, found[int(number)] if known else b"")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)))
            url = f"http://127.0.0.1:{server.server_port}"
            try:
                said: dict[str, Any] = {"data": held.answer(asked["query"], asked.get("variables") or {}, url)}
                self.reply(200, json.dumps(said).encode())
            except PermissionError as error:
                self.reply(403, json.dumps({"errors": [{"message": str(error)}]}).encode())

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
