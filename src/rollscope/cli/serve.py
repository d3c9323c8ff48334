"""Open the dashboard for the runs in a folder.

Example:
    rollscope serve runs --port 7700 --no-browser
    rollscope serve --lake ./lake --sign-in
    rollscope serve runs --host 0.0.0.0 --host-name me.example.org --certificate c.pem --key k.pem
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import socket
import ssl
import sys
import threading
import time
import webbrowser
from typing import TYPE_CHECKING

from rollscope import memory
from rollscope.access.book import Book
from rollscope.errors import BadInput
from rollscope.lake import place

from ._book import book, exists
from ._listener import listen
from ._terminal import print_json, say

if TYPE_CHECKING:
    from rollscope.lake.serving.worker import Worker
    from rollscope.server.sign_in.provider import Provider

PORT = 7700


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help="folder of runs, or the folder of one run (default: --dir)")
    parser.add_argument("--lake", default="", metavar="LAKE", help="show the runs of this lake, from a local cache")
    parser.add_argument("--port", type=int, default=PORT, help=f"port (default {PORT}; 0 picks a free one)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any other than this machine's own needs sign-in, or --insecure",
    )
    parser.add_argument(
        "--sign-in",
        action="store_true",
        help="ask everyone for a token of `rollscope token create`; so it is on any --host once there is a token",
    )
    parser.add_argument(
        "--openid",
        metavar="FILE",
        help="let people sign in at a provider of OpenID Connect; the file (TOML) says where, and who may do what",
    )
    parser.add_argument("--certificate", metavar="FILE", help="speak TLS with this certificate (PEM)")
    parser.add_argument("--key", metavar="FILE", help="the key of the certificate (PEM)")
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="listen on --host without sign-in, although everyone who reaches it can read all runs and write notes",
    )
    parser.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name that browsers may use for this server ('*': any)",
    )
    parser.add_argument("--root-path", default="", metavar="/x", help="path prefix that a proxy adds")
    parser.add_argument("--behind-proxy", action="store_true", help="trust X-Forwarded-Host from other machines")
    parser.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="TARGET",
        help="tell it when a finding of a running run begins and when it is over; as `rollscope doctor --notify`",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--dev", action="store_true", help="read the web files again on every page load")


def run(args: argparse.Namespace) -> int:
    memory.prepare()
    from rollscope.notify.target import target
    from rollscope.server.app import create
    from rollscope.server.front.serving import Server
    from rollscope.server.security import LOCAL
    from rollscope.sources.otlp.receiver import Receiver

    targets = [target(text) for text in args.notify]
    lake = args.lake or (args.folder or args.dir if place.is_lake(args.folder or args.dir) else "")
    own = "runs" if lake and not args.lake else args.folder or args.dir  # where what programs send is recorded
    _check_certificate(args.certificate, args.key)
    provider = _provider(args.openid) if args.openid else None
    tokens = _book(args, lake or own)
    if tokens is None:
        _check_open_to_network(args.host, args.port, args.insecure)
    listener = listen(args.host, args.port)
    url = _url(args.host, listener.getsockname()[1], args.root_path, "https" if args.certificate else "http")
    worker = _worker(lake) if lake else None
    folder, behind = (own, None) if worker is None else (worker.folder, worker.behind)
    hosts, receiver = {*LOCAL, args.host, *args.host_name}, Receiver(own)
    ships = worker if tokens or _is_loopback(args.host) else None
    rules = hosts, args.root_path, args.dev, args.behind_proxy
    app = create(folder, *rules, targets, receiver, tokens, ships, behind, provider)
    server = Server(app, args.certificate, args.key)
    if args.json:
        print_json({"url": url, "dir": os.path.abspath(folder)}, indent=None)
    else:
        say(f"Rollscope shows {os.path.abspath(folder)} at {url}  (Ctrl-C to stop)")
    if not args.no_browser and not args.json:
        threading.Timer(0.4, webbrowser.open, [url]).start()
    memory.keep_trimming()
    try:
        server.run(sockets=[listener])
    finally:
        if worker is not None:
            worker.close()
    return 0


def _worker(lake: str) -> Worker:
    """The process that keeps the cache of a lake equal to it, and ships what trainers send.

    A lake that cannot be read is said before the page opens.
    """
    from rollscope.lake.serving.worker import Worker

    return Worker(place.read(lake), lambda text: say(text, sys.stderr))


def _provider(path: str) -> Provider:
    """Where people sign in, and who may do what, as a file says."""
    from rollscope.access import people
    from rollscope.server.sign_in.provider import Provider

    return Provider(people.read(path))


def _book(args: argparse.Namespace, folder: str) -> Book | None:
    """The tokens, if everyone is to sign in: as asked, or open to the network with tokens."""
    is_open, asked = not _is_loopback(args.host), args.sign_in or args.openid
    if not asked and (args.insecure or not is_open or not exists(folder)):
        return None
    known = book(folder) if args.openid or exists(folder) else None
    holds = known is not None and any(token.state(time.time_ns()) == "good" for token in known.tokens())
    if known is None or not (holds or args.openid):
        raise BadInput(
            "nobody could sign in: there is no token that holds. Make one:"
            f" rollscope token create NAME --project P --may admin --dir {folder}"
        )
    if is_open and not args.certificate and not args.behind_proxy:
        print(
            f"Warning: tokens and runs travel to {args.host}:{args.port} unencrypted. Use --certificate and --key,"
            " or a proxy that speaks TLS and --behind-proxy.",
            file=sys.stderr,
            flush=True,
        )
    return known


def _check_certificate(certificate: str | None, key: str | None) -> None:
    """Refuse half a pair, or files that are no certificate and its key."""
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise BadInput("TLS needs two files: --certificate FILE and --key FILE")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        why = error.strerror if not isinstance(error, ssl.SSLError) else error.reason
        raise BadInput(
            f"{certificate!r} and {key!r} cannot be used for TLS ({why or 'no PEM file'})."
            " Name the certificate and its key, both PEM files without a password."
        ) from error


def _check_open_to_network(host: str, port: int, insecure: bool) -> None:
    """Refuse an address that other machines reach, unless the user insists; then warn."""
    if _is_loopback(host):
        return
    if not insecure:
        raise BadInput(
            f"--host {host} is open to the network, and there is no sign-in: everyone who reaches it could read all"
            " runs. Make a token (rollscope token create NAME --project P), and everyone must sign in; leave --host"
            f" out and forward the port (ssh -L {port}:127.0.0.1:{port} THIS-MACHINE); or add --insecure to open it"
            " all the same."
        )
    print(
        f"Warning: everyone who reaches {host}:{port} can read all runs and write notes; there is no sign-in.",
        file=sys.stderr,
        flush=True,
    )


def _is_loopback(host: str) -> bool:
    """True if a name or an address is this machine's own. A name that is unknown is not."""
    try:
        addresses = socket.getaddrinfo(host or "0.0.0.0", None)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in addresses)


def _url(host: str, port: int, root_path: str, scheme: str) -> str:
    """The address to open in a browser."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    prefix = f"/{root_path.strip('/')}/" if root_path.strip("/") else "/"
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{prefix}"
