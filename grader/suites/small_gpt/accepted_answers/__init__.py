"""Right answers of the capstone in several styles."""
