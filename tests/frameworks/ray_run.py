"""Two Ray actors, each in its own process, log to wandb.

Runs under `rollscope run`, in an environment with Ray and without wandb.
"""

import ray


@ray.remote
class Worker:
    def __init__(self, rank: int) -> None:
        import wandb

        self.rank = rank
        self.run = wandb.init(project="p", name="actors", config={"workers": 2})

    def work(self) -> int:
        for step in range(5):
            self.run.log({f"worker_{self.rank}/loss": float(step), "shared": float(self.rank)}, step=step)
        self.run.finish()
        return self.rank


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    print(ray.get([worker.work.remote() for worker in [Worker.remote(rank) for rank in range(2)]]))
    ray.shutdown()
