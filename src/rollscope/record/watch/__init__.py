"""Watchers: threads that read the machine and inference engines every few seconds.

Promises: a probe that fails is said once and asked again.
Door: `watchers`.
"""
