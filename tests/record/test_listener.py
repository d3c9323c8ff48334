"""`on_finding`: a doctor in a helper process reports findings while the run goes on."""

import math
import time

GENEROUS = 240.0  # the doctor has the lowest priority of the machine


def test_findings_reach_the_listener_while_the_run_goes_on(init):
    run, findings = init(), []
    run.on_finding(findings.append)
    for step in range(40):
        run.log({"policy/loss_total": math.inf if step > 20 else 1.0, "optimiser/grad_norm": 1.0}, step=step)
    end = time.monotonic() + GENEROUS
    while not findings and time.monotonic() < end:
        time.sleep(0.05)
    assert findings[0]["rule"] == "non-finite" and "claim" in findings[0]
    began = time.monotonic()
    run.finish()
    assert time.monotonic() - began < 60, "finish does not wait for the doctor"


def test_a_listener_that_raises_is_reported_and_does_not_stop_the_run(init, recorded, capfd):
    run, calls = init(), []

    def listener(finding):
        calls.append(finding)
        raise RuntimeError("pager is down")

    run.on_finding(listener)
    for step in range(40):
        run.log({"policy/loss_total": math.inf}, step=step)
    end = time.monotonic() + GENEROUS
    while "pager is down" not in capfd.readouterr().err:
        assert time.monotonic() < end
        time.sleep(0.05)
    run.log({"after": 1.0}, step=40)
    run.finish()
    assert calls and recorded(run).values["after", 40] == [1.0]
