"""The viewer of an environment: an ES module of the project's folder, if a person trusted it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from rollscope.errors import NotFound, NotTrusted, RollscopeError
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import as_json
from rollscope.trust import folders, trusted

router = APIRouter(tags=["rollouts"])


class ViewerShape(TypedDict):
    """What there is: no viewer, one that nobody trusted as it is, one that fails, or its source."""

    state: Literal["none", "untrusted", "failed", "trusted"]
    says: str
    source: str


@router.get("/runs/{run}/viewer")
@as_json
def show(library: Lib, run: RunId, env: Annotated[str, Query(max_length=400)]) -> ViewerShape:
    """The module that draws samples of an environment: `.rollscope/viewers/ENV.js`."""
    with library.reading(run):
        pass  # an unknown run is an error
    folder, name = folders.project_folder(library.path), re.sub(r"[^\w.-]+", "-", env).lstrip(".")
    if folder is None or not name:
        return {"state": "none", "says": "", "source": ""}
    try:
        return {"state": "trusted", "says": "", "source": _source(folder, name)}
    except NotFound:
        return {"state": "none", "says": "", "source": ""}
    except NotTrusted as error:
        return {"state": "untrusted", "says": str(error), "source": ""}
    except RollscopeError as error:
        return {"state": "failed", "says": str(error), "source": ""}


def _source(folder: str, name: str) -> str:
    return trusted.read(folder, f"viewers/{name}.js").decode("utf-8", "replace")
