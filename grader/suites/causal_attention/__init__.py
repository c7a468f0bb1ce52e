"""Unit 3, causal attention: the hidden tests, misconceptions, and right answers in other styles."""
