"""Quizzes: their source, the sheets that students fill in, and their marks."""
