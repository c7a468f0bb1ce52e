# %% [markdown]
# # Unit 5: positions, or where a token stands
#
# Two sentences, made of the same words:
#
# > Even though she did **not** win the award, she was satisfied.
# >
# > Even though she did win the award, she was **not** satisfied.
#
# One word has moved, and the meaning is another one. The attention of unit 2 does not notice. A context vector is a
# *sum* over all tokens, and a sum is the same in any order: "satisfied" gets one and the same context in both. In
# symbols, let the matrix $P$ put the rows of $X$ into another order. Then
#
# $$\text{softmax}\!\left(PX\,(PX)^\top\right) PX = P\;\text{softmax}\!\left(XX^\top\right) P^\top P X =
# P\;\text{softmax}\!\left(XX^\top\right) X$$
#
# The same contexts come out, in the new order: attention is **permutation-equivariant**. See for yourself, with
# your function of unit 1. This prints zeros, up to rounding:
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
# So each token has to carry its place with it. In this unit you write a linear layer, to see that it does not know
# about places either, then the encoding of positions by sines and cosines, and then you add the one to the
# embeddings of tokens.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result is graded only if a rule names it or says that it is kept. To check your
# answers, run `grader check positional_encoding`. You can also run `pytest test_positional_encoding.py` in the folder
# of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: the encoding comes from Vaswani et al., *Attention Is All You Need* (2017), section 3.5. The learned
# positions that it is compared with are those of Radford et al., *Language Models are Unsupervised Multitask
# Learners* (2019), the paper on GPT-2.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% [markdown]
# ## A linear layer is one matrix product
#
# Beside attention, a transformer is made of linear layers. Such a layer takes each row $x_i$ through the same
# weights, and adds the same bias. All rows at once, that is one matrix product:
#
# $$y_i = x_i W + b \qquad\qquad Y = X W + b$$
#
# Torch adds the $k$ numbers of the bias to every row of the product, which is (m, k). It is *added*: $x_i (W + b)$
# is something else.
#
# Row $i$ of the result depends on row $i$ of $X$ and on nothing else. If you reorder the rows, the results are
# reordered in the same way. So a linear layer does not know either where a token stands.
#
# Torch's own `nn.Linear(n, k)` does the same, but keeps its weight transposed, (k, n). What is `weight` here is
# `layer.weight.T` there.


