"""Draws what a student's code computes: in a terminal, as SVG, and as PNG."""
