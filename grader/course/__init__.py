"""The course: autograder.yml as a typed model, and what `grader build` makes from the units' sources."""
