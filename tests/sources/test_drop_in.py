"""`import rollscope.wandb as wandb`: a script's calls are recorded, with no account."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources import wandb as offline
from rollscope.sources.files import leveldb, wire
from rollscope.store import store as rs

GUARD = """
import os, sys
def refuse(event, _):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        print("a connection was opened:", event, file=sys.stderr)
        os._exit(7)
sys.addaudithook(refuse)
"""
THE_SAME = """
import argparse, json, math, sys
run = wandb.init(project="p", name="n", config=argparse.Namespace(lr=0.1, model={"layers": 2}), tags=["a"], **options)
wandb.define_metric("acc", summary="max")
wandb.define_metric("loss", summary="min,last,mean")
steps = []
def log(*args, **kwargs):
    wandb.log(*args, **kwargs)
    steps.append(run.step)
for i in range(3):
    log({"loss": 1 / (i + 1), "acc": i % 2, "nested": {"x": i, "deep": {"y": -i}}})
log({"held": 1}, commit=False)
log({"held with": 2})
log({"open": 5}, step=10)
log({"joined": 6})
log({"closed": 7}, step=20, commit=True)
log({"late": 1}, step=3)
log({"v": 8}, step=21)
log({"w": 8, "v": 9}, step=21)
log({"held too": 1}, step=22, commit=False)
log({"flag": True, "none": None, "odd": math.nan, "up": math.inf, "big": 10**17}, step=23)
log({"last": 1}, commit=False)
log({"end": 1})
wandb.config.update({"batch": 8, "lr": 0.2}, allow_val_change=True)
wandb.config.seed = 3
wandb.config["shape-"] = (1, 2)
run.config.setdefaults({"seed": 4, "extra": None})
wandb.summary["best"] = 0.9
run.summary.update({"more": 2})
def plain(value):
    if hasattr(value, "keys"):
        return {key: plain(value[key]) for key in value.keys() if not key.startswith("_")}
    return str(value).lower() if isinstance(value, (str, float)) and not math.isfinite(float(value)) else value
print(json.dumps({"config": plain(run.config), "summary": plain(run.summary), "steps": steps}))
wandb.finish()
assert wandb.run is None
"""


def script(tmp_path: Path, code: str, **env: str) -> Any:
    """Run a program with a clean environment in a folder of its own."""
    trackers = ("WANDB", "SWANLAB", "TRACKIO", "ROLLSCOPE")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(trackers)}
    home = {"HOME": str(tmp_path), "TRACKIO_DIR": str(tmp_path / "trackio"), "WANDB__SERVICE_WAIT": "300"}
    environment = {**clean, **home, **env}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240)


def ours(tmp_path: Path, code: str, library: str = "wandb", **env: str) -> Any:
    done = script(tmp_path, f"{GUARD}\nimport rollscope.{library} as {library}\n{code}", **env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def series(run: Any, name: str) -> dict[int, float]:
    points = run.series(name)
    return dict(zip(points["step"].tolist(), points["value"].tolist(), strict=True))


def test_history_config_summary_and_steps_are_those_of_wandb(tmp_path: Path) -> None:
    there, here = tmp_path / "theirs", tmp_path / "ours"
    there.mkdir(), here.mkdir()
    quiet = 'options = {"mode": "offline", "settings": wandb.Settings(silent=True, console="off")}\n'
    theirs = script(there, f"import wandb\n{quiet}{THE_SAME}")
    assert theirs.returncode == 0, theirs.stderr[-3000:]
    said = json.loads(ours(here, f"options = {{}}\n{THE_SAME}").stdout)
    expected = json.loads(theirs.stdout.splitlines()[-1])
    assert said["config"] == expected["config"] and said["steps"] == expected["steps"]
    assert said["summary"].pop("loss") == pytest.approx(expected["summary"].pop("loss"))
    assert said["summary"] == expected["summary"]
    run, history = rs.open(here / "runs").run(), list(rows(next(there.rglob("*.wandb"))))
    assert {name: value for name, value in all_series(run).items() if not name.startswith("summary/")} == {
        **by_name(history),
        "late": {3: 1.0},  # W&B drops a step that goes back; here it is kept where it belongs
    }
    assert run.config == expected["config"] and run.record()["tags"] == ["a"]
    assert series(run, "summary/best") == {23: 0.9} and series(run, "summary/more") == {23: 2.0}


def rows(path: Path) -> Any:
    """The rows of W&B's own history file."""
    with path.open("rb") as file:
        for record in leveldb.records(file, 7):
            for field, value in wire.fields(record.data):
                if field == offline.HISTORY:
                    yield offline.items(value)


