"""Exports of a report for other programs, one module for each."""
