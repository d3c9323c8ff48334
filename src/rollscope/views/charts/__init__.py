"""What a chart needs: series bucketed on one grid, one point, a heatmap, a CSV, other clocks.

Door: `grid`, `point`, `values`, `heatmap`, `series_csv`, `clock`. Each takes a store run and gives
plain values.
"""
