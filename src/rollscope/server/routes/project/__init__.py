"""What is asked of a project: its runs, its log, its bin, the glossary, and news of all of it."""
