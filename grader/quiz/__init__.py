"""The quizzes: their source, the sheet that a student answers, and what the answers earn."""
