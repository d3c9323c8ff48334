"""Imported by every Python process that `rollscope run` starts, before its program.

It installs the listeners for trackers, then runs the real `sitecustomize`.
"""

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any


class _Rollscope:
    """Finds Rollscope, and nothing else, where `rollscope run` is installed.

    The program may run in another environment.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name == "rollscope":
            return importlib.machinery.PathFinder.find_spec(name, [os.environ["ROLLSCOPE_HOME"]])
        return None


def _begin() -> None:
    if "ROLLSCOPE_HOME" in os.environ:
        sys.meta_path.append(_Rollscope)
        try:
            from rollscope.sources.capture import install

            install()
        except Exception as error:  # no numpy, or an old Python: the program runs without a recording
            print(f"rollscope: this Python cannot be recorded ({error!r}); the program goes on", file=sys.stderr)


def _run_next() -> None:
    """Run the `sitecustomize` that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_begin()
_run_next()
