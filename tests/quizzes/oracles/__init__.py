"""What the quizzes ask for, worked out in another way: a module a unit, a function for each number or shape."""
