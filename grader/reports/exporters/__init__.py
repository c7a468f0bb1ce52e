"""A report in the forms that other programs read, one module for each."""
