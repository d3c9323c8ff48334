"""What rldoctor, rlprobe and rlwatch say of runs. It runs in an environment that has them.

A line of standard input is a run: its id, rows in TRL's names, configuration, samples with
rlprobe's fields, rlprobe's own rows if it made the run, and the names that are right. A line of
standard output is the id and what each doctor says: every warning, as severity and name; and of one
that is right, under `when`, the first step from which it says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Doctor = Callable[[Row], list[str]]
AS_RLPROBE = {  # TRL's names, and ours where TRL has none, as rlprobe's fields
    "reward": "reward_mean",
    "reward_std": "reward_std",
    "kl": "kl_mean",
    "entropy": "entropy_mean",
    "clip_ratio/region_mean": "clip_fraction",
    "frac_reward_zero_std": "zero_variance_group_frac",
    "grad_norm": "grad_norm",
    "learning_rate": "lr",
    "loss": "loss",
    "completions/mean_length": "completion_len_mean",
    "completions/clipped_ratio": "truncation_rate",
    "step_time": "step_time_s",
    "advantage/std": "adv_std",
    "repetition_rate": "repetition_rate",
    "critic/explained_variance": "value_explained_variance",
    "critic/loss": "value_loss",
}
AS_RLWATCH = {
    "entropy": "entropy",
    "kl": "kl_divergence",
    "reward": "reward_mean",
    "reward_std": "reward_std",
    "advantage/std": "advantage_std",
    "loss": "loss",
    "grad_norm": "grad_norm",
}


def rldoctor(run: Row) -> list[str]:
    from rl_doctor import diagnose, run_from_records
    from rl_doctor.detectors import Severity

    problems = diagnose(run_from_records(run["rows"], config=run["config"])).problems
    return [f"{p.severity.name} {p.detector}".lower() for p in problems if p.severity >= Severity.WARNING]


def rlprobe(run: Row) -> list[str]:
    from rlprobe.doctor.engine import diagnose_view
    from rlprobe.doctor.runview import RunView
    from rlprobe.schemas import RunManifest, SampleRecord, StepRecord

    rows = run["own"] or [_as_rlprobe(row) for row in run["rows"]]
    manifest = RunManifest(run_id=run["id"], created_at="", algorithm=run["algorithm"])
    samples = [SampleRecord(**sample) for sample in run["samples"]]
    found = diagnose_view(RunView(manifest, [StepRecord(**row) for row in rows], lambda: samples))
    return [f"{f.severity} {f.signature_id}".lower() for f in found if f.severity != "info"]


def _as_rlprobe(row: Row) -> Row:
    named = {AS_RLPROBE[name]: value for name, value in row.items() if name in AS_RLPROBE}
    parts = {name.split("/")[1]: value for name, value in row.items() if name.startswith("rewards/")}
    return {"step": row["step"], "reward_components": parts, **named}


def rlwatch(run: Row) -> list[str]:
    import numpy as np
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite, said = DetectorSuite(RLWatchConfig()), {}
    rewards: dict[int, list[float]] = {}
    for sample in run["samples"]:
        if sample["reward_total"] is not None:
            rewards.setdefault(sample["step"], []).append(sample["reward_total"])
    for row in run["rows"]:
        given = {AS_RLWATCH[name]: value for name, value in row.items() if name in AS_RLWATCH}
        known = rewards.get(row["step"])
        for alert in suite.check_step(row["step"], **given, rewards=np.array(known) if known else None):
            said[f"{alert.severity} {alert.detector}"] = True
    return list(said)


def when(doctor: Doctor, run: Row) -> int:
    """The step from which a doctor names the fault, by halving: at the last one it does."""
    low, high = 0, len(run["rows"]) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if names(doctor(until(run, middle)), run) else (middle + 1, high)
    return int(run["rows"][low]["step"])


def until(run: Row, row: int) -> Row:
    """The run as it was at a row."""
    step = run["rows"][row]["step"]
    earlier = {key: [one for one in run[key] or () if one["step"] <= step] for key in ("rows", "samples", "own")}
    return run | earlier


def names(said: list[str], run: Row) -> bool:
    return any(words.split()[-1] in run["right"] for words in said)


def main() -> None:
    for line in sys.stdin:
        run = json.loads(line)
        said: Row = {"when": {}}
        for doctor in (rldoctor, rlprobe, rlwatch):
            try:
                said[doctor.__name__] = doctor(run)
                if names(said[doctor.__name__], run):
                    said["when"][doctor.__name__] = when(doctor, run)
            except Exception as error:
                said[doctor.__name__] = [f"failed {type(error).__name__}"]
        print(json.dumps({"id": run["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
