"""Pictures, videos, sound and pages: kept as files below the run's folder.

An object holds what the program gave until it is logged; `save` writes it. Files are copied, arrays
and figures are written by the libraries that made them.
"""

from __future__ import annotations

import shutil
import wave
from pathlib import Path
from typing import Any, ClassVar

import numpy as np


class Media:
    """One object of a tracker, with the words for it."""

    kind: ClassVar[str] = "file"
    suffix: ClassVar[str] = ".bin"

    def __init__(self, data_or_path: Any = None, *args: Any, caption: str | None = None, **options: Any) -> None:
        """Trackers differ in the order of what follows: a text is the caption, a number a rate."""
        words = [word for word in args if isinstance(word, str)]
        self.data, self.options = data_or_path, options
        self.caption = caption if caption is not None else (words[-1] if words else None)
        self.rate = next((int(word) for word in args if isinstance(word, int)), None)

    def save(self, stem: Path) -> Path:
        """Write the object beside `stem`, with a suffix that says what it is."""
        if isinstance(self.data, str | Path) and Path(self.data).is_file():
            given = Path(self.data)
            target = stem.with_name(stem.name + (given.suffix.lower() or self.suffix))
            shutil.copyfile(given, target)
            return target
        return self.write(stem)

    def write(self, stem: Path) -> Path:
        raise ValueError(f"a {type(self.data).__name__} cannot be kept as {self.kind}")


class Image(Media):
    """A picture: a file, a PIL image, a figure of matplotlib, or an array of pixels."""

    kind, suffix = "image", ".png"

    def write(self, stem: Path) -> Path:
        target = stem.with_name(stem.name + ".png")
        figure = self.data if hasattr(self.data, "savefig") else getattr(self.data, "figure", None)
        if hasattr(figure, "savefig"):
            figure.savefig(target)  # type: ignore[union-attr]
        elif hasattr(self.data, "save"):
            self.data.save(target, "PNG")
        else:
            _picture(pixels(self.data)).save(target, "PNG")
        return target


class Video(Media):
    """A video: a file, or an array of frames [time, channel, height, width], kept as GIF."""

    kind, suffix = "video", ".mp4"

    def write(self, stem: Path) -> Path:
        target = stem.with_name(stem.name + ".gif")
        shots = array(self.data)
        frames = [_picture(pixels(frame)) for frame in shots.reshape(-1, *shots.shape[-3:])]
        fps = self.options.get("fps") or self.rate or 4
        frames[0].save(target, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0)
        return target


class Audio(Media):
    """Sound: a file, or an array of samples, kept as 16-bit WAV."""

    kind, suffix = "audio", ".wav"

    def write(self, stem: Path) -> Path:
        samples = array(self.data)
        if samples.dtype.kind == "f":
            samples = np.round(np.clip(samples, -1, 1) * 32767)
        target = stem.with_name(stem.name + ".wav")
        with wave.open(str(target), "wb") as file:
            file.setnchannels(samples.shape[1] if samples.ndim == 2 else 1)
            file.setsampwidth(2)
            file.setframerate(int(self.options.get("sample_rate") or self.rate or 44_100))
            file.writeframes(samples.astype("<i2").tobytes())
        return target


class Text(Media):
    """A text, kept as a file: a page, a description, a figure as JSON."""

    kind, suffix = "text", ".txt"

    def write(self, stem: Path) -> Path:
        content = self.data
        if hasattr(content, "read"):
            content = content.read()
        elif hasattr(content, "to_json"):
            content = content.to_json()
        target = stem.with_name(stem.name + self.suffix)
        target.write_text(content.decode() if isinstance(content, bytes) else str(content), encoding="utf-8")
        return target


class Html(Text):
    kind, suffix = "html", ".html"


class Plotly(Text):
    kind, suffix = "plotly", ".plotly.json"


class Histogram:
    """Values, or `np_histogram=(counts, edges)`, recorded as a histogram of the run."""

    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64, **_: Any) -> None:
        self.sequence, self.np_histogram, self.num_bins = sequence, np_histogram, num_bins

    def values(self) -> np.ndarray[Any, Any]:
        """The values; those of a bin are taken at its middle."""
        if self.np_histogram is None:
            return array(self.sequence).astype(np.float64).ravel()
        counts, edges = (array(part).astype(np.float64) for part in self.np_histogram)
        return np.repeat((edges[1:] + edges[:-1]) / 2, counts.astype(np.int64))


def array(data: Any) -> np.ndarray[Any, Any]:
    """An array of what may be a tensor on a device."""
    for step in ("detach", "cpu"):
        data = getattr(data, step, lambda data=data: data)()
    found: np.ndarray[Any, Any] = np.asarray(data)
    return found


def pixels(data: Any) -> np.ndarray[Any, Any]:
    """Pixels [height, width, channels] of 0 to 255, of an array in any usual layout and range."""
    x = array(data)
    if x.ndim == 3 and x.shape[0] in (1, 3, 4) and x.shape[2] not in (1, 3, 4):
        x = x.transpose(1, 2, 0)  # torch keeps channels first
    if x.ndim == 3 and x.shape[2] == 1:
        x = x[:, :, 0]
    if x.dtype.kind == "f" and x.size and np.nanmax(x) <= 1:
        x = x * 255
    whole: np.ndarray[Any, Any] = np.clip(np.nan_to_num(x), 0, 255).astype(np.uint8)
    return whole


def _picture(x: np.ndarray[Any, Any]) -> Any:
    from PIL import Image as pillow  # missing: the caller says so

    return pillow.fromarray(x)
