"""The runs of the doctors' bench: of other doctors' generators, of our trainer, and of TRL.

Everything is kept in one folder, so that a second call goes on where the first one ended:
`generated/` has what a generator gave, `recorded/` the same as runs of ours, `trainings/` the runs
of our trainer (`doctor_trainings.py`), `trl/` those of TRL (`doctor_trl.py`).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rollscope as rs
from doctor_faults import RIGHT
from rollscope.diagnose import Case
from rollscope.diagnose.reading import known
from rollscope.store.run import Run

Row = dict[str, Any]
STEPS = 400
ONSET = {"rldoctor": 0, "rlprobe": STEPS // 2}  # rldoctor's faults grow from the first step
GENERATE = """
import json, sys, tempfile
fault, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
origin, name = fault.split("/")
samples = []
if origin == "rldoctor":
    from rl_doctor.simulate import simulate
    rows, config = simulate(name, n_steps=steps, seed=seed)
else:
    from rlprobe.storage import RunReader
    from rlprobe.testing.synth import generate_run
    with tempfile.TemporaryDirectory() as folder:
        reader = RunReader(generate_run(folder, None if name == "healthy" else name, n_steps=steps, seed=seed))
        rows, config = [r.model_dump() for r in reader.steps()], {"algorithm": reader.manifest.algorithm}
        samples = [s.model_dump() for s in reader.samples()]
