"""What is asked of numbers: series for charts, exact values, files of them, why one moved."""
