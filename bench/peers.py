"""The recorders that are measured side by side, each behind the same three verbs. Libraries are imported when one is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

PACKAGES = {"wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboard", "swanlab": "swanlab", "mlflow": "mlflow-skinny sqlalchemy alembic"}


class Rollscope:
    def __init__(self, folder: str) -> None:
        import rollscope as rs

        self.run = rs.init(project="bench", name="bench", dir=folder, host=False)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.run.log(metrics, step=step)

    def finish(self) -> None:
        self.run.finish()


class Wandb:
    def __init__(self, folder: str) -> None:
        import wandb

        self.run = wandb.init(project="bench", mode="offline", dir=folder, settings=wandb.Settings(silent=True, console="off", x_disable_stats=True))

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.run.log(dict(metrics), step=step)

    def finish(self) -> None:
        self.run.finish()


class Trackio:
    def __init__(self, folder: str) -> None:
        os.environ["TRACKIO_DIR"] = folder
        import trackio

        self.run = trackio.init(project="bench", embed=False)
        self.close = trackio.finish

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.run.log(dict(metrics), step=step)

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

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.module.log(dict(metrics), step=step)

    def finish(self) -> None:
        self.module.finish()


class Mlflow:
    def __init__(self, folder: str) -> None:
        import mlflow

        self.module = mlflow
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.start_run()

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.module.log_metrics(dict(metrics), step=step)

    def finish(self) -> None:
        self.module.end_run()


PEERS: dict[str, Any] = {"rollscope": Rollscope, "wandb": Wandb, "trackio": Trackio, "tensorboard": TensorBoard, "swanlab": SwanLab, "mlflow": Mlflow}