def by_name(history: list[dict[str, Any]]) -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = {}
    for row in history:
        for name, value in row.items():
            if not name.startswith("_") and value is not None:
                found.setdefault(name, {})[int(row["_step"])] = said(float(value))
    return found


def said(value: float) -> Any:
    return "NaN" if math.isnan(value) else value


def all_series(run: Any) -> dict[str, dict[int, Any]]:
    return {name: {step: said(value) for step, value in series(run, name).items()} for name in run.metrics()["name"]}


OBJECTS = """
import numpy as np, pathlib
run = wandb.init(project="p", name="n")
rows = [["2+2", "4", 1.0], ["3+4", "7", 0.5]]
wandb.log({"generated": wandb.Table(columns=["prompt", "completion", "reward"], data=rows)}, step=1)
table = wandb.Table(columns=["a", "b"])
table.add_data(1, wandb.Image(np.zeros((4, 5, 3), np.uint8)))
wandb.log({"../../table": table}, step=1)
wandb.log({"picture": wandb.Image(np.random.rand(3, 8, 9), caption="noise")}, step=2)
wandb.log({"many": [wandb.Image(np.zeros((4, 4))), wandb.Image(np.ones((4, 4)))]}, step=2)
from PIL import Image
wandb.log({"pil": wandb.Image(Image.new("RGB", (3, 3)))}, step=2)
import matplotlib; matplotlib.use("agg")
from matplotlib import pyplot
wandb.log({"figure": pyplot.figure(figsize=(1, 1))}, step=2)
wandb.log({"video": wandb.Video(np.zeros((3, 3, 8, 8), np.uint8), fps=2)}, step=2)
wandb.log({"sound": wandb.Audio(np.zeros(100), sample_rate=8000, caption="silence")}, step=2)
wandb.log({"page": wandb.Html("<b>hello</b>")}, step=2)
wandb.log({"values": wandb.Histogram([1, 2, 3, 4, 5])}, step=3)
wandb.log({"bins": wandb.Histogram(np_histogram=np.histogram([0.0, 1.0, 1.0], bins=2))}, step=3)
wandb.log({"list": [1.0, 2.0, 9.0], "status": "warming up"}, step=3)
wandb.log({"status": "warming up"}, step=4)
pathlib.Path("sub").mkdir(); pathlib.Path("sub/notes.txt").write_text("kept")
wandb.save("sub/*.txt")
artifact = wandb.Artifact("policy", type="model", metadata={"step": 4})
artifact.add_file("sub/notes.txt")
run.log_artifact(artifact).wait()
wandb.alert(title="slow", text="the step takes long", level=wandb.AlertLevel.WARN)
wandb.watch(object()); wandb.watch(object())
wandb.Api(); wandb.sweep({}); wandb.plot.line_series([1], [2])
wandb.define_metric("val/*", step_metric="val/step")
wandb.log({"val/reward": 0.5, "val/step": 7})
wandb.log({"val/reward": 0.6, "val/step": 8})
"""


