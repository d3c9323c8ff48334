"""Learning from pairs (DPO, KTO, SimPO, reward models): `pairs` makes them, `loop` trains on them.

Pairs are made from the policy's own answers before training; nothing is generated while training.
"""
