"""The export of a class for programs that compare code."""
