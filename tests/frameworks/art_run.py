"""Log trajectories and numbers with ART's `model.log`, recorded by Rollscope.

    python art_run.py OUT [FAULT...]

Runs with ART alone. What an engine would answer is written here, as vLLM sends it to ART's client.
Writes `OUT/runs` (what Rollscope stored) and `OUT/art`, ART's own folder; with a fault of
`faults.py`, the same in `OUT/FAULT`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "WANDB_MODE": "disabled"}
os.environ.pop("WANDB_API_KEY", None)

STEPS = 3
FREE = 0.25  # logprob of every token


def choice(text: str, first: int, call: bool = False) -> Any:
    """An answer with its tokens, numbered from `first`, as ART asks vLLM for them."""
    from openai.types.chat.chat_completion import Choice

    tokens = [{"token": f"token_id:{first + i}", "logprob": -FREE, "top_logprobs": []} for i in range(len(text))]
    function = {"name": "sum", "arguments": '{"a": 2}'}
    calls = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]} if call else {}
    message = {"role": "assistant", "content": text, **calls}
    reason = "tool_calls" if call else "stop"
    known = {"index": 0, "finish_reason": reason, "message": message, "logprobs": {"content": tokens}}
    return Choice.model_validate(known)


def trajectory(art: Any, group: int, i: int, step: int) -> Any:
    asked = [{"role": "system", "content": "You add."}, {"role": "user", "content": f"{group} + {i}?"}]
    said: list[Any] = [choice(f"It is {group + i}.", 10)]
    if i == 1:  # with a tool
        result = {"role": "tool", "content": "4", "tool_call_id": "c1"}
        said = [choice("I add.", 10, call=True), result, choice("It is 4.", 20)]
    found = art.Trajectory(messages_and_choices=[*asked, *said], reward=float(i), metrics={"words": 3 + i})
    found.initial_policy_version, found.final_policy_version = step, step + 1
    found.metadata["scenario_id"] = f"sum-{group}"
    found.log("a line")
    return found


async def log(out: Path) -> Any:
    """What a training of ART logs: groups and numbers of each step, and a validation."""
    import art

    import rollscope.sources.art

    model = art.Model(name="adder", project="tests", base_path=str(out / "art"))
    run = rollscope.sources.art.attach(model, host=False)
    rollscope.sources.art.attach(model)  # a second time changes nothing
    for step in range(STEPS):
        groups = [art.TrajectoryGroup([trajectory(art, g, i, step) for i in range(2)]) for g in range(2)]
        failed = art.TrajectoryGroup([trajectory(art, 2, 0, step), RuntimeError("no answer")])
        await model.log((group for group in [*groups, failed]), split="train", step=step)  # any iterable will do
        await model.log(metrics={"loss/train": 1 / (step + 1), "grad_norm": 2.0}, split="train", step=step)
    await model.log([trajectory(art, 3, i, STEPS) for i in range(2)], split="val", step=STEPS)
    return run


def main(folder: str, *modes: str) -> None:
    import faults

    faults.install()
    for mode in ("", *modes):
        out = Path(folder, mode)
        os.environ["ROLLSCOPE_DIR"] = str(out / "runs")
        with faults.broken(mode, str(out / "runs")):
            run = asyncio.run(log(out))
        if run is not None:
            run.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
