"""Questions about time: where a step's seconds go, live and afterwards, and as a Chrome trace."""
