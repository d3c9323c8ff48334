"""Doctors side by side: every fault a row, every doctor a column, all on the same runs.

`python bench/doctor.py [FOLDER] [--seeds 501,502,503] [--told FILE] [--small] [--dry]`. The faults
are those of rldoctor's and rlprobe's own generators, with seeds that they do not use, those of our
trainer (`doctor_trainings.py` makes the runs in FOLDER/trainings), and those of real TRL runs
(`doctor_trl.py` makes them in FOLDER/trl); runs that are not there are left out. rldoctor, rlprobe
and rlwatch come from a virtual environment of their own, named by ROLLSCOPE_RIVALS. All that was
made or said is kept in FOLDER, so a second call goes on where the first one ended. FILE is what
`doctor_fleet.py` heard of runs on a machine with more cores.

Our doctor names a fault if the first chapter of its story begins with the right rule; another one
names it if any of its warnings is right. Healthy runs count alarms. The table is written to
docs/doctor-bench.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import doctor_runs
import doctor_verdicts
import results
from doctor_faults import RIGHT, RIVALS, theirs
from doctor_runs import Patient

Verdict = dict[str, Any]
PAGE = Path(__file__).parent.parent / "docs" / "doctor-bench.md"
WITHIN = 20  # steps after its data is there in which a fault should be named
SMALL = ("rldoctor/healthy", "rldoctor/kl_blowup", "rldoctor/reward_hacking", "rlprobe/healthy", "rlprobe/adv_collapse")
INTRODUCTION = """# Doctors side by side

