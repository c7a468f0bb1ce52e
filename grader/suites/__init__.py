"""The hidden suites, one folder a unit, each with its misconceptions beside it. Nothing here imports student code."""
