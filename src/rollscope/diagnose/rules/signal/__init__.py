"""Does the policy learn what it should? Exploration, drift, reward, length, mismatch."""
