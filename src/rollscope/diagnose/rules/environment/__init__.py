"""Are environment, grader and data sound? Failures that are no fault of the policy."""
