"""The programs around the course: GitHub, nbgrader, Classroom 50 and Gradescope."""
