"""A taskset of verifiers and its program, as a user writes them: sums, with a tool."""

from __future__ import annotations

from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

__all__ = ["Adding", "Asking"]


class Sum(vf.TaskData):
    answer: str = ""


class SumTask(vf.Task[Sum, vf.State]):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        return float(self.data.answer in str(trace.nodes[-1].message.content))

    @vf.reward(weight=0.5)
    async def short(self, trace: vf.Trace) -> float:
        return 1 / len(str(trace.nodes[-1].message.content))

    @vf.metric
    async def messages(self, trace: vf.Trace) -> float:
        return float(len(trace.nodes))


class Adding(vf.Taskset[SumTask, vf.TasksetConfig]):
    def load(self) -> list[SumTask]:
        return [SumTask(Sum(prompt=f"{i} + {i}?", answer=str(2 * i))) for i in range(3)]


class Asking(vf.Harness[vf.HarnessConfig]):
    """Asks until the model calls no tool. Gives the nodes tokens, as a trainer's client does."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: Any,
        data: Any,
        *_: Any,
        **__: Any,
    ) -> ProgramResult:
        messages: list[Any] = [{"role": "user", "content": data.prompt}]
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {secret}"}, timeout=60) as client:
            while messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls"):
                messages += [
                    {"role": "tool", "content": "4", "tool_call_id": call["id"]}
                    for call in messages[-1].get("tool_calls") or []
                ]
                asked = {"model": ctx.model, "messages": messages}
                answered = await client.post(f"{endpoint}/chat/completions", json=asked)
                answered.raise_for_status()
                messages.append(answered.json()["choices"][0]["message"])
        for i, node in enumerate(trace.nodes):
            node.token_ids, node.mask = [10 * i, 10 * i + 1], [bool(node.sampled)] * 2
            node.logprobs = [-0.25, -0.125] if node.sampled else []
        return ProgramResult(0, "", "")
