"""Could the same run be cheaper? Advice that waits while anything is bad."""
