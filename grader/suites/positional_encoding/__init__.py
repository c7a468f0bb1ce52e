"""Unit 5, positions: the hidden tests, misconceptions, and right answers in other styles."""