Written by `bench/doctor.py`. Every row is a fault, every column a doctor, all of them on the same runs: those of
rldoctor's and rlprobe's own generators with seeds that they do not use, those of our trainer, with samples, and real
TRL GRPO runs of a tiny model. Ours names a fault if the first chapter of its story begins with the right cause; the
others name it if any of their warnings is right. The delay is the median number of steps from the moment the fault has
begun and the data that the rule declares to need is there (a rule that declares three spikes has it at the third, one
that declares two evaluations at the second, one that declares 30 % of the run without gain has it then), and, in
brackets, from the beginning of the fault. `–`: the doctor has no name for it.
"""


HEALTHY = """Healthy runs: alarms, and of these the bad ones. Ours is asked every 20 steps during the run, and at the
end; the others at the end alone."""
EARLIER = """Real TRL runs were judged last with seed 732, before the latest rules: ours named 6 of 7, each within 20
steps of its data. It missed a reward that pays for length from one step on, which has a rule since."""
ORIGINS = ("rldoctor", "rlprobe", "ours", "trl")
SEEN = {  # seeds whose runs, or the verdicts on them, were looked at while rules were tuned
    *(7, 11, *range(21, 24), 31, 201, 202, 401, *range(501, 504), 511, 512, *range(601, 606), *range(611, 614)),
    *(*range(621, 641), 701, 711, 712, 721, 722, 731, 732, *range(801, 805), *range(811, 815), *range(821, 832)),
}


def main() -> None:
    args = _arguments()
    folder, python = Path(args.folder), os.environ.get("ROLLSCOPE_RIVALS", "")
    faults = [f for f in (SMALL if args.small else RIGHT) if f.startswith(("rldoctor/", "rlprobe/"))]
    seeds = [int(word) for word in args.seeds.split(",") if word][: 1 if args.small else None]
    patients = [*doctor_runs.generated(folder, faults, seeds, python)] if python else []
    patients += [] if args.small else [*doctor_runs.trained(folder / "trainings")]
    patients += [] if args.small else [*doctor_runs.trained(folder / "trl", "trl")]
    if not patients and not args.told:
        print(f"no run to judge: set ROLLSCOPE_RIVALS, or train some into {folder / 'trainings'}")
        return
    ours = judge(patients, folder)
    rivals = ask(patients, folder, python) if python else {}
    for line in [json.loads(line) for file in args.told for line in Path(file).read_text().splitlines()]:
        patients.append(Patient(line["fault"], line["id"], folder, line["start"]))
        ours[line["id"]], rivals[line["id"]] = line["ours"], line["rivals"]
    page = table(patients, ours, rivals)
    print(page)
    if not args.dry and not args.small:
        PAGE.write_text(page)
        results.append(rows(patients, ours))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="runs/doctor-bench", help="where runs and verdicts are kept")
    parser.add_argument("--seeds", default="501,502,503", help="seeds of the other doctors' generators")
    parser.add_argument("--told", action="append", default=[], help="verdicts of doctor_fleet.py")
    parser.add_argument("--small", action="store_true", help="a few faults and one seed; writes nothing")
    parser.add_argument("--dry", action="store_true", help="leave docs and results.csv as they are")
    return parser.parse_args()


def judge(patients: Sequence[Patient], folder: Path) -> dict[str, Verdict]:
    """What our doctor says of each run."""
    rules = doctor_verdicts.code()
    return {p.id: doctor_verdicts.verdict(p, folder / "verdicts" / "ours", rules) for p in patients}


def ask(patients: Sequence[Patient], folder: Path, python: str) -> dict[str, dict[str, list[str]]]:
    """What the others say of each run; only runs that they have not seen are shown to them."""
    kept = folder / "verdicts" / "rivals"
    kept.mkdir(parents=True, exist_ok=True)
    program = [python, str(Path(__file__).with_name("doctor_rivals.py"))]
    for patient in [p for p in patients if not (kept / f"{p.id}.json").exists()]:
        told = json.dumps({**doctor_runs.told_to_rivals(patient), "right": sorted(theirs(patient.fault))})
        done = subprocess.run(program, input=told, capture_output=True, text=True, check=True)
        (kept / f"{patient.id}.json").write_text(done.stdout)
    return {p.id: json.loads((kept / f"{p.id}.json").read_text()) for p in patients}


def table(patients: Sequence[Patient], ours: dict[str, Verdict], rivals: dict[str, Any]) -> str:
    """The page: faults, healthy runs, and the sums."""
    by_fault: dict[str, list[Patient]] = defaultdict(list)
    for patient in sorted(patients, key=lambda p: [*RIGHT].index(p.fault)):
        by_fault[patient.fault].append(patient)
    faults = {fault: some for fault, some in by_fault.items() if RIGHT[fault]}
    healthy = {fault: some for fault, some in by_fault.items() if not RIGHT[fault]}
    head = "| ours | delay | " + " | ".join(RIVALS) + " |"
    lines = [INTRODUCTION, *sentences(patients, ours), "", _seeds(patients), ""]
    lines += [f"| fault | runs {head}", "|---|--:|--:|--:|--:|--:|--:|"]
    lines += [_fault_row(fault, some, ours, rivals) for fault, some in faults.items()]
    known = _origins(patients)
    lines += [_sum_row(f"all of {origin}", faults, origin, ours, rivals) for origin in known]
    lines += [] if "trl" in known else ["", EARLIER]
    lines += ["", *_sooner(faults, ours, rivals), "", *_how_soon(faults, ours, rivals)]
    lines += ["", HEALTHY, ""]
    lines += ["| run | steps | ours, at the end | ours, during the run | " + " | ".join(RIVALS) + " |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    lines += [_healthy_row(fault, some, ours, rivals) for fault, some in healthy.items()]
    lines += [_rate_row(healthy, ours, rivals)]
    return "\n".join(lines) + "\n"


def _origins(patients: Sequence[Patient]) -> list[str]:
    """Where the runs come from, in the order of the page."""
    there = {patient.fault.split("/")[0] for patient in patients}
    return [origin for origin in ORIGINS if origin in there]


def _seeds(patients: Sequence[Patient]) -> str:
    """Which seeds the runs have, by origin, and which of them were seen."""
    known: dict[str, set[int]] = defaultdict(set)
    for patient in patients:
        known[patient.fault.split("/")[0]].add(_seed(patient))
    listed = "; ".join(f"{origin} {_listed(seeds)}" for origin, seeds in known.items())
    return f"Seeds: {listed}. Rules were tuned while runs of these seeds were seen: {_listed(SEEN)}."


def _seed(patient: Patient) -> int:
    found = re.search(r"-(\d+)(-[\d.]+-\d+-|$)", patient.id)
    return int(found[1]) if found else -1


def _listed(seeds: set[int]) -> str:
    return ", ".join(str(seed) for seed in sorted(seeds))


def _fault_row(fault: str, some: list[Patient], ours: dict[str, Verdict], rivals: dict[str, Any]) -> str:
    delays = [ours[p.id] for p in some if "delay" in ours[p.id]]
    when = "–"
    if delays:
        when = f"{_median(delays, 'delay')} ({_median(delays, 'since_start')})"
    others = [_named_by(rival, fault, some, rivals) for rival in RIVALS]
    return f"| {fault} | {len(some)} | {_count(some, ours)} | {when} | {' | '.join(others)} |"


def _sum_row(title: str, faults: dict[str, list[Patient]], origin: str, ours: Any, rivals: Any) -> str:
    some = [p for fault, patients in faults.items() if fault.startswith(f"{origin}/") for p in patients]
    others = [str(sum(_is_right(rival, p, rivals) for p in some)) if rivals else "–" for rival in RIVALS]
    return f"| **{title}** | {len(some)} | {_count(some, ours)} |  | {' | '.join(others)} |"


def _sooner(faults: dict[str, list[Patient]], ours: Any, rivals: Any) -> list[str]:
    """Who names a fault first, of the runs in which both name it, on each rival's own scenarios."""
    lines = []
    for origin in [rival for rival in RIVALS if rival in ORIGINS]:
        some = [p for fault, patients in faults.items() if fault.startswith(f"{origin}/") for p in patients]
        both = [p for p in some if "delay" in ours[p.id] and origin in rivals.get(p.id, {}).get("when", {})]
        ahead = [rivals[p.id]["when"][origin] - ours[p.id]["since_start"] - p.start for p in both]
        first, last = sum(steps > 0 for steps in ahead), sum(steps < 0 for steps in ahead)
        if both:
            lines.append(
                f"Of {len(both)} runs of {origin}'s scenarios that both name, ours names {first} first and {origin} "
                f"{last}; in the median ours is {_ahead(round(statistics.median(ahead)))}."
            )
    return lines


