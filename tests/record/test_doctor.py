"""`on_finding`: a doctor in a process of its own, heard while the run goes on."""

import math
import time


def test_findings_are_heard_while_the_run_goes_on(init):
    run, heard = init(), []
    run.on_finding(heard.append)
    for step in range(40):
        run.log({"policy/loss_total": math.inf if step > 20 else 1.0, "optimiser/grad_norm": 1.0}, step=step)
    end = time.monotonic() + 60
    while not heard and time.monotonic() < end:
        time.sleep(0.05)
    assert heard[0]["rule"] == "non-finite" and "claim" in heard[0]
    began = time.monotonic()
    run.finish()
    assert time.monotonic() - began < 5, "nobody waits for the doctor"


def test_a_listener_that_raises_is_said_and_asked_again(init, capfd):
    run, calls = init(), []

    def listener(finding):
        calls.append(finding)
        raise RuntimeError("pager is down")

    run.on_finding(listener)
    for step in range(40):
        run.log({"policy/loss_total": math.inf}, step=step)
    end = time.monotonic() + 60
    while "pager is down" not in capfd.readouterr().err:
        assert time.monotonic() < end
        time.sleep(0.05)
    run.finish()
    assert calls
