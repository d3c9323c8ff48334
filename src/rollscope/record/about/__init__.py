"""What a run was made with: git state, packages, command line, never a secret. Also the doctor's listener.

Door: `provenance`, `secret`, `listener`.
"""
