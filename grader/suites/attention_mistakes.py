"""Sentences on mistakes in attention that several units have."""

from __future__ import annotations

FIFTH = (
    "The exponent is `5`, so the scores are nearly zero and every visible token gets nearly the same weight. A square "
    "root is the power `0.5`."
)
HALF = (
    "Python evaluates `/` and `*` from left to right: `/ d_k*0.5` divides by d_k and then multiplies by 0.5. A square "
    "root is a power, written with `**`."
)
NO_SOFTMAX = (
    "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one for each "
    "query."
)
ONLY_FUTURE_SEEN = (
    "The mask is inverted: the past and the token itself are hidden, and the future is visible. Perhaps the mask marks "
    "the other part than you think: print it for three tokens."
)
SCALED_LATE = (
    "The weights, or the contexts made with them, are divided after softmax. Divide the scores, before softmax: then "
    "the weights still sum to one."
)
SOFTMAX_OVER_QUERIES = (
    "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each query should sum to one "
    "over the keys, which lie along the last dimension."
)
SOFTMAX_TWICE = (
    "Softmax is applied twice. The second softmax gets only numbers between zero and one: its weights are nearly "
    "equal, and the hidden zeros get weight again."
)
SUMS_IN_A_ROW = (
    "The softmax by hand divides by the sums of other rows: `sum` removed the dimension. With `keepdim=True` each row "
    "is divided by its own sum."
)
TEN_THOUSAND = (
    "The future is hidden by a number such as -10,000. Other scores may be as low, and then the future has weight. "
    "Minus infinity, or a number as low as -1e9, is below all scores."
)
TWENTIETH = "The exponent is `.05`, so the divisor is nearly one. A square root is the power `0.5`."
VALUES_AS_KEYS = (
    "The queries are compared with the values, as if these were keys. A key is what a token is found by, and has its "
    "own weights."
)
ZEROS_HIDDEN = (
    "A visible score of exactly zero is hidden too, because the code hides all zeros, for example after `tril` or a "
    "product with a mask. Zero is a normal score: choose what to hide by its position."
)
