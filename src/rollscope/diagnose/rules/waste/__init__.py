"""Is work thrown away? Samples, seconds and steps that teach nothing."""
