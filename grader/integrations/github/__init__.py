"""The course on GitHub: the repository that students receive, and what they have pushed to it."""
