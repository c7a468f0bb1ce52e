# %% [markdown]
# # Unit 3: causal attention
#
# A language model learns to continue a text. In training the whole text is there, and with the attention of unit 2 each
# token could simply look at the next one. Then the model would learn nothing. Later, when it writes by itself, there is
# no next token to look at. So the future is hidden: a token attends only to itself and to the tokens before it. This is
# **causal** (or masked) attention. Models with a causal mask write text, as a decoder does. Models without it read a
# whole text, as an encoder does.
#
# | | the | cat | sleeps |
# |---|---|---|---|
# | **the** | sees | hidden | hidden |
# | **cat** | sees | sees | hidden |
# | **sleeps** | sees | sees | sees |
#
# You will write the mask, two ways to use it, dropout for the weights, and then a module with all of these for a batch
# of texts.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check causal_attention`. You can also run `pytest checks/test_causal_attention.py` in the folder
# of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: masked attention comes from Vaswani et al., *Attention Is All You Need* (2017), and dropout from Srivastava
# et al., *Dropout: A Simple Way to Prevent Neural Networks from Overfitting* (2014). The two ways of masking, the
# module and the numbers of the worked example follow chapter 3 of Sebastian Raschka, *Build a Large Language Model
# (From Scratch)* (2024).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

# %% [markdown]
# ## What to hide
#
# Row `i` of the scores belongs to the query of token `i`, column `j` to the key of token `j`. The columns with `j > i`
# are the future: the part above the diagonal. The diagonal itself is not hidden, because a token may look at itself.
# The first token sees nothing else.


# %% nbgrader={"grade": false, "grade_id": "causal_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal_mask(num_tokens: int) -> torch.Tensor:
    """Mark the tokens that each token must not see.

    Returns a mask (T, T) for T = num_tokens:

    - row i, column j is True if j comes after i, and False everywhere else
    - its dtype is torch.bool
    - any number of tokens, including one

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Mark the part above the diagonal.
    ### BEGIN SOLUTION
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Token i must not see a token j that comes after it. In a table with a row for each i and a column for each j, these
#    are the cells above the diagonal.
# 2. A number T gives a table (T, T) of True and False. For T = 3 its rows are (False, True, True), (False, False, True)
#    and (False, False, False).
# 3. One way: `torch.ones` with the two sizes and `dtype=torch.bool`, then `.triu(diagonal=1)`, which keeps only what is
#    above the diagonal. Another way: compare `torch.arange(num_tokens)` as a row with itself as a column (`[:, None]`).

# %% [markdown]
# ## The first way: mask the weights
#
# Take complete attention weights, where each row sums to one. Set the future to zero, and divide the remaining weights
# of each row by their sum:
#
#     w'_ij = w_ij / (w_i0 + w_i1 + … + w_ii)    for j ≤ i
#     w'_ij = 0                                  for j > i
#
# The future was part of the softmax that made these weights. This has no effect on the result: softmax divided all
# weights of a row by the same number, and this number cancels when you divide by the new sum.


# %% nbgrader={"grade": false, "grade_id": "mask_then_renormalize", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_then_renormalize(weights: torch.Tensor) -> torch.Tensor:
    """Remove the future from complete attention weights.

    Takes positive `weights` (T, T), where each row sums to one. Returns (T, T):

    - in each row, the weight of every later token is 0
    - the other weights of each row are divided by their sum, so that the row sums to one again
    - any number of tokens, including one
    - float32 and float64 weights both work
    - gradients flow to the weights
    - the weights are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Set the future to zero, then divide each row by its sum.
    ### BEGIN SOLUTION
    past = weights.masked_fill(causal_mask(weights.shape[-1]), 0)
    return past / past.sum(dim=-1, keepdim=True)  # (T, T) / (T, 1) -> (T, T)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Remove the weights of the future. Then divide what is left in each row by the sum of this row, so that it is one
#    again.
# 2. Weights (T, T) go in, and (T, T) comes out. The sums of the rows should be (T, 1). For example, the row (0.2, 0.3,
#    0.5) of the second token becomes (0.2, 0.3, 0), and then (0.4, 0.6, 0).
# 3. One way: `weights.masked_fill(mask, 0)`, where the mask comes from your `causal_mask` for `weights.shape[-1]`
#    tokens. Divide the result by its own `.sum(dim=-1, keepdim=True)`.

# %% [markdown]
# ## The second way: mask the scores
#
# The first way does too much work: one softmax over everything, and then a second division. It is less work to hide the
# future before the softmax. Because exp(-∞) = 0, a score of minus infinity becomes a weight of exactly zero, and the
# other weights sum to one without a second division:
#
#     m_ij = s_ij    for j ≤ i
#     m_ij = -∞      for j > i
#
#     w_ij = softmax_j(m_ij / √d_k)
#
# In exact arithmetic both ways give the same result. On a computer they sometimes do not. Suppose a token scores 0 with
# itself and 1000 with a later token. A softmax over both gives the later token all the weight and rounds the token's
# own weight, exp(-1000), to zero. If you then remove the future, the result is zero divided by zero. The second way
# never uses the 1000.
#
# Why minus infinity and not zero? Zero is a normal score: exp(0) = 1, so the future would have weight.


