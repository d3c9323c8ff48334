"""The configuration of a run: a mapping whose keys are also attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from rollscope.sources.live.quiet import print_once, quiet
from rollscope.sources.live.values import scalar

Changed = Callable[[dict[str, Any]], None]


class Config(MutableMapping[str, Any]):
    """Every change is passed to `changed`, with the whole configuration."""

    def __init__(self, changed: Changed = lambda _: None) -> None:
        object.__setattr__(self, "_items", {})
        object.__setattr__(self, "_changed", changed)

    def update(self, d: Any = None, allow_val_change: bool | None = None, **more: Any) -> None:  # type: ignore[override]
        """Take settings over. A value may change: W&B would raise without `allow_val_change`."""
        self._items.update(settings(d) | settings(more))
        self._changed(dict(self._items))

    def setdefaults(self, d: Any) -> None:
        self.update({key: value for key, value in settings(d).items() if key not in self._items})

    def as_dict(self) -> dict[str, Any]:
        return dict(self._items)

    def persist(self) -> None:
        self._changed(dict(self._items))

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        del self._items[key]
        self._changed(dict(self._items))

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError(f"the configuration has no {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return str(self._items)


def settings(config: Any) -> dict[str, Any]:
    """A configuration as a dict. It may be a mapping, a namespace, flags or a JSON or YAML file."""
    return _settings(config) or {}


@quiet
def _settings(config: Any) -> dict[str, Any]:
    if isinstance(config, str | Path):
        config = _of_file(Path(config))
    if hasattr(config, "flag_values_dict"):  # absl's flags
        config = config.flag_values_dict()
    if isinstance(config, Mapping) or hasattr(config, "keys"):
        found = {str(key): config[key] for key in list(config.keys())}
    else:
        found = {key: value for key, value in getattr(config, "__dict__", {}).items() if not key.startswith("_")}
    return {key.strip("-"): scalar(value) for key, value in found.items()}


def _of_file(path: Path) -> Any:
    import json

    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        print_once(f"rollscope: the configuration {path} needs PyYAML; install it, or give a dict")
        return {}
    return yaml.safe_load(text)
