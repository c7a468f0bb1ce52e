"""Right answers in other styles than the solution, one file each. Every one must earn every point."""
