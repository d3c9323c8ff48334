"""The few settings of a long configuration that are worth a line."""

from __future__ import annotations

from pathlib import Path

import rollscope as rs
from rollscope.views.summary.config_facts import config_facts


def test_a_long_configuration_shows_no_setting_by_its_place_in_the_alphabet(tmp_path: Path) -> None:
    config = {**{f"a{i:02}": i for i in range(40)}, "lr": 6e-4, "model": "qwen", "seed": 7}
    with rs.init(name="r", id="r", dir=tmp_path, config=config, host=False) as run:
        run.log({"reward/mean": 0.0}, step=0)
    facts = dict(config_facts(rs.open(tmp_path).run("r")))
    assert {key: facts[key] for key in ("model", "lr", "seed")} == {"model": "qwen", "lr": "6e-4", "seed": "7"}
    assert not any(key.startswith("a") and key[1:].isdigit() for key in facts)


def test_a_short_configuration_is_shown_whole(tmp_path: Path) -> None:
    with rs.init(name="r", id="r", dir=tmp_path, config={"zeta": 1, "lr": 0.01}, host=False) as run:
        run.log({"reward/mean": 0.0}, step=0)
    facts = dict(config_facts(rs.open(tmp_path).run("r")))
    assert (facts["zeta"], facts["lr"]) == ("1", "0.01")