# %% nbgrader={"grade": false, "grade_id": "linear_as_matmul", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_as_matmul(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Take every row through a linear layer at once.

    Takes `x` (m, n), `weight` (n, k) and `bias` (k,). Gives (m, k):

    - row i of the result is row i of x times the weight, plus the bias
    - any number of rows, including one
    - float32 and float64 arguments both work
    - gradients flow to x, to the weight and to the bias
    - the arguments are not changed
    """
    # TODO: Multiply by the weight, then add the bias.
    ### BEGIN SOLUTION
    return x @ weight + bias  # (m, n) @ (n, k) + (k,) -> (m, k)
    ### END SOLUTION


# %% [markdown]
# ## A clock with many hands
#
# Every position needs a vector of its own. The number of the position itself will not do: in a long text it grows
# far beyond the numbers of an embedding. Dividing it by the length of the text keeps it small, but then one
# step is a different number in every text. We want numbers of limited size, and a step that is the same
# everywhere.
#
# A clock is like that. Its hands only go round, and yet together they tell one moment from another: the
# fast hand tells seconds apart, the slow one morning from evening. The encoding is a clock with
# $d_\text{model} / 2$ hands, and the tip of hand $i$ gives two numbers, the sine and the cosine of its angle:
#
# $$\text{PE}_{(pos,\, 2i)} = \sin\!\left(\frac{pos}{10000^{2i / d_\text{model}}}\right) \qquad
# \text{PE}_{(pos,\, 2i+1)} = \cos\!\left(\frac{pos}{10000^{2i / d_\text{model}}}\right)$$
#
# The two stand side by side: sine, cosine, sine, cosine, … Hand 0 turns by 1 (in radians) with each position, and is
# round after $2\pi \approx 6.3$ of them. Each hand is slower than the one before, all by the same factor, and in a wide
# model the slowest needs almost $10000 \cdot 2\pi$ positions. With $d_\text{model} = 4$ there are two hands, and row
# $pos$ is
#
# $$\left(\sin pos,\; \cos pos,\; \sin \tfrac{pos}{100},\; \cos \tfrac{pos}{100}\right)$$
#
# A trap: $i$ counts the hands. The columns of the sines are 0, 2, 4, …, and `torch.arange(0, d_model, 2)` gives
# these: it is $2i$ already. If you double it once more, the divisor of each hand is squared: 10,000 in place of 100.
#
# Why a sine *and* a cosine? With both, going $k$ positions on turns hand $i$ by the angle $k\omega_i$, where
# $\omega_i = 10000^{-2i / d_\text{model}}$. To turn is a matrix product:
#
# $$\begin{pmatrix} \sin \omega_i (pos + k) \\ \cos \omega_i (pos + k) \end{pmatrix} =
# \begin{pmatrix} \cos \omega_i k & \sin \omega_i k \\ -\sin \omega_i k & \cos \omega_i k \end{pmatrix}
# \begin{pmatrix} \sin \omega_i\, pos \\ \cos \omega_i\, pos \end{pmatrix}$$
#
# The matrix depends on $k$ and not on $pos$. So "three tokens back" is the same linear map at every place, and
# a linear map is what `W_query` and `W_key` can learn.


# %% nbgrader={"grade": false, "grade_id": "sinusoidal_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoidal_encoding(num_positions: int, d_model: int) -> torch.Tensor:
    """Encode positions by sines and cosines.

    Gives a tensor (T, d_model) for T = num_positions, graded for T up to 256 and within 1e-4:

    - entry [pos, 2i] is sin(pos / 10000^(2i / d_model))
    - entry [pos, 2i + 1] is the cosine of the same angle
    - positions are counted from 0
    - any number of positions, including one
    - an odd d_model raises ValueError or AssertionError
    """
    # TODO: Refuse an odd d_model, compute the angle of each hand at each position, and put sines and cosines in turn.
    ### BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}, and sines and cosines come in pairs: it has to be even")
    positions = torch.arange(num_positions).unsqueeze(1)  # (T,) -> (T, 1)
    two_i = torch.arange(0, d_model, 2)  # (d_model / 2,)
    angles = positions / 10000 ** (two_i / d_model)  # (T, 1) / (d_model / 2,) -> (T, d_model / 2)
    # Two (T, d_model / 2) -> (T, d_model / 2, 2) -> (T, d_model): each sine with its cosine beside it.
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)
    ### END SOLUTION


# %% [markdown]
# ## Token plus position
#
# A model's input is the sum of two vectors: which token it is, and where it stands.
#
# $$x_t = \text{embedding}(\text{token}_t) + \text{PE}_t$$
#
# They are added, not put one behind the other, so the width stays $d$; a model with many features finds room for
# both. Position $t$ gets the same vector in every sequence of a batch.
#
# The other way is to *learn* the positions: a table with one row for each of them, `nn.Embedding(context_length, d)`,
# trained like the embeddings of tokens. GPT-2 does that, with 1,024 rows. Such a table fits its task, but it has
# parameters to train, and it ends: the 1,025th token has no row. Sines and cosines have nothing to train and a row
# for any position. Vaswani et al. tried both and found hardly a difference.
#
# Two traps. Float32 and float64 together give float64: for the result to have the dtype of `x`, the encoding needs
# it too. And `x += …` changes the tensor that the caller still holds.


# %% nbgrader={"grade": false, "grade_id": "add_positions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_positions(x: torch.Tensor) -> torch.Tensor:
    """Add to each token the encoding of its position.

    Takes embeddings `x` (B, T, d), B sequences of T tokens. Gives (B, T, d):

    - token t of every sequence is that of x, as it is, plus row t of the encoding from the last exercise
    - any number of sequences and of tokens, including one
    - an odd d raises ValueError or AssertionError
    - the result keeps the dtype of x, float32 or float64
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed
    """
    # TODO: Encode as many positions as there are tokens, in the dtype of x, and add that to x.
    ### BEGIN SOLUTION
    num_tokens, d = x.shape[-2:]
    return x + sinusoidal_encoding(num_tokens, d).to(x.dtype)  # (B, T, d) + (T, d) -> (B, T, d)
    ### END SOLUTION


# %% [markdown]
# Now the order counts. The same lines as above, with the places added, print no zeros any more:
#
# ```python
# from simple_attention import simple_self_attention
#
# x, order = torch.randn(1, 4, 6), [2, 0, 3, 1]
# in_order, moved = add_positions(x)[0], add_positions(x[:, order])[0]
# print(simple_self_attention(in_order)[0][order] - simple_self_attention(moved)[0])
# ```
