"""What recording costs veRL: CPU time per step in our hooks and in our threads.

    .venvs/verl/bin/python bench/verl_cost.py [trained] [drawn] [--dry]     (with src on PYTHONPATH)

In `trained`, a tiny model trains with veRL's loop, FSDP engine, loss and optimiser, in steps of
a third of a second, and the cost is compared with the CPU time of the whole step. In `drawn`,
veRL's loop runs with drawn rollouts of three turns and a tokenizer of Hugging Face. The engine and
the workers take no time there, so each step waits until it has lasted half a second: our threads
wake up as often as in a training with such steps. The cost is compared with that half second.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[0] / "tests" / "frameworks"), str(HERE)]

import our_threads  # noqa: E402

STEP = 0.5  # seconds that a step lasts
SIZES = {"8 samples of up to 96 tokens": (4, 96), "64 samples of up to 96 tokens": (32, 96)}  # prompts, width
TRAINED = ((8, 96, 2), (64, 96, 2))  # samples, width, layers of the model
STEPS, WARM = 50, 10
SPENT = [0.0]
DEPTH = [False]


def counted(function: Any) -> Any:
    """Replaces the guard of every hook, and counts its CPU time on the trainer's thread."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        began = time.thread_time()
        outer, DEPTH[0] = DEPTH[0], True
        try:
            return function(*args, **kwargs)
        finally:
            DEPTH[0] = outer
            if not outer and threading.current_thread() is threading.main_thread():
                SPENT[0] += time.thread_time() - began

    return guarded


def trained(samples: int, width: int, layers: int) -> list[dict[str, str]]:
    """A training in which a step takes about a third of a second; answers have one turn."""
    import verl_train_run
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    import results

    out = Path(tempfile.mkdtemp())
    os.environ |= {"ROLLSCOPE_DIR": str(out / "runs"), "VERL_FILE_LOGGER_PATH": str(out / "logged.jsonl")}
    verl_train_run.PROMPTS, verl_train_run.WIDTH, verl_train_run.LAYERS = samples // verl_train_run.N, width, layers
    trainer = verl_train_run.made(out, STEPS)
    trainer.config.trainer.logger, trainer.config.trainer.rollout_data_dir = ["rollscope"], None
    read: list[tuple[float, ...]] = []

    def update(batch: Any) -> Any:
        read.append((SPENT[0], our_threads.cpu_seconds(), time.process_time(), time.monotonic()))
        return RayPPOTrainer._update_actor(trainer, batch)

    trainer._update_actor = update
    trainer.fit()
    check_recorded(out, samples)
    pairs = zip(read[WARM:], read[WARM + 1 :], strict=False)
    hooks, threads, spent, lasted = zip(*([b - a for a, b in zip(*pair, strict=True)] for pair in pairs), strict=True)
    name = f"rollscope in veRL ({samples} samples of up to {width} tokens in one turn, trained)"
    share = [(h + t) / all_ * 100 for h, t, all_ in zip(hooks, threads, spent, strict=True)]
    return [
        results.row(f"{name}: hooks on the trainer's thread", "ms CPU/step", [1e3 * x for x in hooks]),
        results.row(f"{name}: our threads", "ms CPU/step", [1e3 * x for x in threads]),
        results.row(f"{name}: a step of veRL with them", "ms CPU/step", [1e3 * x for x in spent]),
        results.row(f"{name}: a step lasts", "s", lasted),
        results.row(f"{name}: share of the step", "%", share),
    ]


def check_recorded(out: Path, samples: int) -> None:
    """End the program if a sample is missing: what is not recorded costs nothing."""
    import rollscope as rs

    (run,) = rs.open(out / "runs").runs()
    rows = rs.open(out / "runs").run(run.id).samples(columns=["completion", "rollout_logp"])
    whole = sum(text is not None and logp is not None for text, logp in zip(*rows.values(), strict=True))
    if whole != STEPS * samples:
        raise SystemExit(f"{whole} samples were recorded whole, of {STEPS * samples}")


def drawn(what: str, prompts: int, width: int) -> list[dict[str, str]]:
    import verl_draws

    verl_draws.WIDTH = width
    import verl_fit_run
    from transformers import AutoTokenizer
    from verl_queue_run import model

    import results

    out = Path(tempfile.mkdtemp())
    model(out / "model")
    os.environ |= {"ROLLSCOPE_DIR": str(out / "runs"), "VERL_FILE_LOGGER_PATH": str(out / "logged.jsonl")}
    (out / "drawn").mkdir()
    verl_fit_run.PROMPTS, verl_fit_run.STEPS, verl_fit_run.WIDTH = prompts, STEPS, width
    trainer = verl_fit_run.made(out, "")
    trainer.config.trainer.logger, trainer.config.trainer.rollout_data_dir = ["rollscope"], None
    trainer.tokenizer = AutoTokenizer.from_pretrained(out / "model")
    read: list[tuple[float, float]] = []
    theirs = trainer._update_actor

    until = [time.monotonic()]

    def update(batch: Any) -> Any:
        time.sleep(max(0.05, until[0] - time.monotonic()))  # at least as long as our threads need
        until[0] = time.monotonic() + STEP
        read.append((SPENT[0], our_threads.cpu_seconds()))
        return theirs(batch)

    trainer._update_actor = update
    trainer.fit()
    check_recorded(out, prompts * verl_draws.N)
    hooks, threads = ([b[i] - a[i] for a, b in zip(read[WARM:], read[WARM + 1 :], strict=False)] for i in (0, 1))
    name = f"rollscope in veRL ({what}, steps of {STEP} s)"
    share = [(h + t) / STEP * 100 for h, t in zip(hooks, threads, strict=True)]
    return [
        results.row(f"{name}: hooks on the trainer's thread", "ms CPU/step", [1e3 * x for x in hooks]),
        results.row(f"{name}: our threads", "ms CPU/step", [1e3 * x for x in threads]),
        results.row(f"{name}: share of the step", "%", share),
    ]


def main(kinds: list[str]) -> list[dict[str, str]]:
    import verl_train_run

    verl_train_run.use_this_machine()
    import rollscope.sources.live.quiet as guard  # before the hooks, which import it

    guard.quiet = counted
    from rollscope.sources.verl import plugin

    plugin.plug()
    rows = [row for size in TRAINED if "trained" in kinds for row in trained(*size)]
    return rows + [row for what, size in SIZES.items() if "drawn" in kinds for row in drawn(what, *size)]


if __name__ == "__main__":
    import results

    rows = main([kind for kind in ("trained", "drawn") if kind in sys.argv[1:]] or ["trained", "drawn"])
    results.show(rows)
    if "--dry" not in sys.argv:
        results.append(rows)
