"""The policy: a small transformer (`model`), its `tokenizer`, and the supervised `warmup`."""
