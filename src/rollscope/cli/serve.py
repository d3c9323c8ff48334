"""Open the dashboard on the runs of a folder.

Example:
    rollscope serve runs --port 7700 --no-browser
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import threading
import webbrowser

from rollscope.errors import BadInput

PORT = 7700


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help="folder of runs, or one run's folder (default: --dir)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port (default {PORT}; 0 takes a free one)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; anything but this machine's own is open to the network",
    )
    parser.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name browsers may call this server by ('*': any)",
    )
    parser.add_argument("--root-path", default="", metavar="/x", help="path prefix that a proxy passes on")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--dev", action="store_true", help="read the web's files again on every page load")


def run(args: argparse.Namespace) -> int:
    from rollscope.server.app import create
    from rollscope.server.security import LOCAL
    from rollscope.server.serving import Server

    listener = _listen(args.host, args.port)
    port = listener.getsockname()[1]
    prefix = "/" + args.root_path.strip("/") + "/" if args.root_path.strip("/") else "/"
    shown = args.host if args.host not in ("0.0.0.0", "::") else "127.0.0.1"
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{prefix}"
    folder = args.folder or args.dir
    app = create(folder, {*LOCAL, args.host, *args.host_name}, args.root_path, args.dev)
    server = Server(app)
    print(
        json.dumps({"url": address, "dir": os.path.abspath(folder)})
        if args.json
        else f"Rollscope shows {os.path.abspath(folder)} at {address}  (Ctrl-C ends it)",
        flush=True,
    )
    if not args.no_browser and not args.json:
        threading.Timer(0.4, webbrowser.open, [address]).start()
    server.run(sockets=[listener])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket, or a sentence about why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(
            f"cannot listen on {host}:{port} ({str(error).rstrip('.')}). Another server may be there already; try --port {port + 1 if 0 < port < 65535 else 0}."
        ) from error
    return listener
