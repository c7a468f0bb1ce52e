"""The grade of record: what each student had pushed when a unit was due, and the table of their grades."""
