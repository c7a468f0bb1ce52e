"""The course in Gradescope."""
