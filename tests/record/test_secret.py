"""Nothing that looks like a secret is written."""

import re
import subprocess
import sys

import pytest

from rollscope.record.about.provenance import environment
from rollscope.record.about.secret import HIDDEN, hide, hide_arguments

SECRETS = {
    "api_key": "abc",
    "OPENAI_API_KEY": "x" * 20,
    "password": "hunter2",
    "db.passwd": "p",
    "aws_secret_access_key": "q" * 40,
    "hf_token": "h" * 20,
    "token": "t" * 24,
    "client-secret": "s",
    "Authorization": "Bearer abcdefghij",
    "privateKey": "k",
}
HARMLESS = {
    "max_tokens": "512 to 1024",
    "tokenizer": "Qwen/Qwen3-8B-tokenizer",
    "pad_token": "<|endoftext|>",
    "tokens_per_second": 12.5,
    "key": "loss",
    "monkey": "x" * 30,
    "eos_token": "</s>",
    "num_key_value_heads": 8,
    "author": "Ada",
    "secret_sauce_enabled": True,
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_hidden_by_its_name(name):
    assert hide({name: SECRETS[name]}) == {name: HIDDEN}


@pytest.mark.parametrize("name", HARMLESS)
def test_other_values_stay(name):
    assert hide({name: HARMLESS[name]}) == {name: HARMLESS[name]}


SHAPES = [
    "sk-" + "a" * 30,
    "hf_" + "B" * 30,
    "ghp_" + "c" * 36,
    "AKIA" + "D" * 16,
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM",
    "https://user:pw@host/x",
]


@pytest.mark.parametrize("secret", SHAPES)
def test_a_secret_is_hidden_by_its_shape_anywhere_in_a_text(secret):
    got = hide({"note": [f"use {secret} please"]})["note"][0]
    assert HIDDEN in got and secret.split("@")[0].split("//")[-1] not in got


def test_secrets_are_hidden_inside_objects():
    import argparse
    import dataclasses

    @dataclasses.dataclass
    class Tracker:
        api_key: str
        project: str

    given = {
        "tracker": Tracker("abc", "p"),
        "args": argparse.Namespace(password="x", lr=0.1),
        "other": Exception("sk-" + "a" * 30),
    }
    assert hide(given) == {
        "tracker": {"api_key": HIDDEN, "project": "p"},
        "args": {"password": HIDDEN, "lr": 0.1},
        "other": HIDDEN,
    }


def test_secrets_are_hidden_in_command_lines():
    secret = ["--api-key", "abc", "--lr=0.1", "--password=x y", "HF_TOKEN=" + "z" * 20]
    hidden = ["--api-key", HIDDEN, "--lr=0.1", f"--password={HIDDEN}", f"HF_TOKEN={HIDDEN}"]
    rest = ["--max-tokens", "512", "--name", "run"]
    assert hide_arguments(["train.py", *secret, *rest]) == ["train.py", *hidden, *rest]


def test_no_secret_reaches_the_disk(tmp_path):
    code = f"""
import rollscope as rs
config = {{"nested": [{{"wandb": {{"api_key": "LEAK1"}}}}]}}
with rs.init(name="x", dir={str(tmp_path)!r}, config=config, host=False) as run:
    run.log({{"a": 1.0}}, step=0)
"""
    env = {
        "PATH": "/usr/bin:/bin",
        "OPENAI_API_KEY": "LEAK2",
        "RAY_AUTH_TOKEN": "LEAK3" * 8,
        "CUDA_VISIBLE_DEVICES": "3",
        "HOME": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", code, "--token", "LEAK4" * 8, "--password=LEAK5"], env=env, check=True)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"LEAK" not in written and b"CUDA_VISIBLE_DEVICES" in written and b"[hidden]" in written


def test_the_environment_holds_python_packages_machine_command_and_commit():
    got = environment()
    assert got["python"] == sys.version.split()[0] and got["packages"]["numpy"]
    assert got["host"]["cpus"] and got["command"]
    assert got["git"] is None or re.fullmatch("[0-9a-f]{40}", got["git"]["commit"])
