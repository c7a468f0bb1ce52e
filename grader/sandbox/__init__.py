"""The door between grader and student: the verdict on one side, the student's code on the other."""
