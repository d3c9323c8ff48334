"""What a run is called if nobody names it: the script or module that is trained with.

Shells and launchers stand in front of it: `bash -c "torchrun train.py"` is `train`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

SCRIPTS = (".py", ".sh", ".bash")
SHELLS = {"bash", "sh", "dash", "zsh", "ksh"}
LAUNCHERS = {  # programs that start another one -> their own words before it
    **dict.fromkeys(("env", "nice", "nohup", "time", "timeout", "exec", "sudo", "stdbuf"), ""),
    **dict.fromkeys(("torchrun", "deepspeed", "srun", "mpirun", "mpiexec", "xvfb-run", "numactl"), ""),
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "hatch", "conda", "mamba", "micromamba", "pixi"), "run"),
    "accelerate": "launch",
}
MODULES = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "deepspeed"}  # the same
PREPARES = {"cd", "source", ".", "export", "set", "unset", "ulimit", "module", "mkdir", "echo", "sleep", "wait", "trap"}
OPERATORS = set(";&|()<>")
SCRIPT_OPTION = re.compile(r"-[a-z]*c")  # `bash -c`, `bash -lc`: the next word is a script
NO_NAME = re.compile(r"-.*|\w+=.*|[\d.]+[smhd]?|[{}]|")  # an option, a variable, a number


def program_name(command: Sequence[str]) -> str:
    """`train` for `python -m pkg.train`, `torchrun train.py` and `bash -c "python train.py"`."""
    parts = list(_commands(command))
    trained = [name for words in parts if (name := _trained(words))]
    return next(iter(trained or [name for words in parts for name in _named(words)]), Path(command[0]).name)


def _commands(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """A command; of a shell's `-c` the commands of its script that do more than prepare."""
    for i, word in enumerate(words):
        if Path(word).name in SHELLS:
            options = [at for at in range(i + 1, len(words) - 1) if SCRIPT_OPTION.fullmatch(words[at])]
            if options and all(before.startswith("-") for before in words[i + 1 : options[0]]):
                yield from _of_script(words[options[0] + 1])
                return
            break
    yield words


def _of_script(text: str) -> Iterator[Sequence[str]]:
    part: list[str] = []
    for word in [*_words(text), ";"]:
        if word and set(word) <= OPERATORS:
            if part and part[0] not in PREPARES:
                yield from _commands(part)
            part = []
        else:
            part.append(word)


def _words(text: str) -> list[str]:
    """The words of a shell's script, with its operators as words of their own."""
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote that does not end
        return re.sub("['\"]", "", text).split()


def _trained(words: Sequence[str]) -> str | None:
    """The first script or module among the words.

    Behind an option of a program that is no launcher, a script is what the option names.
    """
    starts = next((i for i, word in enumerate(words) if _starts_scripts(word)), len(words))
    for i, (word, after) in enumerate(zip(words, [*words[1:], ""], strict=True)):
        if word in ("-m", "--module") and after and after not in MODULES:
            return after.removesuffix(".__main__").rpartition(".")[2]
        is_named = i and i < starts and words[i - 1].startswith("-") and words[i - 1] != "--"
        if word.endswith(SCRIPTS) and not NO_NAME.fullmatch(word) and not is_named:
            return Path(word).stem
    return None


def _starts_scripts(word: str) -> bool:
    name = Path(word).name
    return name.startswith("python") or name in LAUNCHERS or name in SHELLS


def _named(words: Sequence[str]) -> Iterator[str]:
    """The program that launchers start."""
    own = ""
    for word in words:
        name = Path(word).name
        if name in LAUNCHERS or name in SHELLS:
            own = LAUNCHERS.get(name, "")
        elif word != own and not NO_NAME.fullmatch(word):
            yield name
            return
