"""`python -m rollscope.store.seal RUN_DIR...` seals runs in a process of its own."""

import sys

from .logs import main

sys.exit(main(sys.argv[1:]))
