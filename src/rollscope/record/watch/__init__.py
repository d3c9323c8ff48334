"""Watchers: threads that read the machine and inference engines every few seconds.

Promises: a probe that fails is reported once and read again; it never stops training.
Door: `watchers`.
"""