# %% nbgrader={"grade": false, "grade_id": "mask_then_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_then_softmax(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    """Turn scores into causal attention weights.

    Takes `scores` (T, T), the dot products of queries and keys, not yet scaled, and their width `d_k`. Returns weights
    (T, T):

    - in each row, the weight of every later token is 0, and the row sums to one
    - the weights of the other tokens are the softmax of their scores divided by the square root of d_k
    - the weights are also correct if a score of the future is far above the others
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - any number of tokens, including one
    - float32 and float64 scores both work
    - gradients flow to the scores
    - the scores are not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Set the future to -torch.inf, scale, and take the softmax over the last dim.
    ### BEGIN SOLUTION
    masked = scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf)
    return torch.softmax(masked / d_k**0.5, dim=-1)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Hide the future before the softmax. A score of minus infinity becomes a weight of zero, and the other weights sum
#    to one without any further step.
# 2. Scores (T, T) and the number d_k give weights (T, T). For example, with d_k = 4 the row (2, 4, 100) of the second
#    token becomes (2, 4, -inf), then (1, 2, -inf), and the weights are (0.2689, 0.7311, 0).
# 3. One way: `scores.masked_fill(mask, -torch.inf)` with a mask from your `causal_mask`. Divide by `d_k**0.5`, then
#    take `torch.softmax` with `dim=-1`. `masked_fill` does not change the scores: use its result.

# %% [markdown]
# ## Dropout for the weights
#
# A network that always finds the same few tokens useful stops using the others. **Dropout** prevents this: in training
# a random part of the weights is set to zero, in each step a different part. So the network cannot rely on a single
# token. Usual rates are 0.1 to 0.2.
#
# Each weight is dropped with probability `p`. On average a part of `1 - p` is kept. Without a correction, a context
# vector would be smaller in training than later, when nothing is dropped. So the kept weights become larger:
#
#     w'_ij = 0               with probability p
#     w'_ij = w_ij / (1 - p)  with probability 1 - p
#
#     mean of w'_ij = p · 0 + (1 - p) · w_ij / (1 - p) = w_ij
#
# With `p = 0.5` they double. A row then sums to one only on average. This is intended: do not divide the row by its sum
# again. Each weight is drawn separately: by chance a row may keep almost all its weights or lose all of them.
#
# Where does dropout go? After the softmax. Some diagrams on the web show it before the softmax. That is wrong: a score
# of zero does not give a weight of zero, so nothing would be dropped. Larger scores only make the largest weight even
# larger. (On masked scores it is even worse: zero times minus infinity is not a number.)
#
# Dropout is also used at a second place, after the values: on the outputs of attention. The two places drop different
# things. Take three tokens with equal scores and the values (1, 2), (3, 4) and (5, 6). The context of the last token is
# their mean, (3, 4). Let p = 0.5.
#
# - On the weights, a whole *token* disappears from a context. If the first of the three weights is dropped and the
#   others are kept, the context is (5.3333, 6.6667).
# - On the outputs, a single *feature* disappears. If the first number of the context is dropped and the other is kept,
#   it is (0, 8).
#
# The module of this unit has the first one only. The block of unit 7 adds the second.


