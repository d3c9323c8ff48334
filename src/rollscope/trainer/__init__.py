"""A small RL trainer to read, to test against and to start from.

Writing an environment needs only the names below, and no torch.
`rollscope.trainer.train.train(config)` trains. Doors: `train`, `config`, `backend` (write your own
update), `environment` and `reward` (write your own task), `gym`, `failures` (break a run on
purpose).

Rooms: `environments` are the tasks that come with it, `policy` is the model, `rollouts` turns tasks
into samples, `operators` filter and shape them, `algorithms` update the policy. The loop of
`orchestrator` connects them; `preferences` and `embodied` have loops of their own. `recording`
writes everything into the run.
"""

from .environment import Environment, MultiTurnEnvironment, State, Task, ToolEnvironment, Turn
from .reward import RewardResult

__all__ = ["Environment", "MultiTurnEnvironment", "RewardResult", "State", "Task", "ToolEnvironment", "Turn"]
