"""Nothing that looks like a secret is written; what only sounds like one stays."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rollscope.record.about.plain import plain
from rollscope.record.about.provenance import environment
from rollscope.store.log.secret import HIDDEN, LONGEST, hide, hide_arguments

MIXED = "aB3dE5fG7hI9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"  # letters and digits, as keys have
HEX = "0123456789abcdef" * 4

NAMED: dict[str, Any] = {  # a name, and a value that nothing but the name gives away
    **dict.fromkeys(
        (
            *("api_key", "apiKey", "API_KEY", "x-api-key", "OPENAI_API_KEY", "wandb.api_key", "apikeys", "access_key"),
            *("aws_secret_access_key", "secret", "secrets", "client-secret", "clientSecret", "SECRET_KEY", "jwt"),
            *("password", "passwd", "db.passwd", "user_password", "passwords", "passphrase", "pwd", "db_pass"),
            *("smtp_pass", "redis_pass", "POSTGRES_PASSWORD", "private_key", "privateKey", "signing_key", "ssh_key"),
            *("encryption_key", "account_key", "license_key", "credentials", "credential", "auth", "Authorization"),
            *("cookie", "Set-Cookie", "dsn", "SENTRY_DSN", "netrc", "webhook", "slack_webhook_url", "master_key"),
            *("connection_string", "conn_str", "hf_token", "HUGGINGFACE_TOKEN", "auth_token", "access_token"),
            *("PGPASSWORD", "seed_phrase", "mnemonic", "bearer", "pass"),
            *("refresh_token", "bot_token", "github_token", "session_token", "RAY_AUTH_TOKEN", "oauth_token", "sas"),
        ),
        "hunter2",
    ),
    "token": "t" * 24,
    "key": MIXED,
    "signature": HEX[:40],
}
SHAPED = [  # a value that its shape gives away, whatever it is called
    *("sk-" + MIXED, "sk-proj-" + MIXED, "sk-ant-api03-" + MIXED, "hf_" + MIXED[:34], "nvapi-" + MIXED, "gsk_" + MIXED),
    *("r8_" + MIXED[:37], "pplx-" + MIXED, "tvly-" + MIXED, "xai-" + MIXED, "AIza" + MIXED[:35], "ya29." + MIXED),
    *("ghp_" + MIXED[:36], "gho_" + MIXED[:36], "ghs_" + MIXED[:36], "github_pat_" + MIXED, "glpat-" + MIXED[:20]),
    *("npm_" + MIXED[:36], "dckr_pat_" + MIXED[:27], "pypi-" + MIXED, "AKIA" + "D2" * 8, "ASIA" + "E3" * 8),
    *("xoxb-1234567890-" + MIXED[:12], "xapp-1-" + MIXED, "SG." + MIXED[:22] + "." + MIXED, "sk_live_" + MIXED[:24]),
    *("rk_live_" + MIXED[:24], "whsec_" + MIXED[:32], "key-" + HEX[:32], "AC" + HEX[:32], "hvs." + MIXED[:24]),
    *("dapi" + HEX[:32], "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM", "123456789:AA" + MIXED[:33], "lin_api_" + MIXED),
    *("tgp_v1_" + MIXED, "wandb_v1_" + MIXED),
    *("glsa_" + MIXED, "AGE-SECRET-KEY-1" + "Q" * 58, "shpat_" + HEX[:32], "lsv2_pt_" + MIXED),
    "-----BEGIN RSA PRIVATE KEY-----\n" + MIXED + "\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + MIXED,
]
INSIDE = [  # a text around a secret; what must not be left of it
    ("https://user:hunter2@host/x", "hunter2"),
    ("redis://:hunter2@cache:6379/0", "hunter2"),
    ("postgresql://ada:hunter2@db/app?sslmode=require", "hunter2"),
    ("https://x-access-token@github.com/a/b", "x-access-token"),
    ("https://api.host/v1?api_key=hunter2&q=1", "hunter2"),
    ("https://host/file?sig=" + MIXED, MIXED),
    ("https://bucket/x?X-Amz-Signature=" + HEX, HEX),
    ("https://hooks.slack.com/services/T000/B000/" + MIXED[:24], MIXED[:24]),
    ("https://discord.com/api/webhooks/123456789012345678/" + MIXED, MIXED),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + MIXED + "==", MIXED),
    ("Authorization: Bearer " + MIXED, MIXED),
    ("Authorization: Basic YWRhOmh1bnRlcjI=", "YWRhOmh1bnRlcjI="),
    ("X-Api-Key: hunter2", "hunter2"),
    ("curl -H 'Authorization: Bearer " + MIXED + "' host", MIXED),
    ('{"model": "m", "api_key": "hunter2"}', "hunter2"),
    ('{"env_vars": {"HF_TOKEN": "hunter2"}, "pip": ["x"]}', "hunter2"),
    ("env:\n  password: hunter2\n  lr: 1e-6", "hunter2"),
    ("connect(host='db', password='hunter2')", "hunter2"),
    ("ValueError: bad login for user=ada password=hunter2", "hunter2"),
    ("export WANDB_API_KEY=hunter2", "hunter2"),
    ("train.py --hf_token=hunter2 --lr=1", "hunter2"),
    ("argv: ['train.py', '--api-key', 'hunter2']", "hunter2"),
    ("headers: [('api_key', 'hunter2'), ('a', 'b')]", "hunter2"),
    ('said {\\"password\\": \\"hunter2\\"}', "hunter2"),
    ("<config><password>hunter2</password></config>", "hunter2"),
    ("curl -u ada:hunter2 https://host", "hunter2"),
    ("sshpass -p hunter2 ssh host", "hunter2"),
    ("PGPASSWORD=hunter2 psql -h db", "hunter2"),
    ("//registry.npmjs.org/:_authToken=hunter2", "hunter2"),
    ("machine host login ada password hunter2", "hunter2"),
    ("env:\n- name: HF_TOKEN\n  value: hunter2\n- name: LR\n  value: 1", "hunter2"),
    ('env: [{"name": "DB_PASSWORD", "value": "hunter2"}]', "hunter2"),
    ("    api_key: str = 'hunter2'", "hunter2"),
    ("    token: str | None = '" + MIXED + "'", MIXED),
    ("key=SecretStr('hunter2')", "hunter2"),
    ("smtp: --host a --pass hunter2", "hunter2"),
    ("aws configure set aws_secret_access_key " + MIXED, MIXED),
    ("https://api.telegram.org/bot123456789:" + MIXED[:35] + "/sendMessage", MIXED[:35]),
    ("https://x.webhook.office.com/webhookb2/" + MIXED + "/IncomingWebhook/y", MIXED),
    ("token => " + MIXED, MIXED),
    ('  File "x.py", line 3\n    client = Client(api_key="hunter2")', "hunter2"),
]
HARMLESS: list[tuple[str, Any]] = [
    *[
        (name, 8)
        for name in ("num_key_value_heads", "max_tokens", "token_count", "pad_token_id", "n_tokens", "key_dim")
    ],
    *[("secret_sauce_enabled", True), ("auth_enabled", False), ("use_auth", True), ("tokens_per_second", 12.5)],
    *[("pad_token", "<|endoftext|>"), ("eos_token", "</s>"), ("unk_token", "[UNK]"), ("image_token", "<image>")],
    *[("stop_token", "\n\nQuestion"), ("bos_token", None), ("mask_token", "[MASK]"), ("think_token", "<think>")],
    *[("tokenizer", "Qwen/Qwen3-8B-tokenizer"), ("tokenizer_class", "PreTrainedTokenizerFast"), ("key", "loss")],
    *[
        ("sort_key", "created_at_timestamp"),
        ("keys", ["a", "b"]),
        ("metric_key", "reward/generated/mean"),
        ("monkey", "x" * 30),
    ],
    *[("author", "Ada"), ("authors", "Ada, Bob"), ("model", "sk-learn"), ("package", "scikit-learn"), ("name", "sk-1")],
    *[("commit", "3f6f7b6a1e0c9d8b7a6f5e4d3c2b1a0987654321"), ("sha256", HEX), ("revision", HEX[:40]), ("hash", HEX)],
    *[("run_id", "grpo-1115-1752-bh9a"), ("uuid", "a2b97161-bb08-4388-8b45-d2abe4bfdb93"), ("id", "0123456789abcdef")],
    *[("path", "/data/keys/train.jsonl"), ("file", "s3://bucket/tokens/part-0001.parquet"), ("cache_key", "kv")],
    *[
        ("url", "https://host/path?page=2&sort=key"),
        ("repo", "git@github.com:org/repo.git"),
        ("remote", "https://github.com/org/repo"),
    ],
    *[
        ("note", "lowered lr to 1e-6"),
        ("note", "the password prompt of the environment is slow"),
        ("note", "key: value pairs"),
    ],
    *[
        ("text", "Bearer of good news"),
        ("text", "basic arithmetic"),
        ("text", "Skill sk- is short"),
        ("command", "python train.py"),
    ],
    *[
        ("lr", 1e-6),
        ("lr_schedule", "cosine"),
        ("dataset", "openai/gsm8k"),
        ("dtype", "bfloat16"),
        ("device", "cuda:0"),
    ],
    *[
        ("hf_repo", "hf_transfer"),
        ("optimizer", "adamw_torch"),
        ("reward_fn", "rewards.accuracy:score"),
        ("prompt", "2+2="),
    ],
    *[("time", "12:30:45"), ("ratio", "a:b"), ("ports", "8080:80"), ("mount", "/a:/b:ro"), ("image", "repo/name:tag")],
    *[("passes", "3 of 4"), ("pass_rate", "0.5"), ("first_pass", "done"), ("bypass", "no"), ("compass", "north")],
    *[
        ("secret_name", "k8s-name"),
        ("secrets_manager", "vault"),
        ("auth_type", "oidc"),
        ("num_secrets", 4),
        ("pattern", "sig"),
    ],
]


@pytest.mark.parametrize("name", NAMED)
def test_a_secret_is_hidden_by_its_name(name: str) -> None:
    assert hide({name: NAMED[name]}) == {name: HIDDEN}


@pytest.mark.parametrize("secret", SHAPED, ids=[text[:14] for text in SHAPED])
def test_a_secret_is_hidden_by_its_shape_anywhere_in_a_text(secret: str) -> None:
    got = hide({"note": [f"use {secret} please"]})["note"][0]
    assert HIDDEN in got and MIXED[:16] not in got and HEX[:16] not in got and secret not in got


@pytest.mark.parametrize(("text", "secret"), INSIDE, ids=[text[:30] for text, _ in INSIDE])
def test_a_secret_inside_a_text_is_hidden_and_the_rest_stays(text: str, secret: str) -> None:
    got = hide({"text": text})["text"]
    assert secret not in got and HIDDEN in got and got[:3] == text[:3]


def test_the_tables_are_as_long_as_they_claim() -> None:
    assert len(NAMED) + len(SHAPED) + len(INSIDE) >= 100 and len(HARMLESS) >= 60


@pytest.mark.parametrize(("name", "value"), HARMLESS, ids=[f"{name}={value}"[:40] for name, value in HARMLESS])
def test_what_only_sounds_like_a_secret_stays(name: str, value: Any) -> None:
    assert hide({name: value}) == {name: value}


@pytest.mark.parametrize(
    "text",
    [
        "docker run -u 1000:1000 image",
        "python -u train.py --tokens 512 --max-tokens=512",
        'columns: ["api_key", "username"]',
        "<token>hello</token> <key>a</key> <think>so</think>",
        "keys('a', 'b') and ('lr', '1e-6')",
    ],
)
def test_a_text_that_only_looks_like_a_setting_stays(text: str) -> None:
    assert hide(text) == text


def test_everything_below_a_telling_name_is_hidden() -> None:
    given = {"credentials": {"user": "ada", "nested": {"anything": "hunter2"}, "list": ["hunter2"]}, "lr": 1}
    assert "hunter2" not in json.dumps(hide(given)) and "ada" not in json.dumps(hide(given)) and hide(given)["lr"] == 1


def test_a_name_beside_its_value_tells_that_it_is_a_secret() -> None:
    """The environment of a pod, and headers as pairs."""
    given = {
        "env": [{"name": "HF_TOKEN", "value": "hunter2"}, {"name": "LR", "value": "0.1"}],
        "headers": [("X-Api-Key", "hunter2"), ["Accept", "text/plain"]],
        "option": {"key": "db_password", "value": "hunter2"},
    }
    assert hide(given) == {
        "env": [{"name": "HF_TOKEN", "value": HIDDEN}, {"name": "LR", "value": "0.1"}],
        "headers": [["X-Api-Key", HIDDEN], ["Accept", "text/plain"]],
        "option": {"key": "db_password", "value": HIDDEN},
    }
    assert hide({"tools": ["auth", "search"], "pass": "first", "key": "reward", "value": 2})["tools"] == [
        "auth",
        "search",
    ]


def test_secrets_are_hidden_inside_objects() -> None:
    @dataclasses.dataclass
    class Tracker:
        api_key: str
        project: str

    given = {
        "tracker": Tracker("abc", "p"),
        "args": argparse.Namespace(password="x", lr=0.1),
        "other": Exception("sk-" + "a" * 30),
    }
    assert hide(plain(given)) == {
        "tracker": {"api_key": HIDDEN, "project": "p"},
        "args": {"password": HIDDEN, "lr": 0.1},
        "other": HIDDEN,
    }


def test_a_configuration_that_cannot_be_read_or_ends_in_itself_is_cut_off() -> None:
    class Broken:
        def to_dict(self) -> dict[str, Any]:
            raise RuntimeError("no")

    cyclic: dict[str, Any] = {"lr": 1}
    cyclic["self"] = cyclic
    assert plain({"a": Broken()})["a"]["unreadable"].startswith("Broken could not be read")
    assert json.dumps(hide(plain(cyclic)))


def test_secrets_are_hidden_in_command_lines() -> None:
    secret = ["--api-key", "abc", "--lr=0.1", "--password=x y", "HF_TOKEN=" + "z" * 20]
    hidden = ["--api-key", HIDDEN, "--lr=0.1", f"--password={HIDDEN}", f"HF_TOKEN={HIDDEN}"]
    rest = ["--max-tokens", "512", "--name", "run"]
    assert hide_arguments(["train.py", *secret, *rest]) == ["train.py", *hidden, *rest]


SIZE = 1 << 18  # characters
HOSTILE = {  # a piece of text that is repeated
    "one word": "a",
    "names without values": "key=",
    "names within names": "password: password: ",
    "addresses with names": "https://a/?key=",
    "addresses without an at": "://a:",
    "addresses within addresses": "mongodb+srv://a:",
    "queries": "?sig=",
    "paths with names": "key=a/",
    "schemes": "key=Bearer ",
    "quotes within quotes": "'key'='\"",
    "options": "--api-key ",
    "space": "key        ",
    "lines": "token:\n",
    "blocks that never end": "-----BEGIN PRIVATE KEY-----",
    "dots": "eyJa.",
    "beginnings of keys": "sk-",
    "brackets": "[",
    "objects": '{"key":',
    "escapes": '\\\\\\"',
    "base64": "TWFueSBoYW5kcyBtYWtl",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_linear_time(piece: str) -> None:
    """Eight times the text may take sixteen times as long, and not much longer than plain words."""
    part, whole, words = (_seconds(text) for text in _texts(piece))
    assert whole < 16 * max(part, 0.005)
    assert whole < 40 * max(words, 0.01)


def _texts(piece: str) -> tuple[str, str, str]:
    whole = (piece * (SIZE // len(piece) + 1))[:SIZE]
    return whole[: SIZE // 8], whole, ("plain words of a person " * SIZE)[:SIZE]


def _seconds(text: str) -> float:
    """The shortest of two tries, in processor time."""
    tries = []
    for _ in range(2):
        began = time.process_time()
        hide(text)
        tries.append(time.process_time() - began)
    return min(tries)


def test_a_text_of_any_size_is_searched_up_to_a_bound_and_cut_there() -> None:
    text = "TWFueSBoYW5kcyBtYWtl" * 500_000 + " password=late"
    hidden = hide(text)
    assert len(hidden) <= LONGEST + len(HIDDEN) and "late" not in hidden


@pytest.mark.parametrize("depth", [3, 12, 1000])
def test_json_inside_json_is_searched(depth: int) -> None:
    """Each level doubles the escapes, so that the deepest that fits is some twenty levels down."""
    text = '{"password": "planted"}'
    for _ in range(depth):
        if len(text) > 1 << 19:
            break
        text = json.dumps({"inside": text})
    assert "planted" not in hide(text)
    nested = "[" * depth + '{"password": "planted"}' + "]" * depth
    assert "planted" not in hide(nested)


@pytest.mark.parametrize("signs", [1, 2, 50, 5000])
def test_the_last_value_of_a_chain_of_names_is_hidden(signs: int) -> None:
    assert "planted" not in hide("run with " + "key=" * signs + "planted1234567890")
    assert "planted" not in hide("a=" * signs + "password=planted")
    assert "planted" not in hide("password=" + "x" * 10_000 * (signs < 100) + "planted"), "however long a value is"


LEAKY = """
import sys
import rollscope as rs
run = rs.init(name="x", id="x", dir=sys.argv[1], host=False, tags=["token=" + "LEAK01" * 4],
              config={{"nested": [{{"wandb": {{"api_key": "LEAK02"}}}}], "url": "redis://:LEAK03@h",
                      "json": '{{"password": "LEAK04"}}'}})