def _ahead(steps: int) -> str:
    return f"{steps} steps ahead" if steps > 0 else f"{-steps} steps behind" if steps < 0 else "as soon"


def _how_soon(faults: dict[str, list[Patient]], ours: Any, rivals: Any) -> list[str]:
    """How soon each doctor names what it names, for each origin of runs."""
    head = f"| steps until named, in the median (runs named) | runs | ours | {' | '.join(RIVALS)} |"
    lines = [head, "|---|--:|--:|--:|--:|--:|"]
    for origin in _origins([patient for patients in faults.values() for patient in patients]):
        some = [p for fault, patients in faults.items() if fault.startswith(f"{origin}/") for p in patients]
        steps = [[ours[p.id]["since_start"] for p in some if "since_start" in ours[p.id]]]
        heard = [[(p, rivals.get(p.id, {}).get("when", {}).get(rival)) for p in some] for rival in RIVALS]
        steps += [[max(0, when - p.start) for p, when in pairs if when is not None] for pairs in heard]
        cells = [f"{round(statistics.median(known))} ({len(known)})" if known else "–" for known in steps]
        lines.append(f"| {origin} | {len(some)} | {' | '.join(cells)} |")
    return lines


def _alarms(some: Sequence[Patient], ours: dict[str, Verdict], rivals: dict[str, Any]) -> list[list[str]]:
    """The alarms of ours at the end, of ours during the run, and of the others at the end."""
    said = [[word for p in some for word in ours[p.id][key]] for key in ("said", "during")]
    return said + [[word for p in some for word in rivals[p.id][rival]] if rivals else [] for rival in RIVALS]


