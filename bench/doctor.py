"""Doctors side by side: every fault a row, every doctor a column, all on the same runs.

`python bench/doctor.py [FOLDER]`. The faults are those of rldoctor's and rlprobe's own generators,
with seeds that they do not use, and those of our trainer (`doctor_trainings.py` makes the runs in
FOLDER; without it they are left out). rldoctor, rlprobe, rlwatch and their numbers come from a
virtual environment of their own, named by ROLLSCOPE_RIVALS. A fault is named if the first chapter
of the story begins with the right rule. Healthy runs count alarms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.diagnose import diagnosis, story

sys.path.insert(0, str(Path(__file__).parent))
import results

Row = dict[str, Any]
SEEDS = (101, 102, 103)
STEPS = 400
RIGHT: dict[str, tuple[str, ...]] = {  # fault -> rules that name its cause; none for a healthy run
    "rldoctor/healthy": (),
    "rldoctor/entropy_collapse": ("entropy-collapse", "clip-saturation"),
    "rldoctor/saturated_groups": ("dead-groups",),
    "rldoctor/too_hard": ("dead-groups",),
    "rldoctor/reward_hacking": ("proxy-gap",),
    "rldoctor/length_hacking": ("length-exploited",),
    "rldoctor/truncation": ("truncation",),
    "rldoctor/kl_blowup": ("kl-takeoff",),
    "rldoctor/clip_saturation": ("clip-saturation",),
    "rldoctor/grad_spikes": ("gradient-spikes",),
    "rldoctor/plateau": ("plateau",),
    "rldoctor/format_domination": ("reward-composition",),
    "rlprobe/healthy": (),
    "rlprobe/kl_blowup": ("kl-takeoff",),
    "rlprobe/entropy_collapse": ("entropy-collapse",),
    "rlprobe/reward_hack_length": ("length-exploited",),
    "rlprobe/format_gaming": ("reward-composition",),
    "rlprobe/clip_saturation": ("clip-saturation",),
    "rlprobe/degenerate_groups": ("dead-groups",),
    "rlprobe/adv_collapse": ("gradient-vanished",),
    "rlprobe/value_divergence": ("critic-useless",),
    "rlprobe/grad_pathology": ("gradient-spikes",),
    "rlprobe/truncation_starve": ("truncation",),
    "rlprobe/repetition_spiral": ("degenerate-text", "repetition"),
    "rlprobe/reward_std_death": ("dead-groups",),
    "rlprobe/ref_drift_asymmetry": ("kl-takeoff",),
    "rlprobe/throughput_rot": ("slower",),
    "ours/learning_rate_too_high": ("update-too-large", "kl-takeoff"),
    "ours/entropy_collapse": ("entropy-collapse",),
    "ours/length_hack": ("length-exploited",),
    "ours/constant_reward": ("dead-groups",),
    "ours/noisy_reward": ("reward-noise",),
    "ours/dead_reward": ("environment-failures",),
    "ours/stale_rollouts": ("staleness",),
    "ours/truncation": ("truncation",),
    "ours/sampler_mismatch": ("engine-mismatch",),
    "ours/exploding_kl": ("update-too-large", "kl-takeoff"),
    "ours/slow_worker": ("trainer-waits",),
    "ours/worker_crash": ("ended-early",),
    "ours/tool_failure_loop": ("tool-failures",),
    "ours/eval_leak": ("eval-leak",),
    "ours/dead_critic": ("critic-useless",),
    "ours/nan_loss": ("non-finite",),
    **{f"ours/{kind}": () for kind in ("grpo", "rloo", "ppo", "async")},
}
RIVAL = """
import json, sys
what, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
origin, fault = what.split("/")
samples = []
if origin == "rldoctor":
    from rl_doctor.simulate import simulate
    rows, config = simulate(fault, n_steps=steps, seed=seed)
else:
    import tempfile
    from rlprobe.storage import RunReader
    from rlprobe.testing.synth import generate_run
    path = generate_run(tempfile.mkdtemp(), None if fault == "healthy" else fault, n_steps=steps, seed=seed)
    reader = RunReader(path)
    rows, config = [r.model_dump() for r in reader.steps()], {}
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
}
AS_OURS = {  # and those that TRL does not log
    "adv_std": "advantage/std",
    "repetition_rate": "repetition_rate",
    "value_explained_variance": "critic/explained_variance",
    "value_loss": "critic/loss",
}


