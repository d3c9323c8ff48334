"""The tool that `verl_queue_run.py` gives to veRL's agent loop."""

from __future__ import annotations

from verl.tools.function_tool import function_tool


@function_tool("add")
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: one
        b: the other
    """
    return str(a + b)
