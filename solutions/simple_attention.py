# %% [markdown]
# # Unit 1: attention without weights
#
# If you translate a sentence word by word, the result is often wrong: the meaning of a word depends on the words around
# it. Older networks read a sentence from left to right and kept all of it in one vector. At the end, little was left of
# the first words. **Attention** works differently. Every token can look at every other token. It decides how important
# each token is for it, and takes more from the important ones.
#
# In this unit you build that idea with nothing to train, in five steps:
#
# 1. a **dot product** says how similar the directions of two vectors are;
# 2. the **scores** are the dot products of one token, the **query**, with all tokens;
# 3. **normalising** turns the scores into **attention weights**: numbers that sum to one;
# 4. the **context vector** is the sum of all tokens, each times its weight;
# 5. **self-attention** does this for every token at once.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check simple_attention`. You can also run `pytest checks/test_simple_attention.py` in the folder
# of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: this kind of attention comes from Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning
# to Align and Translate* (2014); scores as plain dot products come from Luong, Pham and Manning, *Effective Approaches
# to Attention-based Neural Machine Translation* (2015); and a network with attention and without recurrence comes from
# Vaswani et al., *Attention Is All You Need* (2017). The order of the steps and the numbers of the worked example
# follow chapter 3 of Sebastian Raschka, *Build a Large Language Model (From Scratch)* (2024).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Sequence

import torch

# %% [markdown]
# ## The dot product
#
# Take two vectors of the same length. Multiply the numbers at the same position, and add up the products:
#
#     a · b = Σ_i a_i · b_i
#
# (The formulas of this course are plain text: a_i is entry `i` of `a`, Σ_i adds up over all `i`, √ is the square root,
# and exp(x) is the exponential function.)
#
# The result is one number. It says how similar the directions of the two vectors are. It is positive if the angle
# between them is below 90°, negative if the angle is above 90°, and zero if it is exactly 90°. It also grows with their
# lengths: if a vector is twice as long, the dot product is twice as large.
#
# PyTorch has a function for this. Write it once in plain Python, with a loop. Then you know what every `@` in this
# course does.


