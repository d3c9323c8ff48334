"""From tasks to samples: players, worker processes, the buffer of fresh groups, the operators' pipeline."""
