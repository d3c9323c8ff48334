"""Questions about samples: the rollouts of a step, groups, prompts over a run, filters, search, export."""
