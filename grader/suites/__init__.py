"""The hidden suites, one folder per unit, with their misconceptions. Nothing here imports student code."""
