"""The report: its model, its points, and its exports for other programs."""
