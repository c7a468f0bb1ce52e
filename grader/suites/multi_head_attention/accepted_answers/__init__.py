"""Right answers in other styles than the solution. Each file must earn every point."""
