# %% [markdown]
# # Unit 1: attention without weights
#
# A translator who goes word by word soon writes nonsense: what a word means depends on the words around it.
# Older networks read a sentence from left to right and kept all of it in one vector, and what was said early
# had faded by the end. **Attention** goes another way. Every token may look at every other token, decides how
# much each of them matters to it, and takes in a little of each, in that proportion.
#
# In this unit you build that idea with nothing to train, in five steps:
#
# 1. a **dot product** says how much two vectors agree;
# 2. the **scores** are the dot products of one token, the **query**, with all tokens;
# 3. **normalising** makes **attention weights** of the scores: shares that sum to one;
# 4. the **context vector** is the sum of all tokens, each times its weight;
# 5. **self-attention** does this for every token at once.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the
# rules: what they say is what is graded, and nothing else is. The dtype of a result is graded only where a rule
# names it or says that it is kept. To check your answers, run
# `grader check simple_attention`, or `pytest test_simple_attention.py` in the folder of the file:
# each failure says in a sentence what is wrong.
#
# Sources: attention of this kind comes from Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly
# Learning to Align and Translate* (2014); scores that are plain dot products from Luong, Pham and Manning,
# *Effective Approaches to Attention-based Neural Machine Translation* (2015); and a network built on attention,
# without recurrence, from Vaswani et al., *Attention Is All You Need* (2017). The path from one query to all of them
# and the numbers of the worked example follow chapter 3 of Sebastian Raschka, *Build a Large Language Model (From
# Scratch)* (2024).

# %%
from collections.abc import Sequence

import torch

# %% [markdown]
# ## The dot product
#
# Take two vectors of the same length, multiply what stands at the same place, and add it all up:
#
# $$a \cdot b = \sum_i a_i b_i$$
#
# The result is one number, and it says how much the two agree. It is positive where the angle between them is below
# 90°, negative where it is above, and zero where they stand at right angles. It also grows with their lengths: if a
# vector is twice as long, the dot product is twice as large.
#
# Torch has this ready-made. Write it once in plain Python, with a loop, and you know what every `@` in this
# course does inside.


# %%
def dot_product(a: Sequence[float] | torch.Tensor, b: Sequence[float] | torch.Tensor) -> float | torch.Tensor:
    """Multiply two sequences of numbers place by place and add up the products.

    Takes `a` and `b`, of the same length. Gives one number:

    - the result is the sum of the products of the numbers that stand at the same place
    - a and b may be lists, tuples or tensors with one dimension, and their numbers ints or floats
    - different lengths raise ValueError or AssertionError
    - for two empty sequences the result is 0
    - the arguments are left as they were

    Plain Python is asked for, without a ready-made product; using one earns a remark and costs no point.
    """
    # TODO: Refuse different lengths, then add up the products in a loop.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Attention scores
#
# Let the rows of `inputs` be the embeddings of $T$ tokens, $d$ numbers each, and let one of them be the
# **query** $q$: the token that looks around. Its score with token $i$ is their dot product:
#
# $$\omega_i = q \cdot x_i$$
#
# That gives $T$ numbers, one for each token that it looks at. You may loop over the rows; a matrix product does
# the same at once.


# %%
def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Score every input by its dot product with the query.

    Takes `query` (d,) and `inputs` (T, d). Gives scores (T,):

    - score i is the dot product of the query with row i of the inputs, as it is
    - any number of tokens, one included
    - float32 and float64 arguments both work
    - gradients flow to the query and to the inputs
    - the arguments are left as they were
    """
    # TODO: Take the dot product of the query with each row of the inputs.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## From scores to shares: a first try
#
# Scores can be of any size. To mix tokens in proportion we want *shares* that sum to one. The plainest way is
# to divide each score by the sum of all:
#
# $$\alpha_i = \frac{\omega_i}{\sum_j \omega_j}$$
#
# Before you go on, try it on the scores 2, 1 and -2.9, and look at what comes out.


# %%
def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    """Divide scores by their sum.

    Takes `scores` (T,), positive or negative, whose sum is not zero. Gives (T,):

    - each result is the score divided by the sum of all scores, whatever their signs
    - any number of scores, one included
    - float32 and float64 scores both work
    - gradients flow to the scores, through their sum too
    - the scores are left as they were
    """
    # TODO: Divide by the sum.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Softmax
#
# With scores of both signs, shares made by dividing can be negative or larger than one, and where the sum is
# near zero they go wild. **Softmax** takes exponentials first:
#
# $$\text{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# Every exponential is positive, so every share is too. (In a computer's numbers, a share that is far too small becomes
# 0.) Larger scores get larger shares, and a lead of one in the score is always a factor of $e$ in the share. The
# derivatives are simple as well, which training likes.
#
# A tensor with several dimensions holds many lists of scores. `dim` says along which dimension one list lies:
# along it, the results sum to one. `keepdim=True` in `sum` helps to divide.


# %%
def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Softmax as its formula says.

    Takes `x` of one dimension or more, with entries that the exponential can take. Gives the same shape:

    - each result is the exponential of its entry, divided by the sum of the exponentials along `dim`
    - without `dim`, the sum runs along the last dimension
    - dim may be any dimension, counted from the front or, if negative, from the back
    - float32 and float64 entries both work
    - gradients flow to x
    - x is left as it was

    To be written with `torch.exp`, without a ready-made softmax; using one earns a remark and costs no point.
    """
    # TODO: Take exponentials, and divide them by their sum along `dim`.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## A softmax that cannot overflow
