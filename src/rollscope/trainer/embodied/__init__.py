"""PPO on Gymnasium: `player` plays episodes in vector environments, `loop` trains on them.

The losses and advantages are those of `algorithms`, with an action where a language model has a
token.
"""
