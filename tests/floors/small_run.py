"""A small training for the floors: everything that a run can hold, then its log is sealed.

Usage: small_run.py FOLDER
"""

import sys

import numpy as np

import rollscope as rs
from rollscope.record.spawn import spawn

HEAVY = ("pyarrow", "duckdb", "rich", "fastapi", "uvicorn", "pandas")


def samples(step: int) -> list[dict[str, object]]:
    turn = {"role": "tool", "tool": "calc", "ok": True, "content": "2+2", "result": "4"}
    texts = {"prompt": "What is 2+2?", "completion": f"It is {step}.", "stop_reason": "eos", "env": "math"}
    rows: list[dict[str, object]] = [
        {"id": f"{step}-{k}", "group": f"{step}-{k // 2}", "reward": k % 2, "advantage": k % 2 - 0.5, **texts}
        for k in range(8)
    ]
    return [{**row, "completion_tokens": 3, "turns": [turn]} for row in rows]


def train(folder: str, id: str, slope: float) -> None:
    with rs.init(project="floors", id=id, dir=folder, host=False, config={"lr": slope}) as run:
        for step in range(30):
            run.log({"policy/entropy": 2.0 - slope * step, "custom/none": float("nan")}, step=step)
            run.log({"custom/scalar": np.float32(step), "custom/count": np.int64(step)}, step=step)
            run.log_samples(samples(step), step=step)
            run.log_span("forward", step * 10**9, step * 10**9 + 10**8, lane="trainer/0", step=step)
            run.commit(step)
        run.note("half \ud800 a character")


if __name__ == "__main__":
    for id, slope in (("one", 0.01), ("two", 0.03)):
        train(sys.argv[1], id, slope)
    loaded = [name for name in HEAVY if name in sys.modules]
    assert not loaded, f"a training process imports numpy alone, and this one has {loaded}"
    sys.exit(spawn("rollscope.store.seal", f"{sys.argv[1]}/one").wait())  # the other stays a log
