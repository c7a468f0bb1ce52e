"""Unit 6, a bigram language model: the hidden tests, misconceptions, and right answers in other styles."""
