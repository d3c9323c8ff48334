"""Metric rows as columns, and the arithmetic over them: merge ranks, add partials, bucket, roll up.

Promises: any split into micro-batches and ranks gives the same answer; no data stays NaN.
Nothing here opens a file. Door: every module.
"""
