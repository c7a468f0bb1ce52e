# %% [markdown]
# # Unit 5: positions of tokens
#
# Here are two sentences with the same words:
#
# > Even though she did **not** win the award, she was satisfied.
# >
# > Even though she did win the award, she was **not** satisfied.
#
# One word has moved, and the meaning has changed. The attention of unit 2 does not notice this. A context vector is a
# *sum* over all tokens, and a sum is the same in any order: "satisfied" gets the same context in both sentences. In
# symbols, let the matrix P put the rows of X into another order. Then
#
#     softmax(PX · (PX)ᵀ) · PX  =  P · softmax(X · Xᵀ) · Pᵀ · PX  =  P · softmax(X · Xᵀ) · X
#
# The contexts are the same, in the new order: attention is **permutation-equivariant**. Try it with your function of
# unit 1. This prints zeros, up to rounding:
#
# ```python
# from simple_attention import simple_self_attention
#
# x, order = torch.randn(4, 3), [2, 0, 3, 1]
# print(simple_self_attention(x)[0][order] - simple_self_attention(x[order])[0])
# ```
#
# A causal mask changes this only in part. One layer of attention then distinguishes the past from the future, but the
# order within the past does not count. Deeper layers get an indirect trace of the order, because the tokens that they
# read have already seen different pasts. (A recurrent network has no such problem: it reads one token after the other.)
#
# So each token needs information about its position. In this unit you first write a linear layer, and see that it does
# not know positions either. Then you write the encoding of positions by sines and cosines, and add it to the embeddings
# of tokens.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check positional_encoding`. You can also run `pytest checks/test_positional_encoding.py` in the
# folder of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: the encoding comes from Vaswani et al., *Attention Is All You Need* (2017), section 3.5. The learned
# positions that it is compared with are those of Radford et al., *Language Models are Unsupervised Multitask
# Learners* (2019), the paper on GPT-2.

# %%
import torch

# %% [markdown]
# ## A linear layer is one matrix product
#
# Apart from attention, a transformer consists mainly of linear layers. Such a layer multiplies each row x_i with the
# same weights and adds the same bias. For all rows together this is one matrix product:
#
#     y_i = x_i · W + b      Y = X · W + b
#
# PyTorch adds the `k` numbers of the bias to every row of the product, which is (m, k). The bias is *added*. If it is
# added to the weights, the result is different: x_i · (W + b).
#
# Row `i` of the result depends only on row `i` of X. If you reorder the rows, the results are reordered in the same
# way. So a linear layer does not know the position of a token either.
#
# PyTorch's own `nn.Linear(n, k)` does the same, but stores its weight transposed, (k, n). Our `weight` is
# `layer.weight.T` there.


