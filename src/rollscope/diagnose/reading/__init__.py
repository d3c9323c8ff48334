"""Reads a run for the rules: series by our names, samples, evaluations, host, record."""
