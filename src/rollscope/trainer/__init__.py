"""A small honest RL trainer: environments, rewards, backends, an asynchronous orchestrator, and the algorithms, each a page.

What one needs to write an environment is here and needs no torch; `rollscope.trainer.train.train(config)` runs it.
"""

from .environment import Environment, MultiTurnEnvironment, State, Task, ToolEnvironment, Turn
from .reward import RewardResult

__all__ = ["Environment", "MultiTurnEnvironment", "RewardResult", "State", "Task", "ToolEnvironment", "Turn"]
