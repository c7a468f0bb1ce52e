"""The course: autograder.yml as a typed model, the source of each unit, and what `grader build` makes of it."""
