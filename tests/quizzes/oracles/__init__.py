"""The answers of the quizzes, computed in another way: one module per unit, one function per number or shape."""
