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
    """Write what vLLM said to each request: `WITNESS/engine.jsonl`."""
    from vllm.v1.engine.async_llm import AsyncLLM

    theirs = AsyncLLM.generate
    if hasattr(theirs, "__wrapped__"):
        return

    @functools.wraps(theirs)
    async def generate(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        said = None
        async for said in theirs(self, *args, **kwargs):
            yield said
        write(said)

    AsyncLLM.generate = generate


def write(said: Any) -> None:
    (answer,) = said.outputs
    tokens = list(answer.token_ids)
    logps = [known[token].logprob for token, known in zip(tokens, answer.logprobs, strict=True)]
    row = {"asked": list(said.prompt_token_ids), "tokens": tokens, "logps": logps, "ended": answer.finish_reason}
    with Path(os.environ["WITNESS"], "engine.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
