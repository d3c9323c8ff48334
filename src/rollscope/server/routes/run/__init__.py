"""What is asked of one run as a whole: how it goes, what was found, where its time went."""