run.describe(config={{"hf_token": "LEAK05", "credentials": {{"user": "LEAK06"}}}}, group="sk-" + "LEAK07" * 4)
run.declare(env="e", password="LEAK08")
run.note("login with password=LEAK09", data_key="x", api_key="LEAK10")
run.log_span("s", 1, 2, secret="LEAK11", url="https://a:LEAK12@h")
run.log({{"a": 1.0}}, step=0)
run.flush(60)
raise ValueError("cannot connect with password='LEAK13' to https://u:LEAK14@host")
"""


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    """Configuration, facts, notes, spans, environment, command line, and the traceback of a
    crash.
    """
    env = {
        "PATH": "/usr/bin:/bin",
        "OPENAI_API_KEY": "LEAK15",
        "RAY_AUTH_TOKEN": "LEAK16" * 8,
        "RAY_RUNTIME_ENV": '{"env_vars": {"HF_TOKEN": "LEAK17"}}',
        "CUDA_VISIBLE_DEVICES": "3",
        "HOME": str(tmp_path),
    }
    command = [
        sys.executable,
        "-c",
        LEAKY.format(),
        str(tmp_path / "runs"),
        "--token",
        "LEAK18" * 8,
        "--password=LEAK19",
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "ValueError" in done.stderr
    raw = written(tmp_path / "runs")
    assert sorted(set(re.findall(rb"LEAK\d\d", raw))) == []
    assert b"CUDA_VISIBLE_DEVICES" in raw and b"[hidden]" in raw and b"ValueError" in raw


def test_no_secret_of_a_recorded_program_reaches_the_disk(tmp_path: Path) -> None:
    """`rollscope run` keeps the program's configuration, its command line and what it printed at
    the end.
    """
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, wandb\n"
        "run = wandb.init(mode='offline', config={'db_pass': 'LEAK01', 'auth': {'x': 'LEAK02'}})\n"
        "run.log({'loss': 1.0})\n"
        "print('password=LEAK03', flush=True)\n"
        "run.finish()\n"
    )
    command = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), "--", sys.executable]
    subprocess.run([*command, str(program), "--api-key", "LEAK04"], capture_output=True, check=True, cwd=tmp_path)
    raw = written(tmp_path / "runs")
    assert sorted(set(re.findall(rb"LEAK\d\d", raw))) == [] and b"loss" in raw


def test_no_secret_of_an_imported_file_reaches_the_disk(tmp_path: Path) -> None:
    """A TensorBoard or W&B run brings its configuration with it; here the facts of our own
    JSONL.
    """
    config = {"api_key": "LEAK01", "lr": 1e-6, "url": "https://u:LEAK02@h"}
    line = {"table": "runs", "step": None, "time_ns": 1, "data": {"config": config}}
    number = {"table": "metrics", "step": 1, "time_ns": 2, "data": {"loss": 0.5}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(number) + "\n")
    command = [
        sys.executable,
        "-m",
        "rollscope",
        "import",
        "--dir",
        str(tmp_path / "runs"),
        str(tmp_path / "rows.jsonl"),
    ]
    subprocess.run(command, capture_output=True, check=True)
    assert b"LEAK" not in written(tmp_path / "runs") and b"loss" in written(tmp_path / "runs")


def test_no_secret_of_what_telemetry_says_about_its_sender_reaches_the_disk(tmp_path: Path) -> None:
    """Facts of a run that a source found, rather than rows: attributes of a resource and a span."""

    def attributes(**values: str) -> list[dict[str, Any]]:
        return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]

    sender = attributes(
        service__name="trainer",
        openai__api_key="LEAK01",
        process__command_args="--hf-token hf_LEAK02AbCdEfGhIjKlMnOpQrStUvWxYz12",
        db__url="postgres://user:LEAK03@host/db",
        rl__judge__password="LEAK04",
    )
    span = {
        "traceId": "1" * 32,
        "spanId": "2" * 16,
        "name": "generate",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": attributes(http__request__header__authorization="Bearer LEAK05" + "a1" * 12, api_key="LEAK06"),
    }
    batch = {"resourceSpans": [{"resource": {"attributes": sender}, "scopeSpans": [{"spans": [span]}]}]}
    (tmp_path / "traces.jsonl").write_text(json.dumps(batch) + "\n")
    command = [sys.executable, "-m", "rollscope", "import", "--dir", str(tmp_path / "runs")]
    subprocess.run([*command, str(tmp_path / "traces.jsonl")], capture_output=True, check=True)
    raw = written(tmp_path / "runs")
    assert sorted(set(re.findall(rb"LEAK\d\d", raw))) == []
    assert b"generate" in raw and b"trainer" in raw and b"[hidden]" in raw


@pytest.mark.parametrize(
    ("mask", "file", "folder"), [(0o002, 0o664, 0o775), (0o022, 0o644, 0o755), (0o077, 0o600, 0o700)]
)
def test_a_run_folder_follows_the_umask(tmp_path: Path, mask: int, file: int, folder: int) -> None:
    """So colleagues on a shared disk can read it, or nobody can, as the umask says."""
    code = (
        "import sys, os; os.umask(int(sys.argv[2])); import rollscope as rs\n"
        "r = rs.init(id='r', dir=sys.argv[1], host=False); r.log({'a': 1.0}, step=1); r.finish()"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(mask)], check=True, env=os.environ | {"ROLLSCOPE_SEAL": "0"}
    )
    run = tmp_path / "r"
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in run.iterdir()
        if path.suffix == ".log" or path.name == "run.json"
    }
    assert set(modes.values()) == {file} and len(modes) == 2 and run.stat().st_mode & 0o777 == folder


def test_the_environment_holds_python_packages_machine_command_and_commit() -> None:
    got = environment()
    assert got["python"] == sys.version.split()[0] and got["packages"]["numpy"]
    assert got["host"]["cpus"] and got["command"]
    assert got["git"] is None or re.fullmatch("[0-9a-f]{40}", got["git"]["commit"])
