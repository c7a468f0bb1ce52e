"""The dates of the works that the course names: by title, the year, the month if known, and the source."""

from __future__ import annotations

RNN = "Learning Representations by Back-Propagating Errors"
LSTM = "Long Short-Term Memory"
ENCODER_DECODER = "Learning Phrase Representations Using RNN Encoder-Decoder for Statistical Machine Translation"
BAHDANAU = "Neural Machine Translation by Jointly Learning to Align and Translate"
TRANSFORMER = "Attention Is All You Need"

# An arXiv number begins with the year and the month of the first version: 1406.1078 is of June 2014.
WORKS = {
    RNN: ("1986-10", "Nature 323, 533-536"),
    "Finding Structure in Time": ("1990", "Cognitive Science 14 (2), 179-211"),
    LSTM: ("1997-11", "Neural Computation 9 (8), 1735-1780"),
    "A Neural Probabilistic Language Model": ("2003-02", "Journal of Machine Learning Research 3, 1137-1155"),
    ENCODER_DECODER: ("2014-06", "arXiv:1406.1078"),
    "Dropout: A Simple Way to Prevent Neural Networks from Overfitting": (
        "2014",
        "Journal of Machine Learning Research 15, 1929-1958",
    ),
    BAHDANAU: ("2014-09", "arXiv:1409.0473"),
    "Sequence to Sequence Learning with Neural Networks": ("2014-09", "arXiv:1409.3215"),
    "Effective Approaches to Attention-based Neural Machine Translation": ("2015-08", "arXiv:1508.04025"),
    "Deep Residual Learning for Image Recognition": ("2015-12", "arXiv:1512.03385"),
    "Layer Normalization": ("2016-07", "arXiv:1607.06450"),
    TRANSFORMER: ("2017-06", "arXiv:1706.03762"),
    "Language Models are Unsupervised Multitask Learners": ("2019", "OpenAI, with the release of GPT-2"),
    "On Layer Normalization in the Transformer Architecture": ("2020-02", "arXiv:2002.04745"),
    "Let's build GPT: from scratch, in code, spelled out": ("2023", "a lecture on YouTube"),
    "Build a Large Language Model (From Scratch)": ("2024", "Manning, ISBN 9781633437166"),
}
