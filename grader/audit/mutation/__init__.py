"""Makes mutants: copies of a solution with one slip that learners make in tensor code."""