def _healthy_row(fault: str, some: list[Patient], ours: dict[str, Verdict], rivals: dict[str, Any]) -> str:
    steps = sum(ours[p.id]["steps"] for p in some)
    said = _alarms(some, ours, rivals)
    cells = [f"{len(words)} ({sum(word.startswith(('bad', 'critical')) for word in words)})" for words in said]
    return f"| {fault} | {steps:,} | {' | '.join(cells)} |"


def _rate_row(healthy: dict[str, list[Patient]], ours: dict[str, Verdict], rivals: dict[str, Any]) -> str:
    some = [patient for patients in healthy.values() for patient in patients]
    steps = sum(ours[p.id]["steps"] for p in some)
    cells = [f"{1000 * len(words) / max(1, steps):.2f}" for words in _alarms(some, ours, rivals)]
    return f"| **alarms in 1,000 steps** | {steps:,} | {' | '.join(cells)} |"


def _count(some: Sequence[Patient], ours: dict[str, Verdict]) -> int:
    return sum("delay" in ours[p.id] for p in some)


def _named_by(rival: str, fault: str, some: Sequence[Patient], rivals: dict[str, Any]) -> str:
    if not rivals or not theirs(fault):
        return "–"
    return str(sum(_is_right(rival, p, rivals) for p in some))


def _is_right(rival: str, patient: Patient, rivals: dict[str, Any]) -> bool:
    return any(words.split()[-1] in theirs(patient.fault) for words in rivals[patient.id][rival])


def _median(verdicts: list[Verdict], key: str) -> int:
    return round(statistics.median(v[key] for v in verdicts))


def figures(patients: Sequence[Patient], ours: dict[str, Verdict]) -> dict[str, float]:
    faulty = [ours[p.id] for p in patients if RIGHT[p.fault]]
    healthy = [ours[p.id] for p in patients if not RIGHT[p.fault]]
    return {
        "runs": len(faulty),
        "named": sum("delay" in v for v in faulty),
        "soon": sum(v.get("delay", WITHIN + 1) <= WITHIN for v in faulty),
        "steps": sum(v["steps"] for v in healthy),
        "alarms": sum(len(v["said"]) for v in healthy),
        "during": sum(len(v["during"]) for v in healthy),
        "bad": sum(word.startswith("bad") for v in healthy for word in v["during"]),
    }


def sentences(patients: Sequence[Patient], ours: dict[str, Verdict]) -> list[str]:
    """The sums, first of runs on which nothing was tuned, judged once."""
    fresh, seen = ([p for p in patients if (_seed(p) in SEEN) == known] for known in (False, True))
    lines = []
    for some, of in ((fresh, "seeds on which no rule was tuned"), (seen, "seeds that were seen")):
        if some:
            lines += [f"Runs of {of}. {_sums(figures(some, ours))}", ""]
    return [*lines, "microsoft's post-training-toolkit 0.0.1, the version on PyPI, holds no code, so it has no column."]


def _sums(f: dict[str, float]) -> str:
    return (
        f"Ours names {f['named']:.0f} of {f['runs']:.0f} faulty runs, {f['soon']:.0f} of them within {WITHIN} steps of "
        f"their data. In {f['steps']:,.0f} healthy steps it raises {_some(f['during'])} ({f['bad']:.0f} bad) "
        f"during the runs, {f['alarms']:.0f} of them to the end."
    )


def _some(alarms: float) -> str:
    return "1 alarm" if alarms == 1 else f"{alarms:.0f} alarms"


def rows(patients: Sequence[Patient], ours: dict[str, Verdict]) -> list[dict[str, str]]:
    f = figures(patients, ours)
    share, soon = f["named"] / max(1, f["runs"]), f["soon"] / max(1, f["runs"])
    return [
        results.row("doctor: faults named with their cause", "share", [share], int(f["runs"])),
        results.row(f"doctor: the same within {WITHIN} steps of their data", "share", [soon], int(f["runs"])),
        results.row("doctor: alarms per 1,000 healthy steps", "count", [1000 * f["during"] / max(1, f["steps"])]),
    ]


if __name__ == "__main__":
    main()
