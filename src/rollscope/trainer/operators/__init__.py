"""Operators of the data pipeline, one kind per file: what drops samples, what changes rewards, what makes advantages."""