def test_tables_media_files_and_alerts_are_kept_and_the_rest_is_said_once(tmp_path: Path) -> None:
    done = ours(tmp_path, OBJECTS)
    run = rs.open(tmp_path / "runs").run()
    assert list(run.samples(columns=["completion"])["completion"]) == ["4", "7"]
    assert series(run, "values") == {3: 3.0} and series(run, "list") == {3: 2.0} and len(series(run, "bins")) == 1
    assert series(run, "val/reward") == {7: 0.5, 8: 0.6}
    notes = dict(zip(run.notes()["text"], run.notes()["kind"], strict=True))
    assert notes["slow: the step takes long"] == "warning" and notes["model policy"] == "checkpoint"
    assert list(run.notes()["text"]).count("status: warming up") == 1
    media = {path.name for path in (Path(run.path) / "media").iterdir()}
    assert {"picture_2_0.png", "many_2_1.png", "pil_2_0.png", "figure_2_0.png", "video_2_0.gif"} <= media
    assert {"sound_2_0.wav", "page_2_0.html", "table_1_0.table.json"} <= media
    assert sum(kind == "media" for kind in notes.values()) == 9 and "picture: noise (media/picture_2_0.png)" in notes
    assert (Path(run.path) / "files" / "sub" / "notes.txt").read_text() == "kept"
    for part in ("wandb.watch is", "wandb.Api is", "wandb.sweep is", "wandb.plot is"):
        assert done.stderr.count(part) == 1, done.stderr


HOSTILE = """
class Bad:
    def __getattr__(self, name): raise RuntimeError("no " + name)
    def __repr__(self): raise RuntimeError("no words")
run = wandb.init(project="../..", name="x" * 5000, config={"odd": object(), 3: Bad()}, id="../../etc/passwd")
for data in ({"a": Bad()}, "text", None, 3, {"b": {"c": Bad()}}, {"d": "\\x00"}, {1: 2.0}, {"e" * 20000: 1.0}):
    wandb.log(data)
for step in ("x", None, -1, 10**30, 1.5, float("nan")):
    wandb.log({"kept": 1.0}, step=step)
wandb.log({"image": wandb.Image("/no/such/file.png"), "video": wandb.Video(None), "audio": wandb.Audio(Bad())})
wandb.log({"table": wandb.Table(columns=["prompt"], data=[[Bad()]])})
wandb.save("/no/such/*"); wandb.save(Bad()); wandb.alert(); wandb.define_metric(None); run.log_artifact(None)
run.log_artifact("/no/such/file"); run.anything.at.all(1)[2]; wandb.config.update(3); wandb.summary["x"] = Bad()
wandb.finish(); wandb.finish(); wandb.log({"after": 1}); run.log({"after": 1})
print("the end")
"""


def test_nothing_that_a_script_does_raises_or_leaves_the_folder_of_runs(tmp_path: Path) -> None:
    done = ours(tmp_path, HOSTILE)
    assert done.stdout == "the end\n" and "Traceback" not in done.stderr
    run = rs.open(tmp_path / "runs").run()
    assert set(series(run, "kept").values()) == {1.0} and run.record()["state"] == "finished"
    assert "after" not in run.metrics()["name"] and done.stderr.count("wandb.log was called without a run") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["runs"] and len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.parametrize("how", ["mode", "WANDB_MODE", "WANDB_DISABLED"])
def test_a_disabled_run_records_nothing(how: str, tmp_path: Path) -> None:
    env = {} if how == "mode" else {how: "true" if how == "WANDB_DISABLED" else "disabled"}
    given = 'mode="disabled"' if how == "mode" else ""
    code = f"run = wandb.init({given})\nwandb.log({{'a': 1}})\nwandb.config.x = 1\nassert run.disabled\nprint(run.step)"
    assert ours(tmp_path, code, **env).stdout == "0\n" and not (tmp_path / "runs").exists()


def test_variables_resume_a_second_run_and_a_crash(tmp_path: Path) -> None:
    env = {"WANDB_PROJECT": "p", "WANDB_NAME": "n", "WANDB_TAGS": "a,b", "WANDB_RUN_GROUP": "g", "WANDB_RUN_ID": "one"}
    ours(tmp_path, "wandb.init()\nfor i in range(3): wandb.log({'a': i})", **env)
    code = """
run = wandb.init(id="one", resume="allow")
assert run.resumed and run.step == 3, run.step
wandb.log({"a": 3.0})
assert wandb.init(project="other") is run
other = wandb.init(project="other", id="two", reinit=True)
assert other is not run and wandb.run is other
try:
    with other:
        wandb.log({"b": 1.0})
        raise KeyError("lost")
except KeyError:
    print("raised", wandb.run)
must = wandb.init(id="three", resume="must")
"""
    done = ours(tmp_path, code)
    assert done.stdout == "raised None\n" and "A new run is recorded instead" in done.stderr
    runs = rs.open(tmp_path / "runs")
    one, two = runs.run("one"), runs.run("two")
    facts = one.record()
    assert (facts["project"], facts["name"], facts["group"], facts["tags"]) == ("p", "n", "g", ["a", "b"])
    assert series(one, "a") == {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0} and facts["state"] == "finished"
    assert (two.record()["state"], two.record()["reason"]) == ("crashed", "KeyError: 'lost'")


