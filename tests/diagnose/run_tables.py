"""What rules that read runs stay quiet on, and what they speak of; each row a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs
from tests.diagnose.worlds import Row, Rows, Said, answers, failing, nothing, recorded, said, sample, sixteen

random = np.random.default_rng(5)
Recipe = Callable[[Path], Said]
Table = tuple[dict[str, Recipe], dict[str, Recipe]]


def of(rows: Rows, steps: int = 20, log: Callable[[int], Row] | None = None, **facts: Any) -> Recipe:
    return lambda folder: recorded(folder, rows, steps, log, **facts)


def logged(steps: int = 40, **series: Any) -> Recipe:
    """A run that logs these series: `__` in a name is a slash, a number holds for every step."""

    def log(step: int) -> Row:
        values = {name: value if np.isscalar(value) else value[step] for name, value in series.items()}
        return {name.replace("__", "/"): float(value) for name, value in values.items()}

    return of(nothing, steps, log)


def hard_tasks(step: int) -> list[Row]:
    """One task of four is merely hard: it earns nothing, and nothing fails."""
    return [sample(i, **({"reward": 0.0} if i < 4 else {})) for i in range(16)]


def stopped(reason: str) -> Rows:
    return lambda step: [sample(i, stop_reason=reason) for i in range(16)]


def evaluated(tasks: list[str], prompts: tuple[str, str] | None = None) -> Recipe:
    """Training on the tasks t0 to t3, and an evaluation of these tasks.

    `prompts` are the text of training and of the evaluation; `{i}` is the number of the task.
    """

    def record(folder: Path) -> Said:
        with rs.init(name="run", dir=str(folder), host=False) as run:
            for step in range(6):
                own = [{"prompt": prompts[0].format(i=i // 4)} if prompts else {} for i in range(16)]
                rows = [{"id": f"{step}.{i}", **row, **own[i]} for i, row in enumerate(sixteen(step))]
                run.log_samples(rows, step=step)
                run.log_eval("held-out", [_result(task, i, prompts) for i, task in enumerate(tasks)], step=step)
        return said(folder, run.id)

    return record


def _result(task: str, i: int, prompts: tuple[str, str] | None) -> Row:
    held = {"sample": {"prompt": prompts[1].format(i=i), "completion": "x"}} if prompts else {}
    return {"task": task, "scores": {"acc": 0.5}, **held}


def components(main: np.ndarray, form: np.ndarray) -> Recipe:
    series = {"reward_component/correctness/mean": main, "reward_component/format/mean": form}
    return logged(len(main), reward__mean=main + 0.1 * form, **series)


def waiting(
    wait: Callable[[int], float], lanes: tuple[int, int], stale: float, later: tuple[int, int] | None = None
) -> Recipe:
    """A trainer that waits; `lanes` are requests of two workers a step, `later` since step 20."""

    def record(folder: Path) -> Said:
        with rs.init(name="run", dir=str(folder), host=False) as run:
            for step in range(40):
                end = (step + 1) * 1_000_000_000
                run.log({"time/waiting_for_data": wait(step), "time/step": 1.0, "staleness/max": stale}, step=step)
                for worker, requests in enumerate(later if later and step >= 20 else lanes):
                    for _ in range(requests):
                        run.log_span("generate", end - 10**8, end, lane=f"inference/{worker}", step=step)
        return said(folder, run.id)

    return record


def two_sides(generates: float, trains: float, stale: float, steps: int = 40) -> Recipe:
    """A run whose engines and trainer work a share of each step of one second."""

    def record(folder: Path) -> Said:
        with rs.init(name="run", dir=str(folder), host=False) as run:
            for step in range(steps):
                start = (step + 1) * 10**9
                run.log({"time/step": 1.0, "staleness/max": stale}, step=step)
                for lane, name, share in (("inference/0", "generate", generates), ("trainer/0", "train", trains)):
                    done = start + round(share * 10**9)
                    run.log_span(name, start, done, lane=lane, step=step)
                    run.log_span("wait", done, start + 10**9, lane=lane, step=step, kind="wait")
        return said(folder, run.id)

    return record


LONG = 220
steady = 0.98 + 0.005 * random.normal(size=LONG)
little = 0.005 * random.normal(size=LONG)
even = {f"time/update_policy{end}": 2.0 for end in ("", "/slowest_rank")}

NOT_TRAINED, DIED, OFF = {"trained": False}, {"error": "sandbox died"}, {"stop_reason": "canceled"}

RUN_TABLES: dict[str, Table] = {
    "environment-failures": (
        {
            "nothing fails": of(sixteen),
            "a merely hard prompt earns nothing": of(hard_tasks),
            "one sample of one step": of(failing(0.0625, 10, 10)),
            "cut is not failed": of(stopped("length")),
            "a policy out of turns": of(stopped("max_turns")),
            "requests that would come too late are called off": of(
                lambda step: [
                    sample(i, **({"stop_reason": "cancelled", "trained": False} if i < 6 and step % 4 else {}))
                    for i in range(16)
                ]
            ),
            "partial rollouts are called off, to go on later": of(
                lambda step: [
                    sample(i, **({"stop_reason": "aborted", "trained": False} if i < 5 else {})) for i in range(16)
                ]
            ),
            "a task that always fails is masked, and moves no baseline": of(
                lambda step: [
                    sample(i, **({"error": "no image", "trained": False} if i == 3 and step % 4 == 0 else {}))
                    for i in range(64)
                ]
            ),
        },
        {
            "most are gone since step 10, and trained on as zeros": of(failing(0.9)),
            "a quarter of the sandboxes fails, masked": of(failing(0.25, trained=False, discard_reason="error")),
            "an outage of four steps that is over": of(failing(0.5, 6, 9), 30),
            "cancelled answers are trained on": of(
                lambda step: [
                    sample(i, **({"stop_reason": "cancelled", "reward": 0.0} if i < 5 else {})) for i in range(16)
                ]
            ),
            "sandboxes fail among requests that are called off": of(
                lambda step: [
                    sample(
                        i, **({} if (turn := (i + 5 * step) % 16) >= 7 else NOT_TRAINED | (DIED if turn < 3 else OFF))
                    )
                    for i in range(16)
                ]
            ),
            "most requests are called off for many steps": of(
                lambda step: [
                    sample(i, **({"stop_reason": "cancelled", "trained": False} if i < 12 else {})) for i in range(16)
                ]
            ),
        },
    ),
    "grader-drift": (
        {
            "the same answer earns the same": of(answers(lambda step: 1.0)),
            "no answer twice": of(lambda step: [sample(i, completion=f"{step} {i}") for i in range(16)]),
            "no text is kept": of(sixteen),
            "a judge that always varies": of(answers(lambda step: 0.5 + 0.4 * float(np.sin(7.0 * step)))),
            "a price for KL in the reward drifts": of(answers(lambda step: 1 - 0.001 * step)),
            "the score of the grader is the same": of(answers(lambda step: 1 - 0.1 * (step > 12), score=1.0)),
            "one step was graded in another way": of(answers(lambda step: 0.5 if step == 12 else 1.0)),
        },
        {"another judge since step 12": of(answers(lambda step: 1.0 if step < 12 else 0.5))},
    ),
    "eval-leak": (
        {
            "other tasks": evaluated(["e1", "e2", "e3"]),
            "one template with other numbers": evaluated(
                ["e1", "e2"], ("use 1{i} and 7{i} to make 30", "use 4{i} and 9{i} to make 52")
            ),
            "nearly the same prompt is no proof": evaluated(
                ["e1", "e2"], ("sum {i} and 3, please", "Sum {i} and 3, please, now")
            ),
            "a long instruction that all prompts share": evaluated(
                ["e1", "e2"],
                (
                    "Think step by step and put the answer in a box. What is the capital of land {i}?",
                    "Think step by step and put the answer in a box. Who wrote the novel number 9{i}?",
                ),
            ),
        },
        {
            "two of three tasks are trained on": evaluated(["e1", "t2", "t3"]),
            "the same prompts under other ids": evaluated(
                ["e1", "e2"], ("how many legs do {i} spiders have?", "How many legs do  {i} spiders have?")
            ),
        },
    ),
    "impossible-number": (
        {
            "a share": logged(5, length__truncated=0.4),
            "a share of all": logged(5, length__truncated=1.0),
            "a tiny k3": logged(5, policy__kl_ref_k3=1e-9),
            "a k1 may be negative": logged(5, policy__kl_ref_k1=-0.2),
            "a log-probability": logged(5, policy__logp__mean=-0.7),
            "a reward has no natural range": logged(5, reward__mean=35.0),
            "one batch, updated several times: ratios leave 1": logged(
                5, policy__ratio__max=1.4, policy__clip__region=0.1
            ),
            "advantages that are not divided by their spread": logged(5, advantage__std=0.3),
            "all answers are equally long": logged(5, **{"length/completion/min": 40.0, "length/completion/max": 40.0}),
        },
        {
            "a share above 1": logged(5, length__truncated=1.5),
            "a k3 below 0": logged(5, policy__kl_ref_k3=-0.2),
            "a log-probability above 0": logged(5, policy__logp__mean=0.7),
            "the shortest answer is longer than the longest": logged(
                5, **{"length/completion/min": 90.0, "length/completion/max": 40.0}
            ),
        },
    ),
    "reward-composition": (
        {
            "the answer is learned": components(np.linspace(0.2, 0.7, LONG), steady),
            "nothing is learned, and format is saturated": components(0.4 + 4 * little, steady),
            "format is learned in a rush, late, and the answer waits": components(
                0.1 + little[:140], np.r_[np.full(90, 0.2), np.linspace(0.2, 0.95, 30), steady[120:140]]
            ),
            "format first, then the answer": components(
                np.r_[np.full(60, 0.1), np.linspace(0.1, 0.6, LONG - 60)],
                np.r_[np.linspace(0.2, 1, 60), steady[60:]],
            ),
        },
        {
            "format varies, the answer hardly does": components(0.01 + little, 0.8 + 20 * little[::-1]),
            "format grows alone": components(0.3 + little, np.r_[np.full(80, 0.3), np.linspace(0.3, 1, 140)]),
            "the answer was learned, then format grows in its place": components(
                np.r_[np.linspace(0.1, 0.4, 80), np.full(22, 0.4)], np.r_[np.full(80, 0.3), np.linspace(0.3, 0.6, 22)]
            ),
        },
    ),
    "slower": (
        {
            "level": logged(80, time__step=40.0),
            "answers are as much longer": logged(
                80, time__step=np.linspace(40, 80, 80), length__completion__mean=np.linspace(300, 600, 80)
            ),
            "noise": logged(80, time__step=40 + 10 * random.normal(size=80)),
            "one slow step": logged(80, time__step=np.r_[np.full(40, 40.0), 90, np.full(39, 40.0)]),
        },
        {
            "slower at the same length": logged(
                80, time__step=np.r_[np.full(40, 40.0), np.linspace(40, 100, 40)], length__completion__mean=300.0
            )
        },
    ),
    "slow-rank": (
        {
            "all ranks take as long": logged(40, **even),
            "a few per cent between ranks": logged(40, **{**even, "time/update_policy/slowest_rank": 2.1}),
            "milliseconds do not matter": logged(
                40, **{"time/update_policy": 0.01, "time/update_policy/slowest_rank": 0.03}
            ),
            "generation differs by its answers": logged(
                40, **{"time/generate": 2.0, "time/generate/slowest_rank": 5.0}
            ),
        },
        {"one rank takes half as long again": logged(40, **{**even, "time/update_policy/slowest_rank": 3.0})},
    ),
    "trainer-waits": (
        {
            "it hardly waits": waiting(lambda step: 0.05, (3, 3), 1.0),
            "sampling and training in turns, by design": waiting(lambda step: 0.6, (3, 3), 0.0),
            "it waits alike from the start, and all workers work": waiting(lambda step: 0.5, (3, 3), 1.0),
            "one worker does less, and nobody waits": waiting(lambda step: 0.05, (1, 4), 1.0),
            "a counter that says more than the whole step, as ever": waiting(lambda step: 1.4, (3, 3), 1.0),
        },
        {
            "one worker is slow and the trainer waits": waiting(lambda step: 0.5, (1, 4), 1.0),
            "one worker does nothing any more": waiting(
                lambda step: 0.2 if step < 20 else 0.4, (3, 3), 1.0, later=(0, 5)
            ),
            "it began to wait at step 20, with an easy moment": waiting(
                lambda step: 0.05 if step < 20 else 0.2 if 30 <= step < 34 else 0.5, (3, 3), 1.0
            ),
            "it began to wait at step 20": waiting(lambda step: 0.05 if step < 20 else 0.5, (3, 3), 1.0),
        },
    ),
    "rollouts-wait": (
        {
            "both sides work": two_sides(0.95, 0.98, 1.0),
            "both sides wait": two_sides(0.4, 0.5, 1.0),
            "sampling and training in turns, by design": two_sides(0.4, 0.98, 0.0),
            "it has just begun": two_sides(0.4, 0.98, 1.0, steps=8),
        },
        {"engines are done in less than half of the step": two_sides(0.4, 0.98, 1.0)},
    ),
    "catalogue-alarms": (
        {
            "what was discarded": logged(40, **{"discarded/reward/length_correlation": 0.95}),
            "old data is far from its sampler, which a rule of its own judges": logged(
                40, policy__kl_sampler_k3=0.05, staleness__mean=2.0
            ),
            "a weak correlation": logged(40, **{"reward/length_correlation/trained": 0.3}),
            "five steps of it": logged(40, **{"reward/length_correlation/trained": np.r_[[0.95] * 5, [0.1] * 35]}),
        },
        {"length decides the reward for forty steps": logged(40, **{"reward/length_correlation/trained": 0.95})},
    ),
}