# %%
def linear_as_matmul(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer to every row at once.

    Takes `x` (m, n), `weight` (n, k) and `bias` (k,). Returns (m, k):

    - row i of the result is row i of x times the weight, plus the bias
    - any number of rows, including one
    - float32 and float64 arguments both work
    - gradients flow to x, to the weight and to the bias
    - the arguments are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Multiply by the weight, then add the bias.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## A clock with many hands
#
# Every position needs its own vector. The number of the position itself is not suitable: in a long text it becomes much
# larger than the numbers of an embedding. If you divide it by the length of the text, it stays small, but then one step
# is a different number in every text. We want numbers of limited size, and steps of the same size in every text.
#
# A clock has both properties. Each hand repeats, but all hands together show a different time at each moment: the fast
# hand shows the seconds, the slow one the hours. The encoding is a clock with d_model / 2 hands. The tip of hand `i`
# gives two numbers, the sine and the cosine of its angle:
#
#     PE[pos, 2i]     = sin(pos / 10000^(2i / d_model))
#     PE[pos, 2i + 1] = cos(pos / 10000^(2i / d_model))
#
# The two are next to each other: sine, cosine, sine, cosine, … Hand 0 turns by 1 (in radians) with each position, and
# makes a full turn after 2π ≈ 6.3 positions. Each hand is slower than the one before, always by the same factor. In a
# wide model the slowest hand needs almost 10,000 · 2π positions. With d_model = 4 there are two hands, and row `pos` is
#
#     ( sin(pos),  cos(pos),  sin(pos / 100),  cos(pos / 100) )
#
# Be careful: `i` counts the hands. The columns of the sines are 0, 2, 4, …, and `torch.arange(0, d_model, 2)` gives
# these: it is already 2i. If you double it again, the divisor of each hand is squared: 10,000 instead of 100.
#
# Why a sine *and* a cosine? Let ω_i = 1 / 10000^(2i / d_model). With both, a step of `k` positions turns hand `i` by
# the angle ω_i · k, and a rotation is a matrix product:
#
#     [ sin(ω_i · (pos + k)) ]   [  cos(ω_i · k)   sin(ω_i · k) ]   [ sin(ω_i · pos) ]
#     [ cos(ω_i · (pos + k)) ] = [ -sin(ω_i · k)   cos(ω_i · k) ] · [ cos(ω_i · pos) ]
#
# The matrix depends on `k` and not on `pos`. So "three tokens back" is the same linear map at every position, and
# `W_query` and `W_key` can learn a linear map.


# %%
def sinusoidal_encoding(num_positions: int, d_model: int) -> torch.Tensor:
    """Encode positions by sines and cosines.

    Returns a tensor (T, d_model) for T = num_positions, graded for T up to 256 and within 1e-4:

    - entry [pos, 2i] is sin(pos / 10000^(2i / d_model))
    - entry [pos, 2i + 1] is the cosine of the same angle
    - positions are counted from 0
    - any number of positions, including one
    - an odd d_model raises ValueError or AssertionError

    Time: 30 minutes. Difficulty: hard.
    """
    # TODO: Raise an error for an odd d_model, compute the angle of each hand at each position, and alternate sines and
    # cosines.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Token plus position
#
# The input of a model is the sum of two vectors: one for the token, and one for its position.
#
#     x_t = embedding(token_t) + PE_t
#
# They are added, not concatenated, so the width stays `d`. A model with many features has enough room for both.
# Position `t` gets the same vector in every sequence of a batch.
#
# The other way is to *learn* the positions: a table with one row for each position, `nn.Embedding(context_length, d)`,
# trained like the embeddings of tokens. GPT-2 does that, with 1,024 rows. Such a table adapts to its task, but it has
# parameters to train, and it has an end: the 1,025th token has no row. Sines and cosines have nothing to train and a
# row for any position. But this does not mean that the model works well at positions that it never saw in training.
# Vaswani et al. tried both and found almost no difference.
#
# An example: unit 4 had eight tokens of width 32. Their encoding is (8, 32) too, with 16 hands, and so is the sum. Hand
# 0 makes a full turn in 6.28 positions, hand 1 in 11.17, hand 8 in 628 and hand 15 in 35,333. Between the first and the
# last of the eight tokens, the tip of hand 2 moves by 1.7885, the tip of hand 8 by 0.0700 and the tip of hand 15 by
# 0.0012. So a short text uses only the fast hands.
#
# Be careful with two points. Float32 and float64 together give float64: if the result should have the dtype of `x`, the
# encoding needs this dtype too. And `x += …` changes the caller's tensor.


# %%
def add_positions(x: torch.Tensor) -> torch.Tensor:
    """Add the encoding of its position to each token.

    Takes embeddings `x` (B, T, d), B sequences of T tokens. Returns (B, T, d):

    - token t of every sequence is token t of x, not scaled, plus row t of the encoding from the last exercise
    - any number of sequences and of tokens, including one
    - an odd d raises ValueError or AssertionError
    - the result keeps the dtype of x, float32 or float64
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Encode as many positions as there are tokens, in the dtype of x, and add that to x.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# Now the order counts. The same lines as above, with positions added, no longer print zeros:
#
# ```python
# from simple_attention import simple_self_attention
#
# x, order = torch.randn(1, 4, 6), [2, 0, 3, 1]
# in_order, moved = add_positions(x)[0], add_positions(x[:, order])[0]
# print(simple_self_attention(in_order)[0][order] - simple_self_attention(moved)[0])
# ```

# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python positional_encoding.py`. It shows an
# example of each exercise that you have written.
#
# With d_model = 4, row 1 of the encoding is sin 1, cos 1, sin 0.01 and cos 0.01: 0.8415, 0.5403, 0.0100 and 0.9999.

# %%
if __name__ == "__main__":
    examples = {
        "linear_as_matmul": lambda: linear_as_matmul(torch.eye(2), torch.ones(2, 3), torch.tensor([1.0, 2.0, 3.0])),
        "sinusoidal_encoding": lambda: sinusoidal_encoding(3, 4),
        "add_positions": lambda: add_positions(torch.ones(1, 3, 4)),
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
