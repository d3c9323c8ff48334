"""The recorders that are compared, each with the same two methods, `log` and `finish`.

`log` is the recorder's own where that takes a dict and a step. A library is imported when its
recorder is opened.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from typing import Any

PACKAGES = {
    "wandb": "wandb",
    "trackio": "trackio",
    "tensorboard": "tensorboard",
    "swanlab": "swanlab",
    "mlflow": "mlflow-skinny sqlalchemy alembic",
}


class Rollscope:
    def __init__(self, folder: str) -> None:
        import rollscope as rs

        self.run = rs.init(project="bench", name="bench", dir=folder, host=False)
        self.log = self.run.log

    def finish(self) -> None:
        self.run.finish()


class Wandb:
    def __init__(self, folder: str) -> None:
        import wandb

        settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
        self.run = wandb.init(project="bench", mode="offline", dir=folder, settings=settings)
        self.log = self.run.log

    def finish(self) -> None:
        self.run.finish()


class Trackio:
    def __init__(self, folder: str) -> None:
        os.environ["TRACKIO_DIR"] = folder
        import trackio

        self.run = trackio.init(project="bench", embed=False)
        self.close = trackio.finish
        self.log = self.run.log

    def finish(self) -> None:
        self.close()


class TensorBoard:
    def __init__(self, folder: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(folder)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)

    def finish(self) -> None:
        self.writer.close()


class SwanLab:
    def __init__(self, folder: str) -> None:
        import swanlab

        self.module = swanlab
        swanlab.init(project="bench", mode="offline", logdir=folder)
        self.log = swanlab.log

    def finish(self) -> None:
        self.module.finish()


class Mlflow:
    def __init__(self, folder: str) -> None:
        import mlflow

        self.module = mlflow
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.start_run()
        self.log = mlflow.log_metrics

    def finish(self) -> None:
        self.module.end_run()


class Bare:
    """No recorder: only a copy of the dict, or a read of its tensors."""

    def __init__(self, folder: str) -> None:
        self.copies: deque[Any] = deque(maxlen=64)

    def log(self, metrics: dict[str, Any], step: int) -> None:
        are_floats = type(metrics[next(iter(metrics))]) is float
        self.copies.append(metrics.copy() if are_floats else [value.item() for value in metrics.values()])

    def log_samples(self, samples: list[dict[str, Any]], step: int) -> None:
        self.copies.clear()
        self.copies.append([*map(dict.copy, samples)])

    def finish(self) -> None:
        self.copies.clear()


PEERS: dict[str, Any] = {
    "rollscope": Rollscope,
    "bare": Bare,
    "wandb": Wandb,
    "trackio": Trackio,
    "tensorboard": TensorBoard,
    "swanlab": SwanLab,
    "mlflow": Mlflow,
}
