"""What a run was made with: git state, packages, command line, never a secret.

The listener of `run.on_finding` is here as well.

Door: `provenance`, `secret`, `listener`.
"""
