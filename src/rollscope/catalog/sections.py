"""The sections of the catalogue: their titles, one sentence each, and the names in them.

A section collects the entries whose names begin with one of its `heads` (the part of a name before
its first slash). So `score` and `reward_env/{env}` stand with `reward`. `SECTIONS` is in reading
order.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    key: str  # the file name of its page in docs/metrics
    title: str
    about: str
    more_heads: tuple[str, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """First parts of the names that belong here; the key is one of them."""
        return (self.key, *self.more_heads)


SECTIONS: tuple[Section, ...] = (
    Section("eval", "Evaluation", "Scores on held-out tasks, each answered several times. Look here first."),
    Section("bench", "Benchmarks", "The numbers of an evaluation, for a benchmark run of its own."),
    Section("val-core", "Validation: main scores", "The evaluation numbers that veRL puts into its main section."),
    Section("val-aux", "Validation: details", "The evaluation numbers that veRL uses to explain the main scores."),
    Section(
        "reward",
        "Reward and score",
        "The reward that the policy earns, and the score before shaping and penalties. `generated` counts every "
        "sample, `trained` only the samples that the update used: the gap shows what filtering hides.",
        ("score", "reward_env"),
    ),
    Section(
        "reward_component",
        "Reward components",
        "The parts that add up to the reward. Two runs with equal totals can learn different things.",
    ),
    Section("sample_metric", "Sample metrics", "Numbers that an environment reports for each sample."),
    Section("scan", "Scans", "What your own scanners say of each sample: `rollscope scan`."),
    Section(
        "task_reward",
        "Reward and metrics by task",
        "Averages in which each prompt counts once, however many answers it got.",
        ("task_metric",),
    ),
    Section(
        "group",
        "Groups",
        "A group is several answers to one prompt. GRPO and similar methods learn only from differences inside "
        "a group.",
    ),
    Section(
        "advantage",
        "Advantage",
        "How much better than expected a token or a sample was. The update multiplies by it.",
        ("advantage_sample",),
    ),
    Section(
        "policy",
        "Policy",
        "How the policy moves: losses, entropy, distances to earlier policies, and how often the clip takes effect.",
    ),
    Section("optimiser", "Optimiser", "Gradients, learning rate and the size of an update."),
    Section("critic", "Critic", "The value function, if there is one. Advantages are only as good as the critic."),
    Section(
        "mismatch",
        "Mismatch between engine and trainer",
        "How far the probabilities of the inference engine and of the trainer differ on the same tokens.",
    ),
    Section("length", "Length", "How long prompts and answers are, and how many are cut."),
    Section("stop", "Stop reasons", "Why generation ended."),
    Section("turns", "Turns", "How many times an agent's policy generated."),
    Section("tool", "Tools", "Tool calls, failed calls and their time."),
    Section("discarded", "Discarded samples", "Samples that were generated and not trained on, and why."),
    Section("filter", "Filters", "Samples that a filter flagged."),
    Section(
        "staleness",
        "Staleness",
        "How old the weights were that wrote a sample.",
        ("staleness_newest", "staleness_off_policy", "staleness_at", "version_span"),
    ),
    Section("async", "Asynchronous training", "Waiting times, queues and lost work of asynchronous trainers."),
    Section("preference", "Preference optimisation", "DPO, KTO, SimPO and related losses on pairs of answers."),
    Section("reward_model", "Reward model", "Training of the model that judges answers."),
    Section("sft", "Supervised fine-tuning", "Next-token training, before RL or together with it."),
    Section("distillation", "Distillation", "Learning from a teacher's distribution."),
    Section("env", "Embodied environments", "Episodes in simulators and on robots."),
    Section("offpolicy", "Off-policy learners", "Losses and values of SAC, DAgger, IQL, NFT and RLT."),
    Section("replay", "Replay buffers", "Contents of the buffers that off-policy learners read."),
    Section("value_model", "Value models", "Models that predict returns or progress."),
    Section("moe", "Mixture of experts", "How evenly each layer uses its experts."),
    Section("balance", "Balance between ranks", "How evenly tokens are spread over ranks."),
    Section("batch", "Batch packing", "How samples are packed into rows, and how many tokens are trained on."),
    Section("time", "Time", "Where the seconds of a step go."),
    Section("time_per_token", "Time per token", "The time of a stage per token, comparable between lengths."),
    Section("sample_time", "Time per sample", "Seconds of a sample for generation, tools and scoring."),
    Section("perf", "Performance", "Tokens, throughput, and how well the hardware is used."),
    Section("counter", "Counts", "Samples of a step, and totals that survive a resume.", ("samples",)),
    Section("training", "State of training", "Step, epoch, weight versions and counters of trainers."),
    Section("pipeline", "Data pipeline", "What happens to samples between rollout and update."),
    Section("sampling", "Sampling from the buffer", "The samples that the trainer takes from its buffer."),
    Section("host", "Machine", "GPUs, processors, memory, disks and network."),
    Section("engine", "Inference engine", "The server that generates: queues, cache, latency."),
)

_BY_HEAD = {head: section for section in SECTIONS for head in section.heads}


def section_of(name: str) -> Section:
    """The section of a metric name. An unknown name has a section of its own, without a sentence.

    >>> section_of("reward/mean").title, section_of("moe/assignments").title
    ('Reward and score', 'Mixture of experts')
    >>> section_of("my_loss/total").title
    'My loss'
    """
    head = name.partition("/")[0]
    return _BY_HEAD.get(head) or Section(head, head.replace("_", " ").capitalize(), "")