# %% nbgrader={"grade": false, "grade_id": "dot_product", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dot_product(a: Sequence[float] | torch.Tensor, b: Sequence[float] | torch.Tensor) -> float | torch.Tensor:
    """Multiply two sequences of numbers position by position and add up the products.

    Takes `a` and `b`, of the same length. Returns one number:

    - the result is the sum of the products of the numbers at the same position
    - a and b may be lists, tuples or tensors with one dimension, with ints or floats
    - different lengths raise ValueError or AssertionError
    - for two empty sequences the result is 0
    - the arguments are not changed

    Write it in plain Python, without a ready-made product. If you use one, you get a comment but lose no points.

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Raise an error for different lengths, then add up the products in a loop.
    ### BEGIN SOLUTION
    if len(a) != len(b):
        raise ValueError(f"the lengths differ: {len(a)} and {len(b)}")
    total = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Walk through both sequences together. Multiply the two numbers at each position, and add each product to a running
#    total.
# 2. Two sequences of the same length go in, and one number comes out. For example, (1, 2, 3) and (4, 5, 6) give 1 * 4 +
#    2 * 5 + 3 * 6 = 32.
# 3. First compare `len(a)` with `len(b)`, and `raise ValueError(...)` if they differ. One way for the sum: start a
#    total at 0, loop over `zip(a, b)`, and add the product of each pair to the total.

# %% [markdown]
# ## Attention scores
#
# The rows of `inputs` are the embeddings of T tokens, with `d` numbers each. One of the tokens is the **query** `q`:
# the token that looks at the others. Its score with token `i` is their dot product:
#
#     ω_i = q · x_i
#
# This gives T scores, one for each token. You can loop over the rows, or compute all scores with one matrix product.


# %% nbgrader={"grade": false, "grade_id": "attention_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Score every input by its dot product with the query.

    Takes `query` (d,) and `inputs` (T, d). Returns scores (T,):

    - score i is the dot product of the query with row i of the inputs, not scaled
    - any number of tokens, including one
    - float32 and float64 arguments both work
    - gradients flow to the query and to the inputs
    - the arguments are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Take the dot product of the query with each row of the inputs.
    ### BEGIN SOLUTION
    return inputs @ query  # (T, d) @ (d,) -> (T,)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The query asks every token the same question: how similar are we? Each answer is the dot product of the query with
#    this token.
# 2. A query (d,) and inputs (T, d) give T scores, in the shape (T,). For example, the query (1, 0) and the inputs [[2,
#    5], [3, 4]] give the scores (2, 3).
# 3. One way: a matrix times a vector, with `@`. The matrix (T, d) comes first, so that each of its rows meets the
#    query. Another way: `dot_product` with each row, and `torch.stack` for the results.

# %% [markdown]
# ## From scores to weights: a first try
#
# Scores can have any size. To mix the tokens we want *weights* that sum to one. The simplest way is to divide each
# score by the sum of all scores:
#
#     α_i = ω_i / Σ_j ω_j
#
# Before you continue, try it with the scores 2, 1 and -2.9. Look at the result.


# %% nbgrader={"grade": false, "grade_id": "normalize_by_sum", "locked": false, "schema_version": 3, "solution": true, "task": false}
def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    """Divide scores by their sum.

    Takes `scores` (T,), positive or negative. Their sum is not zero. Returns (T,):

    - each result is the score divided by the sum of all scores, also for negative scores
    - any number of scores, including one
    - float32 and float64 scores both work
    - gradients flow to the scores, also through their sum
    - the scores are not changed

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Divide by the sum.
    ### BEGIN SOLUTION
    return scores / scores.sum()
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Turn each score into its share of the total. So every score is divided by the same number: the sum of all scores.
# 2. Scores (T,) go in, and (T,) comes out. For example, (1, 2, 5) has the sum 8 and becomes (0.125, 0.25, 0.625).
# 3. One way: `scores.sum()` is a tensor with one number, and `/` divides every score by it. Negative scores need no
#    special case.

# %% [markdown]
# ## Softmax
#
# Scores can be positive and negative. If you divide them by their sum, a weight can be negative or larger than one. If
# the sum is near zero, the weights become very large. **Softmax** first takes the exponential of each score:
#
#     softmax(x)_i = exp(x_i) / Σ_j exp(x_j)
#
# Every exponential is positive, so every weight is positive too. (On a computer, a weight that is much too small is
# rounded to 0.) A larger score gets a larger weight. If one score is larger by one, its weight is larger by the factor
# e = 2.718. The derivatives are simple too, which helps in training.
#
# A tensor with several dimensions contains many lists of scores. `dim` says along which dimension each list lies. Along
# this dimension the results sum to one. Use `keepdim=True` in `sum`: then you can divide directly.


# %% nbgrader={"grade": false, "grade_id": "softmax_naive", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Compute softmax exactly as in the formula.

    Takes `x` with one dimension or more. No entry is too large for the exponential. Returns the same shape:

    - each result is the exponential of its entry, divided by the sum of the exponentials along `dim`
    - without `dim`, the sum runs along the last dimension
    - dim may be any dimension, counted from the front or (if negative) from the back
    - float32 and float64 entries both work
    - gradients flow to x
    - x is not changed

    Write it with `torch.exp`, without a ready-made softmax. If you use one, you get a comment but lose no points.

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Take exponentials, then divide them by their sum along `dim`.
    ### BEGIN SOLUTION
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Make every number positive with the exponential. Then divide by the sum, as in the exercise before. A tensor with
#    several dimensions contains many lists, and each list has its own sum.
# 2. The shape stays the same. For example, x (2, 3) with dim=-1 contains two lists of three numbers. The sums should be
#    (2, 1), so that they can divide (2, 3). A row (0, 0, 0) becomes (1/3, 1/3, 1/3).
# 3. One way: `torch.exp(x)`, divided by its own `.sum(dim=dim, keepdim=True)`. Without `keepdim=True` the dimension of
#    the sum is gone: then the division fails, or it uses the wrong sums.