# %% nbgrader={"grade": false, "grade_id": "attention_dropout", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_dropout(weights: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """Drop a random part of the attention weights.

    Takes `weights` of any shape and the probability `p` of dropping a weight. Returns the same shape:

    - each weight is kept with probability 1 - p
    - each weight is kept or dropped independently
    - dropped weights become 0, and kept weights are divided by 1 - p
    - p = 0 changes nothing
    - a negative p raises ValueError or AssertionError
    - p ≥ 1 raises ValueError or AssertionError
    - weights of any shape, with one draw for every entry
    - float32 and float64 weights both work
    - with a generator, every random draw comes from it and advances it
    - with the same generator state the result is the same
    - without a generator, torch's global generator is used, and it advances too
    - gradients flow to the weights that are kept
    - the weights are not changed

    Time: 20 minutes. Difficulty: medium.
    """
    # TODO: Raise an error for a p outside [0, 1), draw which weights to keep, and scale them.
    ### BEGIN SOLUTION
    if not 0 <= p < 1:
        raise ValueError(f"p is {p}, and it has to be at least 0 and below 1")
    # torch.rand draws from [0, 1), so it is below p with probability p, and never below 0.
    keep = torch.rand(weights.shape, generator=generator) >= p
    return weights * keep / (1 - p)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Decide for every weight by chance, as with a coin, whether it is dropped. The weights that are kept become larger,
#    so that the average stays the same.
# 2. The shape stays the same, and there is one random number for each entry. For example, with p = 0.5 the weights
#    (0.4, 0.6) become (0.8, 1.2), (0.8, 0), (0, 1.2) or (0, 0).
# 3. First check p, and `raise ValueError(...)` if it is not in [0, 1). One way: `torch.rand(weights.shape,
#    generator=generator)` draws numbers from 0 to 1, and comparing them with p gives a mask of what is kept. Multiply
#    the weights by this mask, and divide by `1 - p`.

# %% [markdown]
# ## The module
#
# Now put all of this together, for a batch. The inputs are (B, T, d_in): B texts of T tokens each, which never look at
# one another. `keys.transpose(-2, -1)` transposes the keys of each text and keeps the batch as the first dimension.
# `.T` would move the batch too.
#
# Two things are new:
#
# - The mask is neither an input nor a weight to learn. Make it in `forward`. Or make it once in `__init__`, for the
#   longest text allowed (`context_length`), store it with `register_buffer`, and use its upper left corner for a
#   shorter text. A buffer moves with the module to another device, and no optimiser changes it. (`.double()` converts
#   buffers of floats; a bool mask stays a bool mask.)
# - Dropout is for training only. `nn.Dropout` drops weights like your `attention_dropout`, and knows whether it is in
#   training: `attention.train()` and `attention.eval()` reach every registered module. They do not reach an
#   `nn.Dropout` that is made inside `forward`.
#
# Be careful: `scores.masked_fill(…)` returns a new tensor and does not change `scores`. Use the result, or write
# `masked_fill_`, with an underscore, which changes `scores` itself.


# %% nbgrader={"grade": false, "grade_id": "CausalAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CausalAttention(nn.Module):
    """Causal self-attention for a batch of texts: (B, T, d_in) -> (B, T, d_out).

    - W_query, W_key and W_value are nn.Linear from d_in to d_out
    - the layers have no bias unless qkv_bias=True; then each layer adds its own bias
    - scores are the dot products of the queries with the keys, divided by the square root of d_out
    - no output depends on a later token
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the softmax
      of their scores
    - each text of the batch is computed separately
    - any number of tokens up to context_length, including one
    - the inputs may be non-contiguous, for example the result of a transpose
    - in training each weight is dropped independently, with probability `dropout`
    - dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout
    - in eval mode nothing is dropped
    - with dropout=0.0 nothing is dropped in training
    - gradients reach the inputs and the weights of the three layers, and the mask is not a parameter
    - works in float64 after .double()
    - the inputs are not changed

    Longer texts are not graded. The mask is too small for them, so it is better to raise an error.

    Time: 40 minutes. Difficulty: hard.
    """

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        # TODO: Make the three layers, the dropout and, if you keep one, the mask.
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", causal_mask(context_length), persistent=False)
        ### END SOLUTION

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Project, score, mask, scale, take the softmax, drop, and return only the context vectors.
        ### BEGIN SOLUTION
        # Without this, a mask (1, 1) would be broadcast over a longer text and hide nothing.
        if inputs.shape[1] > self.context_length:
            raise ValueError(f"{inputs.shape[1]} tokens are more than the context length of {self.context_length}")
        queries = self.W_query(inputs)  # (B, T, d_in) -> (B, T, d_out)
        keys = self.W_key(inputs)
        values = self.W_value(inputs)
        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        num_tokens, d_out = queries.shape[-2:]
        # A text may be shorter than context_length: the mask's upper left corner is its mask.
        masked = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(masked / d_out**0.5, dim=-1))
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. This is the attention of unit 2 with two more steps: hide the future before the softmax, and drop weights after it.
#    A batch needs no loop, because a matrix product works on the last two dimensions and repeats this for each text.
# 2. For example, for 2 texts of 6 tokens with d_in = 3 and d_out = 2: inputs (2, 6, 3); queries, keys and values (2, 6,
#    2); scores and weights (2, 6, 6); output (2, 6, 2). One mask (6, 6) is right for all texts.
# 3. In `__init__`: three `nn.Linear` with `bias=qkv_bias`, and `nn.Dropout(dropout)`. In `forward`, one way, in this
#    order: the three layers; queries `@` keys with `.transpose(-2, -1)`; `masked_fill` with your `causal_mask` for this
#    number of tokens; divide by the square root of d_out; `torch.softmax`; dropout; `@` values.

# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python causal_attention.py`. It shows an
# example of each exercise that you have written.
#
# The scores of the example are all zero. So each token gives equal weights to itself and to all tokens before it, in
# both ways of masking. The rows of the weights are (1, 0, 0), (0.5, 0.5, 0) and (0.3333, 0.3333, 0.3333).

# %%
if __name__ == "__main__":
    scores = torch.zeros(3, 3)
    inputs = torch.ones(2, 3, 4)  # two texts of three tokens with four features each
    examples = {
        "causal_mask": lambda: causal_mask(3),
        "mask_then_renormalize": lambda: mask_then_renormalize(torch.softmax(scores, dim=-1)),
        "mask_then_softmax": lambda: mask_then_softmax(scores, d_k=4),
        "attention_dropout": lambda: attention_dropout(torch.ones(3, 6), 0.5, torch.Generator().manual_seed(0)),
        "CausalAttention": lambda: CausalAttention(4, 2, context_length=3, dropout=0.0)(inputs).shape,
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
