"""Where requests arrive: how large and how slow they may be, and the uvicorn that holds them to it.

Door: `serving` for the command line, `limits` and `page_loads` for the guard, `traffic` for who
counts requests.
"""
