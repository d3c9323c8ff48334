"""Called in each process of vLLM, by entry points of its group `vllm.general_plugins`."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any


def keep_weights() -> None:
    """Turn off faster linear layers: they keep a copy of the weights that no update reaches."""
    import vllm._custom_ops as ops

    ops._supports_onednn = False


def witness() -> None:
    """Write what vLLM said to each request, and how often its weights had been updated by then."""
    from vllm.v1.engine.async_llm import AsyncLLM

    if not hasattr(AsyncLLM.generate, "__wrapped__"):
        AsyncLLM.generate = written(AsyncLLM.generate)
        AsyncLLM.collective_rpc = counted(AsyncLLM.collective_rpc)


class Updates:
    done = 0  # in this process, which is that of the server


def counted(theirs: Any) -> Any:
    @functools.wraps(theirs)
    async def call(self: Any, method: Any, *args: Any, **kwargs: Any) -> Any:
        found = await theirs(self, method, *args, **kwargs)
        Updates.done += method == "update_weights_from_ipc"
        return found

    return call


def written(theirs: Any) -> Any:
    @functools.wraps(theirs)
    async def generate(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        said, updates = None, Updates.done
        async for said in theirs(self, *args, **kwargs):
            yield said
        write(said, updates)

    return generate


def write(said: Any, updates: int) -> None:
    row = {"asked": list(said.prompt_token_ids), "tokens": [], "logps": [], "ended": "abort", "updates": updates}
    for answer in said.outputs:  # none if it was broken off before its first token
        tokens = list(answer.token_ids)
        logps = [known[token].logprob for token, known in zip(tokens, answer.logprobs or [], strict=True)]
        row |= {"tokens": tokens, "logps": logps, "ended": answer.finish_reason}
    with Path(os.environ["WITNESS"], "engine.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