COUNTED = {
    "trackio": """
import {module} as trackio
trackio.init(project="p", name="n", config={{"lr": 0.1}})
trackio.log({{"a": 1.0, "n": {{"x": 2.0}}}})
trackio.log({{"b": 2.0}}, step=5)
trackio.log({{"c": 3.0}})
trackio.log({{"late": 4.0}}, step=2)
trackio.log({{"d": 5.0}})
trackio.finish()
""",
    "swanlab": """
import {module} as swanlab
swanlab.init(project="p", experiment_name="n", config={{"lr": 0.1}}{options})
swanlab.log({{"a": 1.0, "n": {{"x": 2.0}}}})
swanlab.log({{"b": 2.0}}, step=5)
swanlab.log({{"c": 3.0}})
swanlab.log({{"late": 4.0}}, step=2)
swanlab.log({{"d": 5.0}})
swanlab.finish()
""",
}


@pytest.mark.parametrize("library", COUNTED)
def test_trackio_and_swanlab_count_their_steps_as_the_libraries_do(library: str, tmp_path: Path, imported: Any) -> None:
    there, here = tmp_path / "theirs", tmp_path / "ours"
    there.mkdir(), here.mkdir()
    options = ', mode="offline"' if library == "swanlab" else ""
    theirs = script(there, COUNTED[library].format(module=library, options=options), HF_HUB_OFFLINE="1")
    assert theirs.returncode == 0, theirs.stderr[-3000:]
    done = script(here, GUARD + COUNTED[library].format(module=f"rollscope.{library}", options=""))
    assert done.returncode == 0, done.stderr[-3000:]
    imported.take(there)
    mine, theirs_too = rs.open(here / "runs").run(), all_series(imported.run())
    assert all_series(mine) == {**theirs_too, "n/x": {0: 2.0}}  # Trackio keeps what is nested as one object
    assert {name: list(points) for name, points in theirs_too.items() if len(name) < 5} == {
        **dict(a=[0], b=[5], c=[6], late=[2], d=[7]),
        **({"n/x": [0]} if library == "swanlab" else {}),
    }
    assert mine.config["lr"] == 0.1 and mine.record()["name"] == "n"


BELOW = """
import importlib, sys
sys.modules["wandb"] = wandb  # as somebody does who wants a library's integration to record here
from wandb.sdk.lib.config_util import ConfigError  # Transformers
from wandb.sdk.lib import RunDisabled  # Lightning
from wandb.wandb_run import Run
from wandb.errors import CommError
import wandb.sdk.wandb_run, wandb.util
run = wandb.init(project="p", id=wandb.util.generate_id(), settings=wandb.Settings(silent=True, label="mine"))
assert len(run.id) == 8 == len(wandb.sdk.lib.runid.generate_id()) and run.settings.silent is True
run._label(code="transformers_trainer")
assert isinstance(run, Run) and isinstance(run, wandb.sdk.wandb_run.Run) and not isinstance(run, RunDisabled)
assert wandb.data_types.Table is wandb.Table and isinstance(run.config, wandb.sdk.wandb_config.Config)
assert CommError is wandb.CommError is wandb.errors.CommError and issubclass(ConfigError, wandb.Error)
assert tuple(map(int, wandb.__version__.split("."))) > (0, 12, 10) and run.get_project_url() is None
try:
    raise RuntimeError("of the program")
except (wandb.Error, wandb.errors.UsageError, CommError):
    print("caught by mistake")
except RuntimeError as error:
    print("came through:", error)
wandb.log({"molecule": wandb.Molecule.from_smiles("CCO"), "chart": wandb.plot.line(None, "x", "y"), "loss": 1.0})
try:
    importlib.import_module("wandb.integration.sb3")
except ModuleNotFoundError:
    print("no integration of theirs")
wandb.agent("sweep", function=print)
"""


