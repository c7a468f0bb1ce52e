"""The course in Classroom 50."""