def generated(fault: str, seed: int, python: str) -> tuple[list[Row], Row, list[Row]]:
    """The rows, the configuration and the samples that a rival's generator gives."""
    command = [python, "-c", RIVAL, fault, str(seed), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, config, samples = json.loads(done.stdout.splitlines()[-1])
    return rows, config, samples


def logged(row: dict[str, Any]) -> dict[str, float]:
    """A row as TRL would log it."""
    if "reward_mean" not in row:
        return {name: value for name, value in row.items() if name != "step"}
    named = {AS_TRL.get(name) or AS_OURS.get(name): value for name, value in row.items()}
    parts = {f"rewards/{name}/mean": value for name, value in (row.get("reward_components") or {}).items()}
    return {name: value for name, value in {**named, **parts}.items() if name and isinstance(value, int | float)}


def as_sample(row: Row) -> Row:
    """rlprobe's sample with our columns."""
    return {
        "id": f"{row['step']}.{row['sample_id']}",
        "group": row["group_id"],
        "task": row["prompt_id"],
        "prompt": row["prompt_text"],
        "completion": row["completion_text"],
        "reward": row["reward_total"],
        "completion_tokens": row["completion_len"],
        "advantage": row["advantage"],
    }


def record(fault: str, seed: int, python: str, folder: str) -> str:
    rows, config, samples = generated(fault, seed, python)
    with rs.init(name=fault, dir=folder, framework="trl:grpo", algorithm="grpo", config=config, host=False) as run:
        for row in rows:
            run.log(logged(row), step=int(row["step"]))
        for sample in samples:
            run.log_samples([as_sample(sample)], step=int(sample["step"]))
    return run.id


def judged(folder: str, id: str) -> tuple[list[str], list[str], int]:
    """The rules that begin a chapter, those of all serious findings, and the run's steps."""
    run = rs.open(folder).run(id)
    findings = [f for f in diagnosis(run).findings if f.severity != "info"]
    return (
        [c.finding.rule for c in story(findings)],
        [f"{f.severity} {f.rule}" for f in findings],
        int(run.last_step or 0),
    )


def trainings(folder: str) -> Iterator[tuple[str, str]]:
    """The runs of our trainer: fault and run id."""
    known = sorted((name.removeprefix("ours/") for name in RIGHT if name.startswith("ours/")), key=len, reverse=True)
    for record_ in rs.open(folder).runs():
        fault = next((name for name in known if record_.id.startswith(name.replace("_", "-"))), None)
        if fault:
            yield f"ours/{fault}", record_.id


def main() -> None:
    told: dict[str, list[tuple[list[str], list[str], int]]] = defaultdict(list)
    python = os.environ.get("ROLLSCOPE_RIVALS", "")
    with tempfile.TemporaryDirectory() as folder:
        for fault in [name for name in RIGHT if not name.startswith("ours/")] if python else []:
            for seed in SEEDS:
                told[fault].append(judged(folder, record(fault, seed, python, folder)))
    if len(sys.argv) > 1:
        for fault, id in trainings(sys.argv[1]):
            told[fault].append(judged(sys.argv[1], id))
    report(told)


def report(told: dict[str, list[tuple[list[str], list[str], int]]]) -> None:
    named = total = alarms = bad = steps = 0
    for fault, runs in told.items():
        right = RIGHT[fault]
        if right:
            hits = sum(bool(roots) and roots[0] in right for roots, _, _ in runs)
            named, total = named + hits, total + len(runs)
            print(
                f"{fault:32} {hits}/{len(runs)}  "
                + ("" if hits == len(runs) else f"{[roots[:2] for roots, _, _ in runs]}")
            )
        else:
            said = [rule for _, rules, _ in runs for rule in rules]
            alarms, bad = alarms + len(said), bad + sum(rule.startswith("bad") for rule in said)
            steps += sum(last + 1 for _, _, last in runs)
            print(f"{fault:32} {len(said)} alarms in {len(runs)} runs  {said}")
    print(f"named {named} of {total}; {alarms} alarms, {bad} of them bad, in {steps} healthy steps")
    rows = [results.row("doctor: faults named with their cause", "share", [named / total])] if total else []
    rows += [results.row("doctor: alarms per 1,000 healthy steps", "count", [1000 * alarms / steps])] if steps else []
    results.append(rows)


if __name__ == "__main__":
    main()
