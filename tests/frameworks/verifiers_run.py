"""Run an environment of verifiers against a scripted model, recorded by Rollscope.

    python verifiers_run.py OUT [FAULT...]

Runs in verifiers' own environment. Writes `OUT/runs` (what Rollscope stored) and
`OUT/traces.jsonl`, the episodes as verifiers writes them; with a fault of `faults.py`, the same in
`OUT/FAULT`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TWICE = 2  # episodes of a task


class Model(BaseHTTPRequestHandler):
    """Answers sums; of 1 + 1 it asks a tool first, and of 2 + 2 it breaks down."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = int(next(one["content"] for one in body["messages"] if one["role"] == "user").split()[0])
        if number == 2:
            self.send_error(400, "no sums of 2")
            return
        asks = number == 1 and not any(one["role"] == "tool" for one in body["messages"])
        function = {"name": "add", "arguments": '{"a": 1}'}
        calls = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]} if asks else {}
        message = {"role": "assistant", "content": "I add." if asks else f"It is {2 * number}.", **calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if asks else "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        about = {"id": "x", "object": "chat.completion", "created": 0, "model": "m"}
        data = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


async def episodes(url: str, out: Path) -> Any:
    import verifiers.v1 as vf
    from verifiers.v1.clients import ModelContext
    from verifiers.v1.configs.client import EvalClientConfig
    from verifiers.v1.envs.single_agent import SingleAgentEnvConfig
    from verifiers.v1.utils.loaders import load_environment
    from verifiers.v1.utils.trace_store import write_episode

    import rollscope.sources.verifiers

    env = load_environment(SingleAgentEnvConfig(taskset={"id": "adding"}, agent={"runtime": {"type": "subprocess"}}))
    recorder = rollscope.sources.verifiers.attach(env, host=False)
    rollscope.sources.verifiers.attach(env)  # once more changes nothing
    client = EvalClientConfig(base_url=url, api_key_var="MODEL_KEY")
    context = ModelContext(client=client, model="m", sampling=vf.SamplingConfig())
    async with env.serving():
        for step in (3, 4):  # of a training that evaluates twice
            recorder.step = step
            slots = [slot for task in env.taskset for slot in env.slots(task, TWICE)]
            for episode in await asyncio.gather(*[env.run_slot(slot, context) for slot in slots]):
                write_episode(out, episode)
    return recorder.run


def main(folder: str, *modes: str) -> None:
    import faults

    faults.install()
    os.environ["MODEL_KEY"] = "k"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for mode in ("", *modes):
        out = Path(folder, mode)
        out.mkdir(parents=True, exist_ok=True)
        os.environ["ROLLSCOPE_DIR"] = str(out / "runs")
        with faults.broken(mode, str(out / "runs")):
            run = asyncio.run(episodes(f"http://127.0.0.1:{server.server_port}/v1", out))
        if run is not None:
            run.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
