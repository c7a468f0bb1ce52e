"""Makes mutants: a solution with one slip, as learners make it in tensor code, on the syntax tree."""
