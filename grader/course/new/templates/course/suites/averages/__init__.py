"""Unit 1: averages."""
