"""Record what OpenTelemetry sends, without a dashboard.

It answers this machine alone. `rollscope serve` takes the same batches beside its pages, and asks
senders on other machines to sign in. Several receivers may share a folder.

Example:
    rollscope otlp --dir runs
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python train.py
"""

from __future__ import annotations

import argparse
import os

from rollscope import memory

from ._listener import listen
from ._terminal import print_json, say

HOST, PORT = "127.0.0.1", 4318  # the port of OTLP over HTTP


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=PORT, help=f"port (default {PORT}; 0 picks a free one)")


def run(args: argparse.Namespace) -> int:
    memory.prepare()
    from rollscope.server.front.serving import Server
    from rollscope.server.reception import create
    from rollscope.sources.otlp.receiver import Receiver

    listener = listen(HOST, args.port)
    url, folder = f"http://{HOST}:{listener.getsockname()[1]}/", os.path.abspath(args.dir)
    server = Server(create(Receiver(args.dir)))
    if args.json:
        print_json({"url": url, "dir": folder}, indent=None)
    else:
        say(f"Rollscope records OpenTelemetry at {url} into {folder}  (Ctrl-C to stop)")
    memory.keep_trimming()
    server.run(sockets=[listener])
    return 0
