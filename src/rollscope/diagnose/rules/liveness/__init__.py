"""Does the run live? Numbers that are impossible, silence, and an end before its time."""
