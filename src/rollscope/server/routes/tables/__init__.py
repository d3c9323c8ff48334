"""What is asked of the tables of a run: SQL, and exports of whole tables."""
