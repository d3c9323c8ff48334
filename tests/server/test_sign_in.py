"""Sign-in: every route wants a token that holds, and shows the runs of its projects alone.

The routes come from the API's description, so a new one is tried too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rollscope.access import tokens
from rollscope.access.rates import Rates
from rollscope.access.sqlite_book import SqliteBook
from rollscope.server.app import application, create
from rollscope.server.sign_in.needs import needed
from rollscope.sources.otlp.receiver import Receiver
from tests.server.two_projects import GONE, NEEDLES, OURS, THEIRS, asking, bearer, record, token

PATHS = application(".").openapi()["paths"]
ROUTES = [(method.upper(), path, about) for path, ways in PATHS.items() for method, about in ways.items()]
CLOSED = [
    route
    for route in ROUTES
    if route[:2] not in {("GET", "/api/health"), ("POST", "/api/session"), ("POST", "/api/session/end")}
]
ANSWERED = [route for route in CLOSED if route[1] != "/api/live"]  # a stream has a test of its own
READ = [route for route in ANSWERED if route[0] == "GET"]
OF_A_RUN = [route for route in READ if "{run}" in route[1]]


def each(routes: list[tuple[str, str, dict[str, Any]]]) -> pytest.MarkDecorator:
    ids = [f"{method} {path}" for method, path, _ in routes]
    return pytest.mark.parametrize(("method", "path", "about"), routes, ids=ids)


BODIES: dict[str, Any] = {  # bodies that a route takes, about a run
    "/api/series": {"runs": ["RUN"], "names": ["reward/mean"]},
    "/api/values": {"runs": ["RUN"], "names": ["reward/mean"], "step": 1},
    "/api/csv": {"runs": ["RUN"], "names": ["reward/mean"]},
    "/api/compare/charts": {"groups": [["RUN"]], "names": ["reward/mean"]},
    "/api/runs/{run}/notes": {"text": "hello"},
    "/api/runs/{run}/stop": {},
    "/api/runs/{run}/findings/hidden": {"rule": "entropy-collapse"},
    "/api/runs/{run}/sql": {"query": "select * from samples"},
    "/api/runs/{run}/export": {"ids": ["zebra.1"], "format": "jsonl"},
    "/api/runs/{run}/rollouts/samples": {"ids": ["zebra.1"]},
    "/api/runs/{run}/rollouts/previews": {"ids": ["zebra.1"]},
    "/api/runs/{run}/rollouts/text": {"id": "zebra.1", "field": "response", "start": 0},
    "/api/project": {"changes": [{"kind": "note", "name": "RUN", "value": "hello"}]},
    "/api/project/undo": {"ids": ["0000000000000000"]},
    "/api/bin": {"ids": ["RUN"]},
    "/api/bin/restore": {"ids": ["RUN"]},
    "/api/bin/remove": {"ids": ["RUN"]},
    "/api/tokens": {"name": "a", "projects": ["RUN"]},
    "/api/tokens/revoke": {"id": "RUN"},
}
QUERY: dict[str, Any] = {  # of parameters that a route must have
    "name": "reward/mean",
    "step": 1,
    "metric": "reward/mean",
    "text": "a",
    "run": "RUN",
    "on": "reward/mean",
    "kind": "note",
    "env": "zebra",
    "task": "zebra",
    "lo": 0,
    "hi": 1,
    "key": "a",
    "row": 0,
    "before": 0,
    "after": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    record(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[TestClient]:
    with asking(folder) as client:
        yield client


def ask(server: TestClient, method: str, path: str, about: dict[str, Any], run: str, headers: dict[str, str]) -> Any:
    """A request that would be answered, about a run, with all that the route must have."""
    query = {
        p["name"]: QUERY.get(p["name"], "a")
        for p in about.get("parameters", [])
        if p["in"] == "query" and p.get("required")
    }
    query = {name: run if value == "RUN" else value for name, value in query.items()}
    where = re.sub(r"\{(\w+)(:path)?\}", lambda m: run if m[1] == "run" else "zebra-set", path)
    body = _about(BODIES.get(path, {}), run) if method == "POST" else None
    return server.request(method, where, params=query, json=body, headers=headers)


def _about(value: Any, run: str) -> Any:
    if isinstance(value, dict):
        return {key: _about(item, run) for key, item in value.items()}
    return [_about(item, run) for item in value] if isinstance(value, list) else run if value == "RUN" else value


@each(CLOSED)
def test_no_route_answers_without_a_token_that_holds(
    server: TestClient, folder: Path, method: str, path: str, about: dict[str, Any]
) -> None:
    server.app.app.state.door.wrong._known.clear()  # type: ignore[attr-defined]  # each route is tried afresh
    good = token(folder, "ours", may="admin")
    revoked = token(folder, "ours", may="admin")
    tokens.revoke(SqliteBook(str(folder)), revoked.split("_")[1], "root")
    wrong = {
        "none": {},
        "empty": {"authorization": "Bearer "},
        "basic": {"authorization": f"Basic {good}"},
        "changed": bearer(good[:-2] + ("AA" if good[-2:] != "AA" else "BB")),
        "over": bearer(token(folder, "ours", may="admin", days=1e-9)),
        "revoked": bearer(revoked),
        "cookie": {"cookie": f"{server.app.app.state.door.cookie}=abc.def"},  # type: ignore[attr-defined]
        "in the address": {},
    }
    for why, headers in wrong.items():
        server.cookies.clear()
        where = f"{path}?token={good}" if why == "in the address" else path
        reply = ask(server, method, where, about, OURS, headers)
        assert reply.status_code == 401, (why, reply.text)
        assert set(reply.json()) == {"error", "says"} and good not in reply.text
        assert not any(needle in reply.text for needle in NEEDLES)
    assert "is over since" in ask(server, method, path, about, OURS, wrong["over"]).json()["says"]


@each(ANSWERED)
def test_a_run_of_another_project_is_as_if_it_did_not_exist(
    server: TestClient, folder: Path, method: str, path: str, about: dict[str, Any]
) -> None:
    headers = bearer(token(folder, "ours", may="admin"))
    unknown = "run-of-zebrX"
    if needed(method, path) == "read":  # what someone else was told is kept for them alone
        ask(server, method, path, about, THEIRS, bearer(token(folder, "*")))
    there = ask(server, method, path, about, THEIRS, headers)
    not_there = ask(server, method, path, about, unknown, headers)
    assert there.status_code == not_there.status_code, (there.text, not_there.text)
    assert there.text.replace(THEIRS, "RUN") == not_there.text.replace(unknown, "RUN")
    if "{run}" in path if method == "GET" else path in BODIES:
        assert there.status_code == 404, there.text


@each(READ)
def test_nothing_is_told_of_another_project(
    server: TestClient, folder: Path, method: str, path: str, about: dict[str, Any]
) -> None:
    reply = ask(server, method, path, about, OURS, bearer(token(folder, "ours", may="admin")))
    told = reply.text.replace("zebra-set", "")  # which the request names itself
    assert not [needle for needle in NEEDLES if needle in told], told[:2000]


@each(OF_A_RUN)
def test_whoever_sees_every_project_sees_both(
    server: TestClient, folder: Path, method: str, path: str, about: dict[str, Any]
) -> None:
    """Else the tests above would pass on a server that shows nothing."""
    headers = bearer(token(folder, "*"))
    there = ask(server, method, path, about, THEIRS, headers)
    ours = ask(server, method, path, about, OURS, bearer(token(folder, "ours")))
    assert there.status_code == ask(server, method, path, about, OURS, headers).status_code == ours.status_code


def test_lists_counts_and_the_bin_have_the_runs_of_the_token(server: TestClient, folder: Path) -> None:
    ours, both = bearer(token(folder, "ours")), bearer(token(folder, "*"))
    assert [run["id"] for run in server.get("/api/runs", headers=ours).json()["runs"]] == [OURS]
    assert {run["id"] for run in server.get("/api/runs", headers=both).json()["runs"]} == {OURS, THEIRS}
    assert "apple/metric" in server.get("/api/runs/metrics", headers=ours).json()["names"]
    assert "zebra/metric" in server.get("/api/runs/metrics", headers=both).json()["names"]
    assert server.get("/api/bin", headers=ours).json()["runs"] == []
    assert [run["id"] for run in server.get("/api/bin", headers=both).json()["runs"]] == [GONE]
    assert set(server.get("/api/sets", headers=ours).json()["sets"]) == {"apple-set", "both"}
    exported = server.get("/api/sets/both/export", headers=ours)
    assert exported.status_code == 200 and "apple" in exported.text and "zebra" not in exported.text.lower()
    assert "zebra" in server.get("/api/sets/both/export", headers=both).text.lower()


ESCAPES = [
    "select * from read_csv('{folder}/project.jsonl')",
    "select * from read_parquet('{folder}/run-of-zebra/**/*.parquet')",
    "select * from glob('{folder}/**')",
    "select * from '{folder}/run-of-zebra/run.json'",
    "select * from read_text('{folder}/.rollscope/access/book.db')",
    "attach '{folder}/.rollscope/access/book.db' as book (type sqlite)",
    "copy (select 1) to '{folder}/run-of-zebra/x.csv'",
    "install httpfs",
    "set enable_external_access = true",
    "pragma database_list; select 1",
    "select getenv('HOME')",
    "select * from runs where project = 'theirs'",
    "select * from samples where run = 'run-of-zebra'",
    "select * from duckdb_views() where sql like '%zebra%'",
]


@pytest.mark.parametrize("query", ESCAPES)
def test_sql_of_a_member_reads_no_other_project(server: TestClient, folder: Path, query: str) -> None:
    headers = bearer(token(folder, "ours", may="admin"))
    asked = {"query": query.replace("{folder}", str(folder))}
    reply = server.post(f"/api/runs/{OURS}/sql", json=asked, headers=headers)
    assert reply.status_code < 500
    if reply.status_code == 200:
        assert reply.json()["rows"] == []
    else:
        echoed = reply.text.replace("run-of-zebra", "")  # the query's own words
        assert "ZEBRA" not in echoed and "zebra run" not in echoed and "rsk_" not in echoed


def test_compare_takes_no_run_of_another_project(server: TestClient, folder: Path) -> None:
    headers = bearer(token(folder, "ours"))
    for path in ("compare", "compare/noise?on=reward/mean&", "compare/factors?on=reward/mean&", "compare/tasks"):
        where = f"/api/{path}{'' if path.endswith('&') else '?'}run={OURS}&run={THEIRS}"
        reply = server.get(where, headers=headers)
        assert not any(needle in reply.text.replace(THEIRS, "") for needle in NEEDLES), reply.text


ROLES = [
    ("POST", f"/api/runs/{OURS}/notes", {"text": "a note"}, "record"),
    ("POST", f"/api/runs/{OURS}/findings/hidden", {"rule": "entropy-collapse"}, "record"),
    ("POST", "/api/project", {"changes": [{"kind": "star", "name": f"{OURS}/apple.2", "value": True}]}, "record"),
    ("POST", "/api/project", {"changes": [{"kind": "tag", "name": f"{OURS}/good", "value": True}]}, "admin"),
    ("POST", "/api/project", {"changes": [{"kind": "board", "name": "b", "value": {"panels": []}}]}, "admin"),
    ("POST", "/api/project", {"changes": [{"kind": "archive", "name": OURS, "value": False}]}, "admin"),
    ("POST", "/api/bin", {"ids": ["nothing"]}, "admin"),
]


@pytest.mark.parametrize(("method", "path", "body", "needs"), ROLES)
def test_a_role_may_do_its_part_and_no_more(
    server: TestClient, folder: Path, method: str, path: str, body: Any, needs: str
) -> None:
    for may in ("read", "record", "admin"):
        reply = server.request(method, path, json=body, headers=bearer(token(folder, "ours", may=may)))
        if ("read", "record", "admin").index(may) < ("read", "record", "admin").index(needs):
            assert reply.status_code == 403 and f"may {may}, and" in reply.json()["says"]
        else:
            assert reply.status_code == (404 if path == "/api/bin" else 200), reply.text


def test_an_undo_needs_what_the_entry_needed(server: TestClient, folder: Path) -> None:
    change = {"changes": [{"kind": "tag", "name": f"{OURS}/undone", "value": True}]}
    made = server.post("/api/project", json=change, headers=bearer(token(folder, "ours", may="admin"))).json()
    undo = {"ids": [made["entries"][0]["id"]]}
    reply = server.post("/api/project/undo", json=undo, headers=bearer(token(folder, "ours", may="record")))
    assert reply.status_code == 403
    hidden = server.get("/api/project/history?kind=note&name=" + THEIRS, headers=bearer(token(folder, "*"))).json()
    undo = {"ids": [hidden["entries"][0]["id"]]}
    reply = server.post("/api/project/undo", json=undo, headers=bearer(token(folder, "ours", may="admin")))
    assert reply.status_code == 404


def test_an_admin_of_a_project_changes_nothing_that_holds_for_all(server: TestClient, folder: Path) -> None:
    headers = bearer(token(folder, "ours", may="admin"))
    for kind, name, value in (("threshold", "entropy-collapse/low", 0.1), ("baseline", "theirs", THEIRS)):
        change = {"changes": [{"kind": kind, "name": name, "value": value}]}
        assert server.post("/api/project", json=change, headers=headers).status_code in (400, 404)
    change = {"changes": [{"kind": "baseline", "name": "ours", "value": THEIRS}]}
    assert server.post("/api/project", json=change, headers=headers).status_code == 404


def test_a_board_is_seen_by_those_who_see_all_that_its_author_saw(server: TestClient, folder: Path) -> None:
    change = {"changes": [{"kind": "board", "name": "team", "value": {"panels": [{"text": "apple words"}]}}]}
    assert server.post("/api/project", json=change, headers=bearer(token(folder, "ours", may="admin"))).is_success
    boards = {
        who: set(server.get("/api/project?kind=board", headers=bearer(token(folder, *who))).json()["held"]["board"])
        for who in (("ours",), ("theirs",), ("ours", "theirs"), ("*",))
    }
    assert "team" in boards[("ours",)] and "team" in boards[("ours", "theirs")] and "team" in boards[("*",)]
    assert "team" not in boards[("theirs",)] and "zebra board" not in boards[("ours",)]


def test_what_is_written_has_the_name_of_who_signed_in(server: TestClient, folder: Path) -> None:
    headers = bearer(token(folder, "ours", may="admin"))
    server.post(f"/api/runs/{OURS}/notes", json={"text": "who wrote this"}, headers=headers)
    notes = server.get(f"/api/runs/{OURS}/notes", headers=headers).json()["notes"]
    assert [note["author"] for note in notes if note["text"] == "who wrote this"] == ["admin of ('ours',)"]


def test_an_admin_makes_and_revokes_tokens_of_their_projects_alone(server: TestClient, folder: Path) -> None:
    admin, other = bearer(token(folder, "ours", may="admin")), token(folder, "theirs")
    made = server.post("/api/tokens", json={"name": "bob", "projects": ["ours"], "may": "read"}, headers=admin).json()
    assert server.get("/api/session", headers=bearer(made["token"])).json()["name"] == "bob"
    for projects in (["*"], ["theirs"], ["ours", "theirs"]):
        wanted = {"name": "eve", "projects": projects}
        assert server.post("/api/tokens", json=wanted, headers=admin).status_code == 404
    listed = server.get("/api/tokens", headers=admin)
    assert made["about"]["id"] in listed.text and made["token"] not in listed.text
    assert other.split("_")[1] not in listed.text
    assert server.post("/api/tokens/revoke", json={"id": other.split("_")[1]}, headers=admin).status_code == 404
    assert server.post("/api/tokens/revoke", json={"id": made["about"]["id"]}, headers=admin).status_code == 200
    assert server.get("/api/session", headers=bearer(made["token"])).status_code == 401
    reader = bearer(token(folder, "ours", may="record"))
    assert server.get("/api/tokens", headers=reader).status_code == 403
    assert server.post("/api/tokens", json={"name": "a", "projects": ["ours"]}, headers=reader).status_code == 403


def test_opentelemetry_needs_a_token_that_records_everywhere(folder: Path) -> None:
    book = SqliteBook(str(folder))
    app = create(str(folder), receiver=Receiver(str(folder)), book=book)
    with TestClient(app, base_url="http://127.0.0.1") as server:
        for who, status in (("", 401), ("read", 403), ("record", 200)):
            headers = bearer(token(folder, "*", may=who)) if who else {}
            assert server.post("/v1/metrics", json={"resourceMetrics": []}, headers=headers).status_code == status
        ours = bearer(token(folder, "ours", may="admin"))
        assert server.post("/v1/metrics", json={"resourceMetrics": []}, headers=ours).status_code == 403


# ---- browsers


def test_a_browser_signs_in_with_a_token_and_out_again(server: TestClient, folder: Path) -> None:
    server.cookies.clear()
    reply = server.get(f"/r/{OURS}/metrics?x=time")
    assert reply.status_code == 303
    assert reply.headers["location"] == f"../../sign-in?to=r%2F{OURS}%2Fmetrics%3Fx%3Dtime"
    page = server.get("/sign-in")
    assert page.status_code == 200 and not any(needle in page.text for needle in NEEDLES)
    text = token(folder, "ours")
    made = server.post("/api/session", json={"token": text})
    assert made.status_code == 200 and made.json()["projects"] == ["ours"]
    cookie = made.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie and text not in cookie
    assert server.get("/api/session").json()["name"] == "read of ('ours',)"
    assert [run["id"] for run in server.get("/api/runs").json()["runs"]] == [OURS]
    assert "read of (&#x27;ours&#x27;,)" in server.get("/").text
    kept = dict(server.cookies)
    assert server.post("/api/session/end", json={}).status_code == 200
    assert server.get("/api/runs").status_code == 401
    stolen = "; ".join(f"{name}={value}" for name, value in kept.items())
    assert server.get("/api/runs", headers={"cookie": stolen}).status_code == 401  # the session itself is over


def test_behind_tls_the_cookie_is_for_tls_alone(server: TestClient, folder: Path) -> None:
    reply = server.post("/api/session", json={"token": token(folder, "ours")}, headers={"x-forwarded-proto": "https"})
    assert "Secure" in reply.headers["set-cookie"]
    server.cookies.clear()


def test_a_page_of_another_site_cannot_sign_in_or_write(server: TestClient, folder: Path) -> None:
    text = token(folder, "ours", may="admin")
    foreign = {"origin": "https://evil.example"}
    assert server.post("/api/session", json={"token": text}, headers=foreign).status_code == 403
    server.post("/api/session", json={"token": text})
    assert server.post(f"/api/runs/{OURS}/notes", json={"text": "x"}, headers=foreign).status_code == 403
    server.cookies.clear()


@pytest.mark.parametrize("body", [{"token": "T" * 500}, {"token": ["TOKEN"]}, ["TOKEN"], "TOKEN", {"tokn": "TOKEN"}])
def test_an_error_never_repeats_a_token(server: TestClient, folder: Path, body: Any) -> None:
    reply = server.post("/api/session", json=body)
    assert reply.status_code in (400, 401) and "TTTT" not in reply.text and "TOKEN" not in reply.text


# ---- links, limits, the audit


def test_a_shared_link_shows_one_run_and_nothing_else(server: TestClient, folder: Path) -> None:
    headers = bearer(token(folder, may="read", runs=[THEIRS]))
    assert [run["id"] for run in server.get("/api/runs", headers=headers).json()["runs"]] == [THEIRS]
    assert server.get(f"/api/runs/{THEIRS}/notes", headers=headers).status_code == 200
    assert server.get(f"/api/runs/{OURS}", headers=headers).status_code == 404
    assert server.post(f"/api/runs/{THEIRS}/notes", json={"text": "x"}, headers=headers).status_code == 403
    assert server.get("/api/bin", headers=headers).json()["runs"] == []
    held = server.get("/api/project", headers=headers).json()["held"]
    assert not held["board"] and not held["baseline"] and list(held["note"]) == [THEIRS]
    headers = bearer(token(folder, runs=[THEIRS], boards=["zebra board"]))
    assert list(server.get("/api/project", headers=headers).json()["held"]["board"]) == ["zebra board"]


def test_who_asks_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    busy, calm = bearer(token(tmp_path, "ours")), bearer(token(tmp_path, "ours"))
    with asking(tmp_path) as server:
        server.app.app.state.door.requests = Rates(burst=5, a_second=0.01)  # type: ignore[attr-defined]
        replies = [server.get("/api/session", headers=busy) for _ in range(8)]
        assert [reply.status_code for reply in replies] == [200] * 5 + [429] * 3
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 100 and "too often" in replies[-1].json()["says"]
        assert server.get("/api/session", headers=calm).status_code == 200


def test_the_audit_has_who_did_what(folder: Path, server: TestClient) -> None:
    server.cookies.clear()
    text = token(folder, "ours", may="admin")
    server.app.app.state.door.wrong._known.clear()  # type: ignore[attr-defined]
    server.post("/api/session", json={"token": text})
    server.get("/api/runs", headers=bearer("rsk_wrong"))
    change = {"changes": [{"kind": "board", "name": "audited", "value": {"panels": []}}]}
    server.post("/api/project", json=change)
    told = [(event.what, event.about) for event in SqliteBook(str(folder)).events(20)]
    assert ("changed", "board audited") in told
    assert any(what == "signed in" for what, _ in told) and any(what == "refused" for what, _ in told)
    assert not any(text in about or text[-43:] in about for _, about in told)
    server.cookies.clear()


def test_a_run_that_is_deleted_stays_its_projects(tmp_path: Path) -> None:
    record(tmp_path)
    with asking(tmp_path) as server:
        ours, theirs = (bearer(token(tmp_path, one, may="admin")) for one in ("ours", "theirs"))
        assert server.post("/api/bin", json={"ids": [OURS]}, headers=ours).status_code == 200
        assert server.get("/api/bin", headers=theirs).json()["runs"][0]["id"] == GONE
        assert [run["id"] for run in server.get("/api/bin", headers=ours).json()["runs"]] == [OURS]
        for way in ("restore", "remove"):
            assert server.post(f"/api/bin/{way}", json={"ids": [OURS]}, headers=theirs).status_code == 404
        assert server.post("/api/bin/restore", json={"ids": [OURS]}, headers=ours).status_code == 200
        what = [event.what for event in SqliteBook(str(tmp_path)).events(10)]
        assert "deleted" in what and "restored" in what


def test_without_a_book_nobody_is_asked(folder: Path) -> None:
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        assert len(client.get("/api/runs").json()["runs"]) == 2
        assert client.get("/api/session").json()["signed_in"] is False
        assert client.post("/api/session", json={"token": "x"}).status_code == 404
