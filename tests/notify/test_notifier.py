"""Once per onset, once on recovery, whatever the target does and whenever the process dies."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rollscope.notify import webhook
from rollscope.notify.notifier import Notifier
from rollscope.notify.stored import told
from rollscope.notify.target import target
from tests.ports import free_port

from .conftest import GENEROUS, Hook, found, wait_for


def notifier(folder: str, url: str, said: list[str] | None = None) -> Notifier:
    return Notifier(folder, "run", "grpo-1", [target(url)], (said if said is not None else []).append, wait=0.02)


def stages(folder: str) -> dict[str, str]:
    return {f"{row['rule']}@{row['step']}:{row['event']}": row["stage"] for row in told(folder)}


def test_one_notice_when_it_begins_and_one_when_it_is_over(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    for findings in ([], [found()], [found()], [found(step=41)], [found(until=60)], [found(until=60)], []):
        teller.look(findings, 100)
    teller.close(GENEROUS)
    assert [(n["event"], n["rule"], n["step"], n["until"]) for n in hook.taken] == [
        ("opened", "kl-takeoff", 40, None),
        ("recovered", "kl-takeoff", 40, 60),
    ]
    assert "KL took off since step 40" in hook.taken[0]["title"] and "First check: the lr" in hook.taken[0]["text"]


def test_a_finding_that_is_gone_for_one_look_has_not_ended(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    for findings in ([found()], [], [found()], [], [], [found()]):
        teller.look(findings, 100)
    teller.close(GENEROUS)
    assert [n["event"] for n in hook.taken] == ["opened", "recovered"]


def test_what_begins_again_is_told_again(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    for findings in ([found(until=50, step=40)], [found(until=50), found(step=90)]):
        teller.look(findings, 100)
    teller.close(GENEROUS)
    assert [(n["event"], n["step"]) for n in hook.taken] == [("opened", 90)], "the first was over before anyone looked"


def test_what_came_and_went_between_two_looks_is_told_with_its_end(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    teller.look([], 100)
    teller.look([found()], 100)
    teller.look([found(), found("non-finite", 44, 44)], 100)
    teller.close(GENEROUS)
    assert [(n["rule"], n["event"]) for n in hook.taken][1:] == [("non-finite", "opened"), ("non-finite", "recovered")]


def test_what_was_there_a_few_steps_ago_has_not_ended(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    teller.look([], 39)
    for step in range(40, 60):
        teller.look([found(until=step)], step)
    teller.look([found(until=59)], 70)
    teller.close(GENEROUS)
    assert [(n["event"], n["until"]) for n in hook.taken] == [("opened", None), ("recovered", 59)]


def test_information_is_nobodys_alarm(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    teller.look([found(severity="info")], 100)
    teller.close(GENEROUS)
    assert not hook.got


def test_a_target_that_answers_500_is_tried_again_until_it_takes_the_notice(folder: str, hook: Hook) -> None:
    said: list[str] = []
    hook.answers = [500, 503, 429]
    teller = notifier(folder, hook.url, said)
    teller.look([found()], 100)
    wait_for(lambda: hook.taken, "the fourth try")
    teller.close(GENEROUS)
    assert len(hook.got) == 4 and len(hook.taken) == 1 and stages(folder) == {"kl-takeoff@40:opened": "sent"}
    assert len({h["Idempotency-Key"] for h in hook.headers}) == 1
    assert "answered 500" in said[0] and "T0P5ECRET" not in "".join(said)


def test_a_target_that_is_down_gets_the_notice_when_it_is_up(folder: str) -> None:
    port = free_port()
    said: list[str] = []
    teller = notifier(folder, f"http://127.0.0.1:{port}/", said)
    teller.look([found()], 100)
    wait_for(lambda: said, "the first failure")
    assert "cannot be reached" in said[0] and "tried again" in said[0]
    hook = _hook_at(port)
    try:
        wait_for(lambda: hook.taken, "the notice")
        teller.close(GENEROUS)
    finally:
        hook.close()
    assert len(hook.taken) == 1


def _hook_at(port: int) -> Hook:
    from http.server import ThreadingHTTPServer

    hook = Hook()
    handler = hook.server.RequestHandlerClass
    hook.server.shutdown()
    hook.server.server_close()
    hook.thread.join()
    hook.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    hook.server.daemon_threads = True
    hook.thread = threading.Thread(target=hook.server.serve_forever, args=(0.02,), daemon=True)
    hook.thread.start()
    return hook


def test_a_slow_target_gets_a_notice_once_and_delays_no_other(
    folder: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "CONNECT_SECONDS", 0.3)
    quick = Hook()
    hook.answers = [lambda handler: hook.release.wait(GENEROUS)] * 9
    teller = Notifier(folder, "run", "r", [target(hook.url), target(quick.url)], lambda _: None, wait=0.02)
    try:
        teller.look([found()], 100)
        wait_for(lambda: quick.taken, "the quick target's notice")
        wait_for(lambda: "unanswered" in [row["stage"] for row in told(folder)], "the slow target's end")
        wait_for(lambda: hook.got, "the slow target's notice")
        teller.close(GENEROUS)
    finally:
        quick.close()
    assert len(hook.got) == 1, "it may have arrived, so it is not sent again"


def test_an_answer_that_drips_for_ever_is_cut(folder: str, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "DEADLINE_SECONDS", 0.5)

    def drip(handler: Any) -> None:
        with contextlib.suppress(OSError):
            while not hook.release.wait(0.05):
                handler.wfile.write(b"a")

    hook.answers = [drip]
    teller = notifier(folder, hook.url)
    teller.look([found()], 100)
    wait_for(lambda: stages(folder) == {"kl-takeoff@40:opened": "unanswered"}, "the deadline")
    wait_for(lambda: hook.got, "the notice")
    teller.close(GENEROUS)
    assert len(hook.got) == 1


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_leads_nowhere(folder: str, hook: Hook, code: int) -> None:
    elsewhere, said = Hook(), []

    def redirect(handler: Any) -> None:
        handler.send_response(code)
        handler.send_header("Location", elsewhere.url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    hook.answers = [redirect] * 9
    try:
        teller = notifier(folder, hook.url, said)
        teller.look([found()], 100)
        teller.close(GENEROUS)
    finally:
        elsewhere.close()
    assert not elsewhere.got and len(hook.got) == 1
    assert stages(folder) == {"kl-takeoff@40:opened": "refused"} and "not followed" in said[0]


def test_a_revoked_webhook_is_not_tried_again(folder: str, hook: Hook) -> None:
    hook.answers = [404]
    teller = notifier(folder, hook.url)
    teller.look([found()], 100)
    teller.close(GENEROUS)
    assert len(hook.got) == 1 and stages(folder) == {"kl-takeoff@40:opened": "refused"}


def test_another_process_goes_on_where_one_ended(folder: str, hook: Hook) -> None:
    first = notifier(folder, hook.url)
    first.look([found()], 100)
    first.close(GENEROUS)
    second = notifier(folder, hook.url)
    second.look([found(), found("truncation", 50)], 100)
    second.look([found(until=70), found("truncation", 50)], 100)
    second.close(GENEROUS)
    assert [(n["rule"], n["event"]) for n in hook.taken] == [
        ("kl-takeoff", "opened"),
        ("truncation", "opened"),
        ("kl-takeoff", "recovered"),
    ]


def test_two_that_look_at_once_tell_once(folder: str, hook: Hook) -> None:
    both = [notifier(folder, hook.url), notifier(folder, hook.url)]
    for _ in range(3):
        for teller in both:
            teller.look([found()], 100)
    for teller in both:
        teller.close(GENEROUS)
    assert len(hook.got) == 1


CHILD = """
import sys, time
from rollscope.diagnose.finding import Finding
from rollscope.notify.notifier import Notifier
from rollscope.notify.target import target
teller = Notifier(sys.argv[1], "run", "r", [target(sys.argv[2])], print, wait=0.02)
teller.look([Finding(step=40, claim="KL took off", evidence="", severity="bad", rule="kl-takeoff")], 100)
time.sleep(600)
"""


def _killed(folder: str, url: str, when: Any) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, folder, url], stdout=subprocess.DEVNULL)
    try:
        wait_for(when, "the moment of the kill")
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()


def test_a_kill_while_it_is_sent_sends_nothing_twice(folder: str, hook: Hook) -> None:
    hook.answers = [lambda handler: hook.release.wait(GENEROUS)]
    _killed(folder, hook.url, lambda: hook.got)
    hook.release.set()
    teller = notifier(folder, hook.url)
    teller.look([found()], 100)
    teller.close(GENEROUS)
    assert len(hook.got) == 1 and stages(folder) == {"kl-takeoff@40:opened": "unanswered"}


def test_a_kill_before_it_is_sent_loses_nothing(folder: str, hook: Hook) -> None:
    hook.answers = [500] * 3
    _killed(folder, hook.url, lambda: len(hook.got) >= 2)
    hook.answers = []
    teller = notifier(folder, hook.url)
    teller.look([found()], 100)
    teller.close(GENEROUS)
    assert len(hook.taken) <= 1 and stages(folder)["kl-takeoff@40:opened"] in ("sent", "unanswered")


def test_a_line_that_a_kill_cut_is_passed_over(folder: str, hook: Hook) -> None:
    teller = notifier(folder, hook.url)
    teller.look([found()], 100)
    teller.close(GENEROUS)
    (record,) = Path(folder, "notices").iterdir()
    record.write_bytes(record.read_bytes() + b'{"stage": "que')
    teller = notifier(folder, hook.url)
    teller.look([found(), found("truncation", 50)], 100)
    teller.close(GENEROUS)
    assert [n["rule"] for n in hook.taken] == ["kl-takeoff", "truncation"]
    assert set(stages(folder).values()) == {"sent"}


def test_without_a_record_nothing_is_sent(folder: str, hook: Hook) -> None:
    said: list[str] = []
    Path(folder, "notices").write_text("a file where the folder should be")
    teller = notifier(folder, hook.url, said)
    teller.look([found()], 100)
    teller.look([found()], 100)
    teller.close(GENEROUS)
    assert not hook.got and len(said) == 1 and "record cannot be written" in said[0]


def test_the_queue_is_bounded(folder: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        teller = notifier(folder, f"http://127.0.0.1:{free.getsockname()[1]}/")
        teller.look([found(f"rule-{n}") for n in range(150)], 100)
        teller.close(0.0)
    assert sum(stage == "given up" for stage in stages(folder).values()) == 50


def test_no_secret_of_a_target_or_of_a_text_leaves(folder: str, hook: Hook) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    teller = notifier(folder, hook.url)
    teller.look([found(evidence=f"the tool said api_key={key} \x1b[31m\u202egnp.exe")], 100)
    teller.close(GENEROUS)
    (record,) = Path(folder, "notices").iterdir()
    everything = record.read_text() + str(hook.taken) + str(told(folder)) + record.name
    assert key not in everything and "T0P5ECRET" not in record.read_text() + str(told(folder)) + record.name
    assert "\x1b" not in hook.taken[0]["text"] and "\u202e" not in hook.taken[0]["text"]
