"""Failures of the environment and the grader: by cause over time, by task, by worker, by tool.

Promises: every failed sample is counted under one cause; what was trained on as a zero is told from
what was masked. Door: `page` (all of it for a run).
"""
