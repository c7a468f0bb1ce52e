"""Figures and dates of the quizzes, computed in another way."""
