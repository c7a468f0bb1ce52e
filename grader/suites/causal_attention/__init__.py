"""Unit 3, causal attention: hidden tests, misconceptions, and right answers in other styles."""
