"""The report: its model, its points, and the forms that other programs read."""
