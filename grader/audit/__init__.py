"""Prove the suites: every wrong answer loses points, every right one keeps them, every mistake gets its name."""
