"""Does the reward pay for what it should? Held-out scores, parts, noise, length."""