#
# Try `softmax_naive(torch.tensor([1000.0, 999.0]))`. The exponential of 1000 is larger than any number that
# float32 or float64 can hold, so it becomes infinite, and infinity over infinity is not a number. With -1000 and -999
# it fails the other way: both exponentials are too small for these numbers and become 0, and 0 / 0 is not a number.
#
# The way out is a small piece of algebra: subtract the same number $c$ from every entry, and nothing changes.
#
# $$\frac{e^{x_i - c}}{\sum_j e^{x_j - c}} = \frac{e^{-c}\, e^{x_i}}{e^{-c} \sum_j e^{x_j}} =
# \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# With the maximum as $c$ the largest exponent is 0. So no exponential exceeds 1, and at least one *is* 1, which
# keeps the sum away from zero. Each list of scores has a maximum of its own: think of a row of entries near
# 10,000 above a row of entries near -10,000.
#
# An entry may also be $-\infty$: its exponential is 0. Unit 3 hides tokens in this way.


# %%
def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Softmax that stays finite, however large the entries are.

    Takes `x` of one dimension or more. Gives the same shape:

    - each result is the exponential of its entry, divided by the sum of the exponentials along `dim`
    - without `dim`, the sum runs along the last dimension
    - dim may be any dimension, counted from the front or, if negative, from the back
    - x may be a view with any memory layout
    - entries of ±10,000, in any mixture, give finite and right results
    - an entry of -inf beside finite ones gives 0, and the others share as if it were not there
    - the result keeps the dtype of x, float32 or float64
    - gradients flow to x
    - x is left as it was

    To be written with `torch.exp`, without a ready-made softmax; using one earns a remark and costs no point.
    """
    # TODO: Subtract the maximum along `dim`, then go on as before.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## The context vector
#
# The weights say how much of each token the query takes in. The sum of all embeddings, each times its weight,
# is the query's **context vector**:
#
# $$z = \sum_i \alpha_i x_i$$
#
# It has the width of an embedding, and it is one: an embedding *enriched* by what stands around the token.


# %%
def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Add up the inputs, each times its weight.

    Takes `weights` (T,) and `inputs` (T, d). Gives the context vector (d,):

    - the result is the sum of the rows of the inputs, row i times weight i
    - the weights count as they are, whatever their signs and their sum
    - any number of tokens, one included
    - float32 and float64 arguments both work
    - gradients flow to the weights and to the inputs
    - the arguments are left as they were
    """
    # TODO: Multiply each row by its weight and add up the rows.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Self-attention
#
# So far one token was the query. In **self-attention** every token is, one after the other or all at once. With
# the tokens as the rows of $X$, all scores are one matrix product, and so are all context vectors:
#
# $$A = \text{softmax}(X X^\top) \qquad Z = A X$$
#
# Row $i$ of $A$ holds the weights that token $i$ gives, so each *row* sums to one. The scores are symmetric, for
# $x_i \cdot x_j = x_j \cdot x_i$; the weights are not, because each row is divided by a sum of its own.
#
# Nothing here is trained yet: two tokens agree as much as their embeddings do. Unit 2 puts weights to learn in
# between.


# %%
def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Let every token attend to all tokens, itself included.

    Takes `inputs` (T, d). Gives contexts (T, d) and weights (T, T):

    - the scores are the dot products of every token with every token, neither scaled nor masked
    - row i of the weights is the softmax of token i's scores over all tokens, so each row sums to one
    - context i is the sum of the inputs, each times its weight in row i
    - the result is the pair (contexts, weights)
    - any number of tokens, one included
    - float32 and float64 inputs both work
    - gradients flow to the inputs
    - the inputs are left as they were
    """
    # TODO: Compute scores, weights and contexts, one after the other.
    # YOUR CODE HERE
    raise NotImplementedError()
