"""Dumps that the packages of frameworks wrote themselves, kept in `tests/golden/dumps`.

`make test-frameworks-all` lets the packages write them again, from the rollouts below.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frameworks.dumps_run import ROLLOUTS, STEP
from tests.recorded import held, recorded
from tests.sources.conftest import Imported

GOLDEN = Path(__file__).parents[1] / "golden" / "dumps"
WHOLE = ("skyrl", "telescope")  # dumps that hold all that the table says; of the others, `test_dumps.py` has the rest
SENT = ("agentlightning",)  # spans without groups and steps: `test_agentlightning.py`
PACKAGES = sorted({path.name for path in GOLDEN.iterdir()} - {*SENT})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    imported = Imported(tmp_path_factory.mktemp("packages") / "runs")
    assert not imported.take(GOLDEN).skipped
    yield imported


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_wrote_is_what_is_read(name: str, runs: Imported) -> None:
    (id,) = [id for id in runs.ids() if id.rpartition("-")[0] == name]
    run = runs.run(id)
    # Telescope wrote one more, without a reward; SkyRL's batches have no text.
    stored = run.samples(where="(coalesce(split, 'train') = 'train' or reward is not null) and prompt is not null")
    rows = sorted(zip(*(stored[key] for key in ("id", "group", "prompt", "completion", "reward")), strict=True))
    assert [row[2:] for row in rows] == [rollout[1:] for rollout in ROLLOUTS]
    assert [row[1] == rows[0][1] for row in rows] == [rollout[0] == 0 for rollout in ROLLOUTS]
    assert {*stored["step"].tolist()} == {STEP}
    told = held("prime_rl" if name == "verifiers" else name)
    assert recorded(run) == told if name in WHOLE else recorded(run) <= told
