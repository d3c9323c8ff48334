"""Operators of the data pipeline between rollouts and training.

`filters` drop samples, `shaping` changes rewards, `advantages` compares a sample with its group.
"""
