"""Processes that a training starts run our code and Python's own, whatever lies in the working
folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import rollscope
from rollscope import isolated
from rollscope.record.spawn import spawn

HOSTILE = ("queue", "json", "re", "numpy", "pyarrow", "duckdb", "rollscope", "sitecustomize", "usercustomize")
ENDS_BADLY = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch(); raise SystemExit(3)\n"
PROGRAM = """
import os, sys
{prepare}
import numpy
from rollscope.record.spawn import spawn
import rollscope as rs
os.chdir({folder!r})
os.environ.update({environment!r})
with rs.init(dir={runs!r}, id="r", host=False) as run:
    run.log({{"loss": 1.0}}, step=0)
process = spawn(*{words!r}, stdout=-1)
print(process.communicate()[0])
sys.exit(process.returncode)
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose files have the names of modules, and leave a mark when they run."""
    folder = tmp_path / "hostile"
    (folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages").mkdir(parents=True)
    for where in (folder, *folder.rglob("site-packages")):
        for name in HOSTILE:
            (where / f"{name}.py").write_text(ENDS_BADLY)
    (folder / "where.py").write_text(ENDS_BADLY)
    return folder


def train(tmp_path: Path, folder: Path, *words: str, prepare: str = "", **environment: str) -> tuple[int, str]:
    """Exit code and output of a helper that a training starts: sealing waits for it, nothing
    else.
    """
    script = tmp_path / "script" / "train.py"
    script.parent.mkdir(exist_ok=True)
    values = {"folder": str(folder), "runs": str(tmp_path / "runs"), "words": words}
    script.write_text(PROGRAM.format(prepare=prepare, environment=environment, **values))
    clean = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "ROLLSCOPE"))}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**clean, "ROLLSCOPE_SEAL": "0"},
        check=False,
        timeout=500,  # helpers have the lowest priority of the machine
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.strip()


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.ran"))


ENVIRONMENTS: dict[str, dict[str, str]] = {
    "the working folder alone": {},
    "PYTHONPATH": {"PYTHONPATH": "{}"},
    "PYTHONPATH names the working folder": {"PYTHONPATH": "."},
    "PYTHONSTARTUP": {"PYTHONSTARTUP": "{}/queue.py", "PYTHONINSPECT": "1"},
    "the user's packages": {"PYTHONUSERBASE": "{}"},
    "warnings are errors": {"PYTHONWARNINGS": "error", "PYTHONVERBOSE": "1"},
    "a Python that is told to break": {"PYTHONBREAKPOINT": "queue.x", "PYTHONPLATLIBDIR": "nowhere"},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=[*ENVIRONMENTS])
def test_files_with_the_names_of_modules_neither_run_nor_stop_sealing(
    tmp_path: Path, hostile: Path, environment: dict[str, str]
) -> None:
    environment = {key: text.format(hostile) for key, text in environment.items()}
    code, _ = train(tmp_path, hostile, "rollscope.store.seal", str(tmp_path / "runs" / "r"), **environment)
    assert (code, marks(hostile)) == (0, [])
    assert not [*(tmp_path / "runs" / "r").glob("*.log")], "the log became a set"
    assert rollscope.open(tmp_path / "runs").run("r").series("loss")["value"].tolist() == [1.0]


def test_a_doctor_answers_in_a_hostile_folder(tmp_path: Path, hostile: Path) -> None:
    words = ("rollscope", "doctor", "r", "--dir", str(tmp_path / "runs"), "--json")
    code, output = train(tmp_path, hostile, *words)
    assert (code, json.loads(output), marks(hostile)) == (0, [], [])


def test_files_beside_the_script_do_not_run_either(tmp_path: Path) -> None:
    """A training that is called `python train.py` has the folder of its script on its own path."""
    (tmp_path / "script").mkdir()
    for name in ("pyarrow", "duckdb", "pandas"):  # what a training process does not import itself
        (tmp_path / "script" / f"{name}.py").write_text(ENDS_BADLY)
    code, _ = train(tmp_path, tmp_path, "rollscope.store.seal", str(tmp_path / "runs" / "r"))
    assert (code, marks(tmp_path)) == (0, [])


def source_copy(folder: Path) -> Path:
    """Our package with a module that says where it was loaded from."""
    skipped = shutil.ignore_patterns("__pycache__", "web")
    shutil.copytree(Path(rollscope.__file__).parent, folder / "rollscope", ignore=skipped)
    (folder / "rollscope" / "where.py").write_text("import rollscope; print(rollscope.__file__)\n")
    return folder


def zipped(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in source_copy(folder).rglob("*.py"):
            archive.write(file, file.relative_to(folder))
    return path


PLACES = {
    "a folder that the program put on its path": (source_copy, "sys.path.insert(0, {path!r})"),
    "a folder at the end of the path": (
        source_copy,
        "sys.path[:] = [e for e in sys.path if e != {ours!r}] + [{path!r}]",
    ),
    "a zip file": (zipped, "sys.path.insert(0, {path!r})"),
    "the folder that was the working folder": (source_copy, "os.chdir({path!r}); sys.path.insert(0, '')"),
    "a relative folder": (source_copy, "os.chdir({parent!r}); sys.path.insert(0, 'copy')"),
}


@pytest.mark.parametrize(("make", "prepare"), PLACES.values(), ids=[*PLACES])
def test_a_helper_runs_the_rollscope_that_the_training_runs(
    tmp_path: Path, hostile: Path, make: Any, prepare: str
) -> None:
    path = make(tmp_path / "copy")
    ours = str(Path(rollscope.__file__).parents[1])
    prepare = prepare.format(path=str(path), parent=str(path.parent), ours=ours)
    code, output = train(tmp_path, hostile, "rollscope.where", prepare=prepare)
    assert (code, output, marks(hostile)) == (0, str(path / "rollscope" / "__init__.py"), [])
    code, _ = train(tmp_path, hostile, "rollscope.store.seal", str(tmp_path / "runs" / "r"), prepare=prepare)
    assert code == 0


def test_packages_that_only_the_program_knows_of_are_found(tmp_path: Path, hostile: Path) -> None:
    """A cluster has its packages in a folder of its own, which the program puts on its path."""
    libraries = source_copy(tmp_path / "libraries")
    (libraries / "cluster_only.py").write_text("print('found')\n")
    (libraries / "rollscope" / "where.py").write_text("import cluster_only\n")
    prepare = f"sys.path.append({str(libraries)!r}); sys.path.insert(0, {str(libraries)!r})"
    assert train(tmp_path, hostile, "rollscope.where", prepare=prepare) == (0, "found")


def test_both_modules_of_duckdb_come_from_one_place(tmp_path: Path) -> None:
    """A package that was put before the installed one brings its own extension."""
    (tmp_path / "duckdb").mkdir()
    (tmp_path / "duckdb" / "__init__.py").write_text("from _duckdb import beside")
    (tmp_path / "_duckdb.py").write_text("beside = 'loaded from one place'")
    asked = (
        "import os, subprocess, duckdb\nfrom rollscope import isolated\n"
        "words = isolated.command('timeit', '-n1', '-r1', 'import duckdb; print(duckdb.beside)')\n"
        "print(subprocess.run(words, env=isolated.environment(), capture_output=True, text=True))"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(rollscope.__file__).parents[1]}"}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=environment, check=True)
    assert "loaded from one place" in done.stdout, done.stdout


@pytest.mark.parametrize("executable", ["", None, "/opt/game/engine", "/bin/true", "/usr/bin/pythonic"])
def test_where_python_is_embedded_sealing_is_left_to_compact_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, executable: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.delenv("ROLLSCOPE_SEAL", raising=False)
    with rollscope.init(dir=tmp_path, id="r", host=False) as run:
        run.log({"loss": 1.0}, step=0)
        run.on_finding(print)
    said = capfd.readouterr().err
    assert said.count("`rollscope compact` seals the logs later") == 1
    assert said.count("on_finding could not start a doctor") == 1 and "not a Python interpreter" in said
    assert rollscope.open(tmp_path).run("r").series("loss")["value"].tolist() == [1.0]


def test_a_run_that_is_over_is_sealed_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROLLSCOPE_SEAL")
    with rollscope.init(dir=tmp_path, id="r", host=False) as run:
        run.log({"loss": 1.0}, step=0)
    until = time.monotonic() + 240  # it has the lowest priority of the machine
    while [*(tmp_path / "r").glob("*.log")]:
        assert time.monotonic() < until, "the log did not become a set"
        time.sleep(0.05)
    assert rollscope.open(tmp_path).run("r").series("loss")["value"].tolist() == [1.0]


NAMES = ["python", "python3", "python3.13t", "python3.11d", "pypy3.10", "Python", "pythonw.exe", ".python3-wrapped"]


@pytest.mark.parametrize("name", [*NAMES, "python_d.exe", "python-intel64", "python.exe"])
def test_interpreters_are_known_by_their_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, "executable", f"/opt/bin/{name}")
    assert isolated.interpreter() == f"/opt/bin/{name}"


def test_a_frozen_program_is_not_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(OSError, match="not a Python interpreter"):
        isolated.interpreter()


def test_a_working_folder_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    prepare = f"os.chdir({str(tmp_path / 'gone')!r}); os.rmdir({str(tmp_path / 'gone')!r})"
    module = tmp_path / "script" / "train.py"
    module.parent.mkdir()
    program = f"import os, sys\nfrom rollscope.record.spawn import spawn\n{prepare}\n"
    module.write_text(program + "sys.exit(spawn('rollscope', '--version').wait())\n")
    assert subprocess.run([sys.executable, str(module)], timeout=60, check=False).returncode == 0


def test_a_helper_leaves_the_processor_to_the_training() -> None:
    said = "import os; print(os.nice(0), *[open(p).read() for p in ('/proc/self/autogroup',) if os.path.exists(p)])"
    words = spawn("timeit", "-n1", "-r1", said, stdout=subprocess.PIPE).communicate(timeout=60)[0].split()
    assert words[0] == "19"
    if os.path.exists("/proc/self/autogroup"):  # else the kernel looks at `nice` alone
        assert words[1].startswith("/autogroup-") and words[2:4] == ["nice", "10"]


WORKERS = """
import multiprocessing, os
from rollscope import isolated
from rollscope.record.spawn import spawn
if __name__ == "__main__":
    os.chdir({folder!r})
    with isolated.without_working_folder():
        context = multiprocessing.get_context("spawn")
        lock = context.Lock()
        worker = context.Process(target=bool, args=(lock,))
        worker.start()
    worker.join()
    print(worker.exitcode, os.environ.get("PYTHONSAFEPATH"))
"""


def test_workers_of_multiprocessing_do_not_look_in_the_working_folder(tmp_path: Path, hostile: Path) -> None:
    (hostile / "multiprocessing.py").write_text(ENDS_BADLY)
    script = tmp_path / "workers.py"
    script.write_text(WORKERS.format(folder=str(hostile)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split(), marks(hostile)) == (["0", "None"], []), done.stderr
