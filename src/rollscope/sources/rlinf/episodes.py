"""Episodes of RLinf's environment workers, as samples.

A worker steps through its environments in stages, each with several environments side by side. An
episode is recorded when RLinf counts it, with what the environment says about it. The video that
RLinf saves shows all environments of a stage, so it belongs to each of their episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.media import keep
from rollscope.sources.live.quiet import print_once
from rollscope.sources.live.values import scalar
from rollscope.sources.live.wrap import after, before

from .videos import Video, latest, wrapped

PATIENCE = 1.0  # seconds that a round waits for the disk
Row = dict[str, Any]


class Episodes:
    """Listens to an environment worker."""

    def __init__(self, recorder: Any) -> None:
        self._recorder, self._worker = recorder, recorder.worker
        self._mode = "train"
        self._now: tuple[int, Any, Mapping[str, Any]] | None = None  # stage, output and facts of the last step
        self._done_before: Any = None  # of an evaluation's stage
        self._count: dict[tuple[str, int], int] = {}  # episodes by split and step
        self._filmed: dict[tuple[str, int], list[tuple[str, int]]] = {}  # ids and steps that wait for their video
        self._videos: dict[tuple[str, int], int] = {}  # videos that were saved by then
        self._epochs = 0

    def listen(self) -> None:
        after(self._worker, "env_interact_step", self._stepped)
        after(self._worker, "record_env_metrics", self._counted)
        before(self._worker, "env_evaluate_step", self._evaluating)
        after(self._worker, "env_evaluate_step", self._evaluated)
        before(self._worker, "finish_rollout", self._ending)
        after(self._worker, "finish_rollout", self._ended)

    def _stepped(self, result: Any, actions: Any, stage: int) -> None:
        self._now = (stage, *result)

    def _counted(self, _: Any, metrics: Any, facts: Mapping[str, Any]) -> None:
        if self._now is None or not facts:
            return
        stage, output, _ = self._now
        done = output.dones[:, -1].nonzero().flatten().tolist() if self._worker.cfg.env.train.auto_reset else None
        self._record("train", stage, facts, done, output.obs)

    def _evaluating(self, actions: Any, stage: int) -> None:
        known = getattr(self._worker, "eval_prev_done", None)
        self._done_before = None if known is None else known[stage].clone()

    def _evaluated(self, result: Any, actions: Any, stage: int) -> None:
        output, facts = result
        if facts:
            now = self._worker.eval_prev_done[stage]
            done = None if self._worker.cfg.env.eval.auto_reset else (now & ~self._done_before).nonzero().flatten()
            self._record("eval", stage, facts, None if done is None else done.tolist(), output.obs)

    def _record(self, split: str, stage: int, facts: Mapping[str, Any], envs: list[int] | None, obs: Any) -> None:
        """Record a row for each entry of `facts`; `envs` says whose they are, if that is known."""
        run, step = self._recorder.run, self._step(split, stage)
        if run is None:
            return
        values = {name: [scalar(one) for one in column] for name, column in facts.items()}
        many = min(map(len, values.values()))
        if envs is None and many == self._envs(split):
            envs = list(range(many))
        rows = [
            {**self._about(split, stage, step, envs[i] if envs else None, obs), **outcome(values, i)}
            for i in range(many)
        ]
        for row in rows:
            self._filmed.setdefault((split, stage), []).append((row["id"], step))
        run.log_samples(rows, step=step)

    def _about(self, split: str, stage: int, step: int, env: int | None, obs: Any) -> Row:
        place, cfg = f"{self._recorder.rank}.{stage}", self._worker.cfg
        number = self._count[split, step] = self._count.get((split, step), -1) + 1
        stages = self._worker.env_list if split == "train" else self._worker.eval_env_list
        about: Row = {
            "id": f"{split}/{step}/{place}/{number}",
            "split": split,
            "env": str(cfg.env[split].get("env_type", "")) or None,
            "tags": {"worker": place, "seed": str(attribute(stages[stage], "seed"))},
        }
        if env is not None:
            words = described(stages[stage], obs, env)
            about |= {"prompt": words, "task": words, "extra": {"environment": env}}
            about |= self._group(split, stage, step, env)
        return {name: value for name, value in about.items() if value is not None}

    def _group(self, split: str, stage: int, step: int, env: int) -> Row:
        """Neighbours start in the same state; the group of an advantage is made of them."""
        size = int(self._worker.cfg.env[split].get("group_size", 1))
        if split != "train" or size < 2 or self._worker.cfg.env.train.auto_reset:
            return self._versions(split, stage, env)
        name = f"{split}/{step}/{self._recorder.rank}.{stage}.{self._epochs}/{env // size}"
        return {"group": name, "repeat": env % size, **self._versions(split, stage, env)}

    def _versions(self, split: str, stage: int, env: int) -> Row:
        """The weights that chose the actions of this round, if RLinf says so."""
        numbers = [int(chunk[env].max()) for chunk in self._chunks(split, stage)]
        return {"policy_version_min": min(numbers), "policy_version_max": max(numbers)} if numbers else {}

    def _chunks(self, split: str, stage: int) -> list[Any]:
        """The versions of the weights for each chunk of actions of this round."""
        kept = getattr(self._worker, "rollout_results", None) if split == "train" else None
        return list(kept[stage].versions[-int(self._worker.n_train_chunk_steps) :]) if kept else []

    def _envs(self, split: str) -> int:
        worker = self._worker
        return int(worker.train_num_envs_per_stage if split == "train" else worker.eval_num_envs_per_stage)

    def _step(self, split: str, stage: int) -> int:
        """RLinf evaluates after a step and logs that with the step.

        If environments run on while others train, rounds are no steps: then it is the version of
        the weights.
        """
        rounds, versions = self._recorder.rounds, self._chunks(split, stage)
        if versions and hasattr(self._worker, "_interact_task"):
            return int(versions[-1].max())
        return int(self._recorder.first + (rounds if split == "train" else max(rounds - 1, 0)))

    def _ending(self, mode: str = "train") -> None:
        self._mode = mode

    def _ended(self, _: Any, *args: Any) -> None:
        """An epoch is over, and its videos are saved."""
        stages = self._worker.env_list if self._mode == "train" else self._worker.eval_env_list
        for stage, env in enumerate(stages):
            waiting, video = self._filmed.pop((self._mode, stage), []), latest(env)
            if video is not None and waiting and self._videos.get((self._mode, stage)) != video.number:
                self._videos[self._mode, stage] = video.number
                self._keep(video, stage, waiting)
        self._epochs += 1
        if self._recorder.run is not None:  # Ray may kill this worker as soon as the round is over
            self._recorder.run.flush(PATIENCE)

    def _keep(self, video: Video, stage: int, episodes: list[tuple[str, int]]) -> None:
        """Copy the video, which RLinf may write over later, and show it with its episodes."""
        run, step = self._recorder.run, episodes[-1][1]
        name = f"{self._mode}_{step}_{self._recorder.rank}.{stage}_{self._epochs}{video.path.suffix}"
        if (why := keep(video.path, run.folder / "media", name)) is not None:
            print_once(f"rollscope: the video '{video.path}' is not kept: {why}")
            return
        for id, at in episodes:
            run.log_samples([{"id": id, "media": [{"kind": "video", "path": f"media/{name}"}]}], step=at)


def outcome(values: Mapping[str, list[Any]], i: int) -> Row:
    """What an environment says about an episode; its return is the reward."""
    known = {name: float(column[i]) for name, column in values.items()}
    row: Row = {"sample_metrics": known}
    return {**row, "reward": known["return"], "score": known["return"]} if "return" in known else row


def attribute(env: Any, name: str) -> Any:
    """An attribute of the first that has it, from the outside in."""
    return next((vars(one)[name] for one in wrapped(env) if name in vars(one)), None)


def described(env: Any, obs: Any, number: int) -> str | None:
    """What an environment was told to do."""
    told = obs.get("task_descriptions") if isinstance(obs, Mapping) else None
    words = told if told is not None else attribute(env, "task_descriptions")
    return str(words[number]) if isinstance(words, list | tuple) and len(words) > number else None