print(json.dumps([rows, config, samples], default=str))
"""
AS_TRL = {  # rlprobe's names as TRL logs the same quantities
    "reward_mean": "reward",
    "reward_std": "reward_std",
    "kl_mean": "kl",
    "entropy_mean": "entropy",
    "clip_fraction": "clip_ratio/region_mean",
    "zero_variance_group_frac": "frac_reward_zero_std",
    "grad_norm": "grad_norm",
    "lr": "learning_rate",
    "loss": "loss",
    "completion_len_mean": "completions/mean_length",
    "truncation_rate": "completions/clipped_ratio",
    "step_time_s": "step_time",
    "adv_std": "advantage/std",  # and those that TRL does not log, as ours
    "repetition_rate": "repetition_rate",
    "value_explained_variance": "critic/explained_variance",
    "value_loss": "critic/loss",
}
OURS_AS_TRL: dict[str, tuple[str, ...]] = {
    "reward": known.REWARD,
    "reward_std": known.REWARD_STD,
    "kl": known.KL,
    "entropy": known.ENTROPY,
    "clip_ratio/region_mean": ("policy/clip/region", "policy/clip/configured"),
    "frac_reward_zero_std": known.ZERO_SPREAD,
    "grad_norm": known.GRAD,
    "loss": ("policy/loss", "policy/loss_total", "loss"),
    "completions/mean_length": known.LENGTH,
    "completions/clipped_ratio": known.TRUNCATED,
    "step_time": known.STEP_SECONDS,
    "advantage/std": ("advantage/std",),
    "critic/explained_variance": ("critic/explained_variance",),
    "critic/loss": ("critic/loss",),
}


@dataclass(frozen=True, slots=True)
class Patient:
    """One run to be judged: what is wrong with it, since when, and where it lies."""

    fault: str
    id: str
    folder: Path
    start: int
    generated: Path | None = None

    def open(self) -> Run:
        return rs.open(str(self.folder)).run(self.id)


def generated(folder: Path, faults: list[str], seeds: list[int], python: str) -> Iterator[Patient]:
    """The runs of the other doctors' generators; what is not there yet is made."""
    (folder / "generated").mkdir(parents=True, exist_ok=True)
    for fault in faults:
        for seed in seeds:
            id = f"{fault.replace('/', '-').replace('_', '-')}-{seed}"
            file = folder / "generated" / f"{id}.json"
            if not file.exists():
                command = [python, "-c", GENERATE, fault, str(seed), str(STEPS)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                _record(id, fault, json.loads(done.stdout.splitlines()[-1]), folder / "recorded")
                file.write_text(done.stdout.splitlines()[-1])
            yield Patient(fault, id, folder / "recorded", ONSET[fault.split("/")[0]], file)


def _record(id: str, fault: str, made: list[Any], folder: Path) -> None:
    rows, config, samples = made
    facts = {"framework": "trl:grpo", "algorithm": "grpo", "config": config, "host": False}
    with rs.init(name=fault, id=id, dir=str(folder), **facts) as run:
        for row in rows:
            run.log(as_trl(row), step=int(row["step"]))
        for sample in samples:
            run.log_samples([_as_sample(sample)], step=int(sample["step"]))


def as_trl(row: Row) -> dict[str, float]:
    """A row as TRL would log it."""
    if "reward_mean" not in row:
        return {name: value for name, value in row.items() if name != "step"}
    named = {AS_TRL.get(name): value for name, value in row.items()}
    named["policy/kl_ref_begin_k3"] = next(iter(row.get("kl_positional") or ()), None)  # of eight equal parts
    parts = {f"rewards/{name}/mean": value for name, value in (row.get("reward_components") or {}).items()}
    return {name: value for name, value in {**named, **parts}.items() if name and isinstance(value, int | float)}


def _as_sample(row: Row) -> Row:
    """rlprobe's sample with our columns."""
    return {
        "id": f"{row['step']}.{row['sample_id']}",
        "group": row["group_id"],
        "task": row["prompt_id"],
        "prompt": row["prompt_text"],  # without the completion: it is the same filler for every prompt
        "reward": row["reward_total"],
        "completion_tokens": row["completion_len"],
        "advantage": row["advantage"],
    }


def trained(folder: Path, origin: str = "ours") -> Iterator[Patient]:
    """The runs of a trainer that are there. Their names say fault, seed, strength and start."""
    known_ = {name.removeprefix(f"{origin}/"): name for name in RIGHT if name.startswith(f"{origin}/")}
    for record in rs.open(str(folder)).runs() if folder.is_dir() else ():
        found = re.match(r"(?P<fault>.+?)-\d+-[\d.]+-(?P<start>\d+)-", record.id)
        fault = known_.get(found["fault"].replace("-", "_")) if found else None
        if found and fault:
            yield Patient(fault, record.id, folder, int(found["start"]))


def told_to_rivals(patient: Patient) -> Row:
    """A run as `doctor_rivals.py` takes it."""
    if patient.generated is None:
        return _ours_told(patient)
    rows, config, samples = json.loads(patient.generated.read_text())
    own = rows if patient.fault.startswith("rlprobe") else None
    algorithm = str(config.get("algorithm", "grpo"))
    told = [{"step": int(row["step"]), **as_trl(row)} for row in rows]
    return {"id": patient.id, "rows": told, "config": config, "samples": samples, "own": own, "algorithm": algorithm}


def _ours_told(patient: Patient) -> Row:
    run = patient.open()
    case = Case.of(run)
    rows: dict[int, Row] = {}
    for theirs, names in OURS_AS_TRL.items():
        meaning = next((m for name in names if (m := case.meanings().get(name))), None)
        if meaning is not None:
            points = run.series(meaning.logged)
            for step, value in zip(points["step"].tolist(), points["value"].tolist(), strict=True):
                rows.setdefault(int(step), {"step": int(step)})[theirs] = value / meaning.scale
    for e in case.evaluations()[:1]:
        for step, value in zip(e.series.step.tolist(), e.series.value.tolist(), strict=True):
            rows.setdefault(step, {"step": step})["eval/accuracy"] = value
    algorithm = case.about().algorithm or "grpo"
    told = [rows[step] for step in sorted(rows)] or [{"step": 0}]
    samples = _samples(run) if run.has("samples") else []
    return {"id": patient.id, "rows": told, "config": {}, "samples": samples, "own": None, "algorithm": algorithm}


def _samples(run: Run) -> list[Row]:
    names = {
        "id": "sample_id",
        "step": "step",
        "group": "group_id",
        "task": "prompt_id",
        "prompt": "prompt_text",
        "completion": "completion_text",
        "reward": "reward_total",
        "advantage": "advantage",
        "completion_tokens": "completion_len",
    }
    rows = run.samples(columns=[*names], as_arrow=True).to_pylist()
    return [{names[n]: row[n] for n in names} for row in rows if row["step"] is not None]
