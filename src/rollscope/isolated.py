"""Start a Python of ours that no stray file can mislead.

`python -m` looks for modules in the working folder and in PYTHONPATH first: a `queue.py` there runs
in place of Python's own. A process started here looks in the standard library, then among the
installed packages, then in the other folders of this process's path. It never looks in the working
folder, nor beside the script. Packages of ours that this process has loaded come from the same
places again, wherever they are: installed, editable, in a folder, in a zip file.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

PACKAGES = ("rollscope", "numpy", "pyarrow", "duckdb", "_duckdb", "rich")  # DuckDB 1.4 and later are two modules
KEPT = ("PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")  # the PYTHON variables that stay
PLACES = "ROLLSCOPE_PLACES"  # carries where to look for modules, from this process to the one it starts
_PYTHON = re.compile(r"\.?(python|pypy)([\d._w-].*)?", re.IGNORECASE)
_BOOT = f"""\
import json, os, runpy, sys
from importlib.machinery import PathFinder
loaded, folders = json.loads(os.environ.pop("{PLACES}"))
class Loaded:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [loaded[name]]) if name in loaded else None
sys.meta_path.insert(0, Loaded)
sys.path += [folder for folder in folders if folder not in sys.path]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of ours, to be started with `environment()`.

    Raises OSError where this process is no plain Python, but a program that embeds one.
    """
    return [interpreter(), "-P", "-s", "-X", "utf8", "-c", _BOOT, module, *arguments]


def interpreter() -> str:
    """The path of this Python. Raises OSError if `sys.executable` names another program or none."""
    path = sys.executable or ""
    if getattr(sys, "frozen", False) or not _PYTHON.fullmatch(os.path.basename(path)):
        raise OSError(f"sys.executable is {path!r}, which is not a Python interpreter")
    return path


def environment() -> dict[str, str]:
    """This process's environment without what redirects a Python, and with the places of
    modules.
    """
    kept = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON") or key in KEPT}
    return {**kept, PLACES: json.dumps([_loaded(), list(_folders())])}


@contextmanager
def without_working_folder() -> Iterator[None]:
    """A Python that starts meanwhile, as multiprocessing's do, does not look in the working
    folder.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _loaded() -> dict[str, str]:
    """Package -> the folder or zip file that this process loaded it from."""
    places = {name: _place(sys.modules.get(name)) for name in PACKAGES}
    return {name: place for name, place in places.items() if place}


def _place(module: ModuleType | None) -> str:
    """The folder or zip file that holds a module or package; empty if it is not loaded."""
    path = next(iter(getattr(module, "__path__", ())), None) or getattr(module, "__file__", None)
    return os.path.dirname(os.path.abspath(path)) if path else ""


def _folders() -> Iterator[str]:
    """This process's path, without the working folder and the script's folder.

    The folder that numpy was loaded from holds installed packages: it stays, whichever it is.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    left_out = {"", _real("."), os.path.dirname(_real(script))} - {_real(_loaded().get("numpy", ""))}
    for entry in sys.path:
        if isinstance(entry, str) and (folder := _real(entry or ".")) not in left_out:
            yield folder


def _real(path: str) -> str:
    """The path without links; empty where it is relative to a working folder that is gone."""
    try:
        return os.path.realpath(path) if path else ""
    except OSError:
        return ""
