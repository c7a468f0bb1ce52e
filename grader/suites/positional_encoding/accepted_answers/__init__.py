"""Right answers in other styles than the solution's, each a whole file: every one must earn every point."""
