"""Grades a class on the workers of a Dask cluster. Needs the extra `cluster`."""
