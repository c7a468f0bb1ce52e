"""A report as others read it: one module for each reader, made from the report alone."""
