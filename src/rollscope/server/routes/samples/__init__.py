"""What is asked of samples: rollouts and their texts, hits of a search, media, evaluations."""
