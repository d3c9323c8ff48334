"""Four rollouts of Agent-Lightning, sent to an endpoint: `python agentlightning_run.py ENDPOINT`.

Runner, store, tracer, emitters and exporter are the package's, and the calls are those of OpenAI's
client. The engine is scripted; it answers as vLLM does when it is asked for token ids. The last
rollout calls a tool before it answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from dumps_run import ROLLOUTS

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
TOOL = {"type": "function", "function": {"name": "add", "arguments": '{"a": 3, "b": 3}'}, "id": "call-1"}
LOGPROB = -0.5
IDS = ("traceId", "spanId", "parentSpanId")


@contextmanager
def answering(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """A server on this machine that answers every POST; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def spelled(message: dict[str, Any]) -> str:
    """What the engine's model reads and writes of a message: its text, or the call of a tool."""
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return message.get("content") or "".join(f"{call['name']}({call['arguments']})" for call in calls)


class Engine:
    """Says the completions in their order. A token is a character."""

    def __init__(self) -> None:
        said = [{"content": completion} for _, _, completion, _ in ROLLOUTS]
        self._script: Iterator[dict[str, Any]] = iter([*said[:3], {"content": None, "tool_calls": [TOOL]}, said[3]])
        self._calls = 0

    def answer(self, body: bytes) -> bytes:
        said, self._calls = next(self._script), self._calls + 1
        asked, text = "".join(map(spelled, json.loads(body)["messages"])), spelled(said)
        usage = {"prompt_tokens": len(asked), "completion_tokens": len(text), "total_tokens": len(asked) + len(text)}
        choice = {
            "index": 0,
            "message": {"role": "assistant", **said},
            "finish_reason": "tool_calls" if "tool_calls" in said else "stop",
            "token_ids": [*map(ord, text)],
            "logprobs": {"content": [{"token": one, "logprob": LOGPROB, "top_logprobs": []} for one in text]},
        }
        about = {"id": f"chat-{self._calls}", "object": "chat.completion", "created": 0, "model": "scripted"}
        reply = {**about, "choices": [choice], "usage": usage, "prompt_token_ids": [*map(ord, asked)]}
        return json.dumps(reply).encode()


def line(body: bytes) -> str:
    """A request for traces as a line of OTLP's JSON, where ids are hexadecimal digits."""
    from google.protobuf.json_format import MessageToJson
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    def as_otlp(one: dict[str, Any]) -> dict[str, Any]:
        return {key: b64decode(value).hex() if key in IDS else value for key, value in one.items()}

    text = MessageToJson(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    return json.dumps(json.loads(text, object_hook=as_otlp))


def add(a: int, b: int) -> int:
    return a + b


def solve(task: dict[str, Any], llm: Any) -> None:
    """Ask, call the tool if the answer asks for it, and say what the rollout is worth."""
    import agentlightning as agl
    from openai import OpenAI

    client, messages = OpenAI(base_url=llm.endpoint, api_key="none"), [{"role": "user", "content": task["prompt"]}]
    known = {"model": llm.model, "messages": messages, "logprobs": True}
    said = client.chat.completions.create(**known).choices[0].message
    if said.tool_calls:
        (call,) = said.tool_calls
        result = agl.operation(add)(**json.loads(call.function.arguments))
        messages += [said.model_dump(exclude_none=True)]
        messages += [{"role": "tool", "tool_call_id": call.id, "content": str(result)}]
        said = client.chat.completions.create(**known).choices[0].message
    agl.emit_message(f"the answer is {said.content}")
    agl.emit_object({"answer": said.content})
    agl.emit_reward({"format": 1.0, "right": task["reward"]}, primary_key="right")


def sender(endpoint: str) -> Any:
    """A hook that sends the spans of every attempt to an endpoint, as docs/sources.md shows it."""
    import agentlightning as agl
    from agentlightning.utils.otlp import LightningStoreOTLPExporter
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    class Sender(agl.Hook):
        exporter = None

        async def on_trace_start(self, *, rollout: Any, **_: Any) -> None:
            if self.exporter is None:
                self.exporter = LightningStoreOTLPExporter()
                trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(self.exporter))
            self.exporter.enable_store_otlp(endpoint, rollout.rollout_id, rollout.attempt.attempt_id)

    return Sender()


async def rollouts(endpoint: str) -> None:
    import agentlightning as agl

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = agl.LightningStoreServer(agl.InMemoryLightningStore(thread_safe=True), host="127.0.0.1", port=port)
    await store.start()
    runner, agent = agl.LitAgentRunner(agl.AgentOpsTracer()), agl.rollout(solve)
    with answering(Engine().answer) as engine, runner.run_context(agent=agent, store=store, hooks=[sender(endpoint)]):
        llm = agl.LLM(endpoint=engine, model="scripted")
        for _, prompt, _, reward in ROLLOUTS:
            await runner.step({"prompt": prompt, "reward": reward}, resources={"llm": llm}, mode="train")
    await store.stop()


if __name__ == "__main__":
    asyncio.run(rollouts(sys.argv[1]))