def test_a_program_finds_the_classes_and_exceptions_that_it_names(tmp_path: Path) -> None:
    done = ours(tmp_path, BELOW)
    assert done.stdout == "came through: of the program\nno integration of theirs\n"
    assert "the function is not called" in done.stderr and "'chart' holds an object" in done.stderr
    run = rs.open(tmp_path / "runs").run()
    assert set(run.metrics()["name"]) == {"loss"} and not len(run.notes()["text"]), (
        "no note of a file that is not there"
    )


LATE = """
run = wandb.init(project="p", name="first", tags=["a"], notes="before")
wandb.define_metric("*", step_metric="train/global_step")
run.name = f"lr-{0.1}"
run.tags += ("b",)
run.notes = "after"
for i in range(3):
    wandb.log({"timing": 0.1})
    wandb.log({"train/loss": 1.0, "train/global_step": i})
wandb.define_metric("kept", summary="copy"), wandb.define_metric("hidden", summary="none")
wandb.log({"kept": 3, "hidden": 4})
assert run.summary["kept"] == 3 and "hidden" not in run.summary
run.summary["best"] = 0.5
run.summary["wrong"] = 1.0
del run.summary["wrong"]
wandb.log({"held": 7.0}, commit=False)
"""


def test_what_is_said_late_and_what_waits_at_the_end_is_recorded(tmp_path: Path) -> None:
    ours(tmp_path, LATE)
    run = rs.open(tmp_path / "runs").run()
    facts = run.record()
    assert (facts["name"], facts["tags"], facts["state"]) == ("lr-0.1", ["a", "b"], "finished")
    assert list(run.notes()["text"]) == ["before", "after"]
    assert series(run, "held") == {2: 7.0} and series(run, "summary/best") == {2: 0.5}
    assert "summary/train/loss" not in run.metrics()["name"] and facts["step"] == 2


FORKED = """
import os
wandb.init(project="p")
wandb.log({"a": 1.0})
wandb.log({"held": 5.0}, commit=False)
child = os.fork()
if child == 0:
    wandb.log({"child": 1.0}, step=9)
    sys.exit(0)
os.waitpid(child, 0)
"""


def test_what_waits_is_recorded_by_the_parent_and_not_by_a_forked_child(tmp_path: Path) -> None:
    ours(tmp_path, FORKED)
    points = rs.open(tmp_path / "runs").run().sql("SELECT name, step, value FROM metrics ORDER BY name")
    assert list(zip(*points.values(), strict=True)) == [("a", 0, 1.0), ("child", 9, 1.0), ("held", 1, 5.0)]


TABLES = """
import json
import pandas, numpy
table = wandb.Table(dataframe=pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), allow_mixed_types=True)
table.add_data(3, "z")
table.add_column("c", [1, 2, 3])
table.add_computed_columns(lambda i, row: {"sum": row["a"] + row["c"] + i})
table.cast("b", str)
frame = table.get_dataframe()
print(list(frame.columns), frame.shape, table.get_index(), wandb.Table.MAX_ROWS)
print([[str(cell) for cell in row] for row in table.data], table.get_column("c", convert_to="numpy").sum())
"""


def test_a_table_answers_as_that_of_wandb_does(tmp_path: Path) -> None:
    theirs = script(tmp_path, f"import wandb\n{TABLES}")
    assert theirs.returncode == 0, theirs.stderr[-3000:]
    assert ours(tmp_path, TABLES).stdout == theirs.stdout


def test_the_plain_import_is_still_theirs() -> None:
    code = "import rollscope.wandb, wandb\nassert wandb.__file__.endswith('wandb/__init__.py')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    light = (
        "import rollscope.wandb, sys\nassert not {'duckdb', 'fastapi', 'wandb', 'PIL', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", light], check=True, timeout=120)
