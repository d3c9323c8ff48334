"""What a run was made with: git state, packages, command line, never a secret.

The listener of `run.on_finding` is here as well.

Secrets are hidden by `store/log/secret`, where rows are written.

Door: `provenance`, `plain`, `listener`.
"""
