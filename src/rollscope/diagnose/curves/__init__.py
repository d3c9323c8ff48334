"""Curves as rules read them: series, levels, openings, trends, ratios. No rule is in here."""
