"""The policy: a small transformer, its tokens, and the warm-up that teaches it the format."""
