"""Who may see and change which runs: tokens, sessions of browsers, limits, and the audit.

`book` says what is kept about them, `sqlite_book` keeps it in a file beside the runs, `tokens`
makes and checks tokens, `sessions` signs cookies, `rates` counts requests, and `door` is what a
server asks. A token is kept as its SHA-256 alone: who reads the file cannot sign in.
"""