# %% [markdown]
# ## A softmax that cannot overflow
#
# Try `softmax_naive(torch.tensor([1000.0, 999.0]))`. The exponential of 1000 is larger than every number in float32 or
# float64. It becomes infinite, and infinity divided by infinity is not a number (`nan`). With -1000 and -999 there is
# another problem: both exponentials are too small and become 0, and 0 / 0 is not a number.
#
# The solution is simple: subtract the same number `c` from every entry. The result does not change.
#
#     exp(x_i - c) / Σ_j exp(x_j - c) = exp(-c) · exp(x_i) / (exp(-c) · Σ_j exp(x_j))
#                                     = exp(x_i) / Σ_j exp(x_j)
#
# Take the maximum as `c`. Then the largest exponent is 0. So no exponential is larger than 1, and at least one *is* 1.
# The sum is therefore never zero. Each list of scores has its own maximum: think of one row with entries near 10,000
# and another row with entries near -10,000.
#
# An entry may also be -∞: its exponential is 0. Unit 3 hides tokens in this way.


# %% nbgrader={"grade": false, "grade_id": "softmax_stable", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Compute a softmax that stays finite for entries of any size.

    Takes `x` with one dimension or more. Returns the same shape:

    - each result is the exponential of its entry, divided by the sum of the exponentials along `dim`
    - without `dim`, the sum runs along the last dimension
    - dim may be any dimension, counted from the front or (if negative) from the back
    - x may be non-contiguous, for example the result of a transpose
    - entries of ±10,000, in any combination, give finite and correct results
    - an entry of -inf beside finite ones gives 0, and the other results are the same as without it
    - the result keeps the dtype of x, float32 or float64
    - gradients flow to x
    - x is not changed

    Write it with `torch.exp`, without a ready-made softmax. If you use one, you get a comment but lose no points.

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Subtract the maximum along `dim`, then continue as before.
    ### BEGIN SOLUTION
    largest = x.max(dim=dim, keepdim=True).values
    exponentials = torch.exp(x - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Subtract the largest entry of each list before you take the exponentials. The result is the same, but now the
#    largest exponent is 0, so nothing becomes infinite.
# 2. The shape stays the same. For x (2, 3) and dim=-1 there are two maxima, in the shape (2, 1): each row has its own.
#    For example, (1000, 999) becomes (0, -1), and then (0.7311, 0.2689).
# 3. One way: `x.max(dim=dim, keepdim=True)` gives values and indices, and you need its `.values`. Or use
#    `x.amax(dim=dim, keepdim=True)`, which gives only the values. Subtract this from x, and continue as in
#    `softmax_naive`.

# %% [markdown]
# ## The context vector
#
# The weights say how much the query takes from each token. Multiply each embedding by its weight and add them up. The
# result is the query's **context vector**:
#
#     z = Σ_i α_i · x_i
#
# It has the same width as an embedding. It is the embedding of the token, *enriched* with information from the other
# tokens.


# %% nbgrader={"grade": false, "grade_id": "context_vector", "locked": false, "schema_version": 3, "solution": true, "task": false}
def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Add up the inputs, each times its weight.

    Takes `weights` (T,) and `inputs` (T, d). Returns the context vector (d,):

    - the result is the sum of the rows of the inputs, each row i times weight i
    - the weights are used without any change, also if they are negative or do not sum to one
    - any number of tokens, including one
    - float32 and float64 arguments both work
    - gradients flow to the weights and to the inputs
    - the arguments are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Multiply each row by its weight and add up the rows.
    ### BEGIN SOLUTION
    return weights @ inputs  # (T,) @ (T, d) -> (d,)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The context vector is a mixture of the tokens. Take a part of each token, as large as its weight says, and add the
#    parts.
# 2. Weights (T,) and inputs (T, d) give one vector (d,). For example, the weights (0.5, 0.5) and the inputs [[2, 0],
#    [4, 6]] give (3, 3).
# 3. One way: a vector times a matrix, with `@` and the weights first, sums over the tokens. Another way: make the
#    weights (T, 1) with `weights[:, None]`, multiply the inputs by them, and take `.sum(dim=0)`.

# %% [markdown]
# ## Self-attention
#
# So far one token was the query. In **self-attention** every token of the sequence is a query, and looks at the tokens
# of the same sequence, including itself. Let the tokens be the rows of X. Then one matrix product gives all scores, and
# another one gives all context vectors:
#
#     A = softmax(X · Xᵀ)      Z = A · X
#
# Row `i` of A contains the weights of query `i`, so each *row* sums to one. The scores are symmetric: x_i · x_j is the
# same as x_j · x_i. The weights are not symmetric, because each row is divided by its own sum.
#
# Nothing here is trained yet: the scores depend only on the embeddings. Unit 2 adds weights that the model can learn.


# %% nbgrader={"grade": false, "grade_id": "simple_self_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Let every token attend to all tokens, including itself.

    Takes `inputs` (T, d). Returns contexts (T, d) and weights (T, T):

    - the scores are the dot products of every token with every token, not scaled and not masked
    - row i of the weights is the softmax of token i's scores over all tokens, so each row sums to one
    - context i is the sum of the inputs, each times its weight in row i
    - the result is the pair (contexts, weights)
    - any number of tokens, including one
    - float32 and float64 inputs both work
    - gradients flow to the inputs
    - the inputs are not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Compute the scores, then the weights, then the contexts.
    ### BEGIN SOLUTION
    scores = inputs @ inputs.T  # (T, d) @ (d, T) -> (T, T)
    weights = softmax_stable(scores, dim=-1)  # each row on its own
    contexts = weights @ inputs  # (T, T) @ (T, d) -> (T, d)
    return contexts, weights
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Do the same as for one query, but now every token is a query. First compute all scores, then the softmax of each
#    row of scores, then one mixture for each row of weights.
# 2. Inputs (T, d) give scores (T, T), weights (T, T) and contexts (T, d). For example, three tokens (3, 2) give scores
#    and weights (3, 3), and contexts (3, 2). Each row of the weights sums to 1.
# 3. One way: multiply the inputs by their transpose, `inputs.T`, in the order (T, d) @ (d, T). Then call your
#    `softmax_stable` for the last dimension, and multiply the weights by the inputs with `@`. Return the pair
#    (contexts, weights).

# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python simple_attention.py`. It shows an
# example of each exercise that you have written.
#
# The scores 2, 1 and -2.9 have the sum 0.1, so `normalize_by_sum` gives 20, 10 and -29. Nothing can be mixed with such
# weights. Softmax gives 0.7271, 0.2675 and 0.0054. With scores that are a thousand times larger, `softmax_stable` gives
# all the weight to the first token. Change the numbers, and guess the results before you run it again.

# %%
if __name__ == "__main__":
    inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # three tokens with two features each
    scores = torch.tensor([2.0, 1.0, -2.9])
    examples = {
        "dot_product": lambda: dot_product([1, 2, 3], [4, 5, 6]),
        "attention_scores": lambda: attention_scores(inputs[2], inputs),
        "normalize_by_sum": lambda: normalize_by_sum(scores),
        "softmax_naive": lambda: softmax_naive(scores),
        "softmax_stable": lambda: softmax_stable(1000 * scores),
        "context_vector": lambda: context_vector(torch.tensor([0.5, 0.3, 0.2]), inputs),
        "simple_self_attention": lambda: simple_self_attention(inputs),
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
