"""Removes everything about one student from the files of a term."""
