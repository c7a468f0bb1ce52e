# %% [markdown]
# # Unit 4: multi-head attention
#
# The attention of unit 3 mixes the past of a token in one way: each token has only one row of weights. But a word has
# more than one question. In "the cat sleeps" the verb asks *who sleeps?*, while the noun asks *which cat?*.
# **Multi-head attention** runs several small attentions next to each other, its **heads**. Each head has its own
# queries, keys and values, so each head can learn its own pattern. Groups in a convolution are similar: several small
# operations, each with its own features, instead of a large one.
#
# You will write it in two ways. First you write the steps that make and merge heads, as small functions with numbers
# that you can check by hand. Then you write two modules. The first keeps a list of heads, which is easy to understand.
# The second computes all heads at once, as GPT does. At the end you show that both are the same function, and build the
# attention of GPT-2.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check multi_head_attention`. You can also run `pytest checks/test_multi_head_attention.py` in the
# folder of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: multi-head attention comes from Vaswani et al., *Attention Is All You Need* (2017). The two modules and the
# numbers of their worked examples follow chapter 3 of Sebastian Raschka, *Build a Large Language Model (From Scratch)*
# (2024). The comparison with groups in a convolution is from Andrej Karpathy, *Let's build GPT: from scratch, in code,
# spelled out* (2023).

# %%
import torch
from torch import nn

# %% [markdown]
# ## Your own CausalAttention
#
# The heads of this unit are the `CausalAttention` from your unit 3. In a script, the line below imports it from your
# `causal_attention.py`. A separate notebook has no such file: paste your class there instead of the line.

# %%
# isort: split
from causal_attention import CausalAttention

# %% [markdown]
# ## Ten steps from tokens to contexts
#
# Multi-head attention has ten steps, and most mistakes are wrong shapes. So look at the shapes in each step. The
# example is one sequence of three tokens, `the cat sleeps`, with six features each:
#
# | step | | shape | in the example |
# |---|---|---|---|
# | 1 | the input | (B, T, d_in) | (1, 3, 6) |
# | 2 | choose d_out and the heads: head_dim = d_out / H | | 6 = 2 · 3 |
# | 3 | three weight matrices | (d_in, d_out) | (6, 6) |
# | 4 | queries, keys and values | (B, T, d_out) | (1, 3, 6) |
# | 5 | unroll the last dimension | (B, T, H, head_dim) | (1, 3, 2, 3) |
# | 6 | group by head | (B, H, T, head_dim) | (1, 2, 3, 3) |
# | 7 | scores | (B, H, T, T) | (1, 2, 3, 3) |
# | 8 | mask, scale, softmax | (B, H, T, T) | (1, 2, 3, 3) |
# | 9 | contexts | (B, H, T, head_dim) | (1, 2, 3, 3) |
# | 10 | merge the heads | (B, T, d_out) | (1, 3, 6) |
#
# The first six exercises cover steps 5 to 8 and step 10. Step 9 is one line of code. Here are the four steps before
# them, with all numbers as PyTorch prints them. The input (step 1) and the number of heads (step 2: two, with three
# features each) are given:
#
# ```text
# 1. the input (1, 3, 6)
# tensor([[[1., 2., 3., 4., 5., 6.],
#          [6., 5., 4., 3., 2., 1.],
#          [1., 1., 1., 1., 1., 1.]]])
# ```
#
# Step 3: training would find the weight matrices. These were made so that you can check all numbers by hand. A column
# of `W_query` takes one feature of a token and halves it; three columns also change its sign. A column of `W_key` takes
# one feature without change. `W_value` keeps all six features, so that every context will be a mixture of the input's
# own numbers.
#
# ```text
# 3. W_query (6, 6)
# tensor([[ 0.0000,  0.0000,  0.0000, -0.5000,  0.0000,  0.0000],
#         [ 0.0000,  0.0000,  0.0000,  0.0000,  0.5000,  0.0000],
#         [ 0.0000,  0.0000,  0.0000,  0.0000,  0.0000, -0.5000],
#         [ 0.5000,  0.0000,  0.0000,  0.0000,  0.0000,  0.0000],
#         [ 0.0000,  0.5000,  0.0000,  0.0000,  0.0000,  0.0000],
#         [ 0.0000,  0.0000, -0.5000,  0.0000,  0.0000,  0.0000]])
#
# 3. W_key (6, 6)
# tensor([[0., 0., 0., 1., 0., 0.],
#         [0., 0., 0., 0., 1., 0.],
#         [0., 1., 0., 0., 0., 0.],
#         [1., 0., 0., 0., 0., 0.],
#         [0., 0., 0., 0., 0., 1.],
#         [0., 0., 1., 0., 0., 0.]])
#
# 3. W_value (6, 6)
# tensor([[1., 0., 0., 0., 0., 0.],
#         [0., 1., 0., 0., 0., 0.],
#         [0., 0., 1., 0., 0., 0.],
#         [0., 0., 0., 1., 0., 0.],
#         [0., 0., 0., 0., 1., 0.],
#         [0., 0., 0., 0., 0., 1.]])
# ```
#
# Step 4 is one matrix product for each of the three, as in unit 2. The first number of the queries is 4 · 0.5 = 2:
# column 0 of `W_query` takes half of the fourth feature.
#
# ```text
# 4. queries (1, 3, 6)
# tensor([[[ 2.0000,  2.5000, -3.0000, -0.5000,  1.0000, -1.5000],
#          [ 1.5000,  1.0000, -0.5000, -3.0000,  2.5000, -2.0000],
#          [ 0.5000,  0.5000, -0.5000, -0.5000,  0.5000, -0.5000]]])
#
# 4. keys (1, 3, 6)
# tensor([[[4., 3., 6., 1., 2., 5.],
#          [3., 4., 1., 6., 5., 2.],
#          [1., 1., 1., 1., 1., 1.]]])
#
# 4. values (1, 3, 6)
# tensor([[[1., 2., 3., 4., 5., 6.],
#          [6., 5., 4., 3., 2., 1.],
#          [1., 1., 1., 1., 1., 1.]]])
# ```
#
# ## Step 5: unroll
#
# Each token has d_out features. The first head_dim features belong to head 0, the next to head 1, and so on. If you
# write the last dimension as two, d_out = H · head_dim, no number moves: only the brackets change. Token `the` now has
# two rows, one for each head:
#
# ```text
# 5. queries, unrolled (1, 3, 2, 3)
# tensor([[[[ 2.0000,  2.5000, -3.0000],
#           [-0.5000,  1.0000, -1.5000]],
#
#          [[ 1.5000,  1.0000, -0.5000],
#           [-3.0000,  2.5000, -2.0000]],
#
#          [[ 0.5000,  0.5000, -0.5000],
#           [-0.5000,  0.5000, -0.5000]]]])
# ```


# %%
def unroll_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Unroll the last dimension of `x` into heads and the features of each head.

    Takes `x` (B, T, d_out). Returns (B, T, H, head_dim), where H is `num_heads` and head_dim = d_out / H:

    - head h has the head_dim features that begin at h · head_dim, in their order
    - if num_heads does not divide d_out, it raises ValueError or AssertionError
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Raise an error if num_heads does not divide d_out, then reshape.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 6: group by head
#
# A matrix product works on the last two dimensions and repeats this for all dimensions in front. Each head should work
# separately, so the heads must come before the tokens: two dimensions are swapped. Head 0 now has three rows, one for
# each token:
#
# ```text
# 6. queries, by head (1, 2, 3, 3)
# tensor([[[[ 2.0000,  2.5000, -3.0000],
#           [ 1.5000,  1.0000, -0.5000],
#           [ 0.5000,  0.5000, -0.5000]],
#
#          [[-0.5000,  1.0000, -1.5000],
#           [-3.0000,  2.5000, -2.0000],
#           [-0.5000,  0.5000, -0.5000]]]])
# ```
#
# Why not `reshape` directly to (B, H, T, head_dim)? The shape would be correct and there would be no error. But a
# reshape keeps the numbers in their order. So head 0 would get both halves of `the` and the first half of `cat`, as if
# they were three tokens. Compare with the numbers above.


# %%
def group_by_head(x: torch.Tensor) -> torch.Tensor:
    """Group the tokens by head.

    Takes `x` (B, T, H, head_dim). Returns (B, H, T, head_dim):

    - the tokens of each head are grouped: the features at [b, t, h] move to [b, h, t]
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Swap two dimensions.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 7: scores
#
# Every query is multiplied with every key of the same head and of the same sequence. It is the product of unit 2 again,
# for all heads at once:
#
# ```text
# 7. scores (1, 2, 3, 3)
# tensor([[[[-2.5000, 13.0000,  1.5000],
#           [ 6.0000,  8.0000,  2.0000],
#           [ 0.5000,  3.0000,  0.5000]],
#
#          [[-6.0000, -1.0000, -1.0000],
#           [-8.0000, -9.5000, -2.5000],
#           [-2.0000, -1.5000, -0.5000]]]])
# ```
#
# Row 2 of head 0 has the scores of the query of `sleeps`. With `cat` it scores 0.5 · 3 + 0.5 · 4 − 0.5 · 1 = 3, more
# more than with the other two. The largest score of all, 13, is that of `the` with `cat`, a token that it must not see.
#
# One product of tensors with four dimensions does the same as a loop over the heads. Try it with one text, two heads,
# two tokens and three features:
#
# ```python
# a = torch.arange(1.0, 13.0).reshape(1, 2, 2, 3)
# print(a @ a.transpose(2, 3))
# print(torch.stack([head @ head.T for head in a[0]]))
# ```
#
# Both print [[14, 32], [32, 77]] for head 0 and [[194, 266], [266, 365]] for head 1. But in the first line no head
# waits for another: PyTorch can compute them in parallel.


# %%
def head_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Score every query with every key of the same head.

    Takes `queries` and `keys`, each (B, H, T, head_dim). Returns (B, H, T, T), a row for each query:

    - each score is the dot product of a query with a key of the same head, not yet scaled
    - each head and each sequence is computed separately
    - queries and keys may be non-contiguous, for example the result of a transpose
    - gradients flow to both
    - queries and keys are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Multiply the queries by the transposed keys; transpose only the last two dimensions.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 8: mask, scale, softmax
#
# Hide the future, divide by √head_dim, and take the softmax over the keys. The divisor depends on head_dim, not on
# d_out: a score sums as many products as *one head* has features. Unit 2 measured what that does to its variance. (Some
# notes say that the scores are divided by 1/√head_dim. They are *multiplied* by it.) The solution makes the mask on the
# device of the scores. The module of unit 3 does not need that: its mask is a buffer, which moves with the module.
#
# ```text
# 8. weights (1, 2, 3, 3)
# tensor([[[[1.0000, 0.0000, 0.0000],
#           [0.2396, 0.7604, 0.0000],
#           [0.1604, 0.6792, 0.1604]],
#
#          [[1.0000, 0.0000, 0.0000],
#           [0.7039, 0.2961, 0.0000],
#           [0.2122, 0.2832, 0.5045]]]])
# ```
#
# The two heads look at the same three tokens and find different things. In head 0, `sleeps` gives most of its weight to
# `cat`: who sleeps? In head 1, `cat` gives weight to `the`, and `sleeps` gives most of its weight to itself.


# %%
def head_weights(scores: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Turn the scores of each head into causal attention weights.

    Takes `scores` (B, H, T, T) and the number of features of a head. Returns (B, H, T, T):

    - no token gives weight to a later one
    - the weights are the softmax of scores / √head_dim over the keys that are not hidden
    - the weights are also correct if a score of the future is far above the others
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - gradients flow to the scores
    - the scores are not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Hide the future, scale, and apply softmax over the keys.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Steps 5 and 6 in one
#
# Queries, keys and values all need both steps, so write one function for them.


# %%
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Split the features of every token into heads: unroll, then group.

    Takes `x` (B, T, d_out). Returns (B, H, T, head_dim), where H is `num_heads` and head_dim = d_out / H:

    - head h has the head_dim features of every token that begin at h · head_dim
    - if num_heads does not divide d_out, it raises ValueError or AssertionError
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Do both steps, one after the other.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Steps 9 and 10: contexts, and merge
#
# Step 9 needs no function: `weights @ values` mixes the values of each head. The last row of head 0 is
# 0.1604 · (1, 2, 3) + 0.6792 · (6, 5, 4) + 0.1604 · (1, 1, 1):
#
# ```text
# 9. contexts (1, 2, 3, 3)
# tensor([[[[1.0000, 2.0000, 3.0000],
#           [4.8018, 4.2811, 3.7604],
#           [4.3961, 3.8773, 3.3585]],
#
#          [[4.0000, 5.0000, 6.0000],
#           [3.7039, 4.1118, 4.5196],
#           [2.2031, 2.1321, 2.0611]]]])
# ```
#
# Step 10 reverses the split: the tokens come before the heads again, and the heads of each token are next to each
# other. You need both operations, in this order. Two dimensions can become one only if they are neighbours.
#
# ```text
# 10. merged (1, 3, 6)
# tensor([[[1.0000, 2.0000, 3.0000, 4.0000, 5.0000, 6.0000],
#          [4.8018, 4.2811, 3.7604, 3.7039, 4.1118, 4.5196],
#          [4.3961, 3.8773, 3.3585, 2.2031, 2.1321, 2.0611]]])
# ```


# %%
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads of each token next to each other again.

    Takes `x` (B, H, T, head_dim). Returns (B, T, H · head_dim):

    - the heads of each token are next to each other again, head 0 first: the inverse of split_heads
    - x may be non-contiguous, for example the result of split_heads and a matrix product
    - gradients flow to x
    - x is not changed

    Time: 10 minutes. Difficulty: medium.
    """
    # TODO: Swap the two dimensions back, then make the last two into one.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## All ten steps
#
# Now run the ten steps with your own functions. Nothing is graded here. In a notebook, run the cell; with a script, run
# `python multi_head_attention.py`. It prints the numbers above and draws the weights of both heads. For the picture it
# needs matplotlib (`pip install matplotlib`). Then change a number in a matrix, and guess the result before you run it
# again.
#
# You may find this example elsewhere with other numbers. Some of those numbers are not the results of their steps. Here
# PyTorch computed every number.

# %%
if __name__ == "__main__":
    words = ["the", "cat", "sleeps"]
    inputs = torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [1.0] * 6]])
    num_heads, head_dim = 2, 3
    W_query = torch.tensor(
        [
            [0.0, 0.0, 0.0, -0.5, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.5, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, -0.5],
            [0.5, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.5, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, -0.5, 0.0, 0.0, 0.0],
        ]
    )
    W_key = torch.tensor(
        [
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        ]
    )
    W_value = torch.eye(6)
    queries = inputs @ W_query  # (1, 3, 6) @ (6, 6) -> (1, 3, 6)
    keys = inputs @ W_key
    values = inputs @ W_value
    try:
        unrolled_queries = unroll_heads(queries, num_heads)  # (1, 3, 6) -> (1, 3, 2, 3)
        unrolled_keys = unroll_heads(keys, num_heads)
        unrolled_values = unroll_heads(values, num_heads)
        grouped_queries = group_by_head(unrolled_queries)  # (1, 3, 2, 3) -> (1, 2, 3, 3)
        grouped_keys = group_by_head(unrolled_keys)
        grouped_values = group_by_head(unrolled_values)
        scores = head_scores(grouped_queries, grouped_keys)  # (1, 2, 3, 3): batch, head, query, key
        weights = head_weights(scores, head_dim)
        contexts = weights @ grouped_values  # (1, 2, 3, 3) @ (1, 2, 3, 3) -> (1, 2, 3, 3): batch, head, token, feature
        merged = merge_heads(contexts)  # (1, 2, 3, 3) -> (1, 3, 6)
    except NotImplementedError:
        print("The ten steps wait for the first six exercises. One of them is not written yet.\n")
        steps = {}
    else:
        steps = {
            "1. the input": inputs,
            "3. W_query": W_query,
            "3. W_key": W_key,
            "3. W_value": W_value,
            "4. queries": queries,
            "4. keys": keys,
            "4. values": values,
            "5. queries, unrolled": unrolled_queries,
            "6. queries, by head": grouped_queries,
            "7. scores": scores,
            "8. weights": weights,
            "9. contexts": contexts,
            "10. merged": merged,
        }
    for step, numbers in steps.items():
        print(f"{step} {tuple(numbers.shape)}\n{numbers}\n")

# %% [markdown]
# The picture has a row for each query and a column for each key. A darker cell means more weight.

# %%
if __name__ == "__main__" and steps:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The picture is not drawn because matplotlib is missing: install it with `pip install matplotlib`.")
    else:
        figure, axes = plt.subplots(1, num_heads, figsize=(7.2, 3.8), sharey=True, layout="constrained")
        for head, axis in enumerate(axes):
            rows = weights[0, head].tolist()
            # One hue from light to dark: also clear in greyscale and for colour-blind readers.
            axis.imshow(rows, cmap="Blues", vmin=0, vmax=1)
            axis.set_title(f"head {head}")
            axis.set_xlabel("key: the word looked at")
            axis.set_xticks(range(3), words)
            axis.set_yticks(range(3), words)
            for query, row in enumerate(rows):
                for key, weight in enumerate(row):
                    colour = "white" if weight > 0.6 else "black"
                    axis.text(key, query, f"{weight:.2f}", ha="center", va="center", color=colour, size=12)
        axes[0].set_ylabel("query: the word that looks")
        figure.savefig("the_cat_sleeps.png")
        print("The picture is in the_cat_sleeps.png.")
        plt.show()

# %% [markdown]
# ## A list of heads
#
# The simplest way to have several heads is to make several modules, give the same inputs to each, and concatenate their
# outputs. With eight tokens and four heads of width 8, each head gives (8, 8), two heads give (8, 16), and all four
# give (8, 32).
#
# Keep the heads in an `nn.ModuleList`. In a plain Python list, an optimiser would not find their weights. Also, each
# head must be its own module: a list with the same module four times gives the same eight columns four times.


# %%
class MultiHeadAttentionWrapper(nn.Module):
    """Several causal attention modules with concatenated outputs: (B, T, d_in) -> (B, T, H · d_out), where H is
    num_heads.

    - heads is an nn.ModuleList of num_heads causal attention modules, each from d_in to d_out
    - every head has its own weights
    - the output is the concatenation of the heads' outputs, head 0 first
    - W_query, W_key and W_value of each head are nn.Linear without bias unless qkv_bias=True; then
      each layer adds its own bias
    - any number of tokens up to context_length
    - dropout acts on each head's weights, in training only
    - gradients reach the inputs and the weights of all heads
    - works in float64 after .double()
    - the inputs are not changed

    Time: 15 minutes. Difficulty: medium.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        # TODO: Make the list of heads.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Call every head, and concatenate the outputs.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## Two numbers for each token
#
# A wrapper with two heads gives 2 · d_out numbers for each token. To get two-dimensional outputs, change an argument
# and not the class. (In some notebooks the wrapper's `forward` or `__init__` reads a variable `d_out` of the notebook
# instead of an argument. If you change this variable, every other module that reads it changes too. So a class should
# get what it needs as arguments.)


# %%
def two_dimensional_output(d_in: int, context_length: int) -> nn.Module:
    """Make a MultiHeadAttentionWrapper for inputs (B, T, d_in), with arguments that follow these rules:

    - the wrapper has two heads, no dropout and no bias
    - its outputs are two-dimensional: (B, T, d_in) → (B, T, 2)
    - it takes any number of tokens up to context_length

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Choose the arguments, and return the wrapper.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## All heads at once
#
# H heads of the wrapper make 3 · H small products with the same inputs. Three large products, one each for queries,
# keys and values, give the same numbers and are faster: their matrices contain the columns of all heads. So the second
# module has one `W_query`, one `W_key` and one `W_value`, each from d_in to d_out, and splits their outputs into heads
# with your functions. Here d_out is the width of *all* heads together.
#
# Why is this faster? With 12 heads, the wrapper makes 36 small products, one after the other, and the second module
# makes 3. Each product has a fixed cost, which counts if it is small. With 4 heads of width 8, and 4 texts of 8 tokens,
# the second module was about 2.5 times as fast on one processor core. With 12 heads of width 64, and 4 texts of 128
# tokens, both took the same time there: each product alone was enough work for the core. A GPU has thousands of cores,
# and only large products keep them all busy.
#
# One layer is new. Merging only puts the heads next to each other: the first features of a token come from head 0
# alone, the last ones from the last head. `out_proj`, a linear layer from d_out to d_out, combines the results of all
# heads.
#
#     MultiHead(X) = Concat(head_0, …, head_(H-1)) · W_o + b_o
#
# `out_proj` can also restore the width. Suppose that a model has tokens of 32 features, and 5 heads of 6 features. The
# heads together have 5 · 6 = 30 features. A layer from 30 to 32 features, with 30 · 32 + 32 = 992 parameters, makes
# tokens of the old width again, and unit 7 can add them to the input. In this exercise both widths are d_out.


# %%
class MultiHeadAttention(nn.Module):
    """Causal attention that splits the features into heads: (B, T, d_in) -> (B, T, d_out).

    - W_query, W_key and W_value are nn.Linear from d_in to d_out, and out_proj is nn.Linear from d_out to
      d_out, with a bias
    - W_query, W_key and W_value have no bias unless qkv_bias=True; then each layer adds its own bias
    - each head attends with its own head_dim = d_out / num_heads features of queries, keys and values,
      head 0 first; scores over √head_dim
    - no token sees a later one
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - the concatenated heads pass through out_proj
    - any number of tokens up to context_length, including one
    - dropout acts on each weight independently, after softmax and in training only: the weight becomes zero or is
      divided by 1 - dropout
    - if num_heads does not divide d_out, it raises ValueError or AssertionError
    - gradients reach the inputs, the weights of the four layers and the bias of out_proj
    - works in float64 after .double()
    - the inputs are not changed

    Store num_heads in an attribute of this name, because stack_heads reads it. The name itself is not graded.

    The worked example makes the four layers in the order of the first rule. Another order is also correct.

    Time: 40 minutes. Difficulty: hard.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        # TODO: Raise an error if num_heads does not divide d_out, then make the four layers and the dropout.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Project, split, attend in every head, merge, and apply out_proj.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## Two modules, one function
#
# Is the second module really the same function as the first, only faster? Then it must give the same outputs with the
# weights of the list of heads. `nn.Linear` stores its weight as (d_out, d_in), with one row for each output. So along
# which dimension do you join the heads?
#
# The wrapper has no `out_proj`. If `out_proj` is the identity, with biases of zero, it changes nothing, and you can
# compare the outputs. The caller does this: your function does not change `out_proj`.


# %%
def stack_heads(wrapper: nn.Module, attention: nn.Module) -> None:
    """Give `attention`, a MultiHeadAttention, the query, key and value weights of the wrapper's heads.

    wrapper.heads contains H heads of width d_out / H, where H is attention.num_heads and d_out its width:

    - with an identity out_proj (and no bias there) attention then gives the wrapper's outputs
    - biases too, if both have them
    - the wrapper is not changed
    - attention's weights stay nn.Parameter that require gradients
    - widths that do not match raise an error
    - an error if the heads have biases and attention has none
    - if attention has biases and the heads have none: an error, or the biases are set to zero

    Two heads of width 4 do not match an attention with four heads of width 2, although both have 8 features: number
    and width must both be the same. It is better to raise an error for another number too, but this is not graded.

    Time: 40 minutes. Difficulty: hard.
    """
    # TODO: Raise an error for what does not match, then stack the weights of the heads, and their biases.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## The attention of GPT-2
#
# The smallest GPT-2 has 12 blocks, each with an attention like yours. Without biases for queries, keys and values it
# has 4 · 768² + 768 = 2,360,064 parameters: four square matrices, and the bias of `out_proj`. The book builds it in
# this way. The published GPT-2 also has the three biases, so it has 2,362,368.


# %%
def gpt2_small_attention() -> nn.Module:
    """Make the MultiHeadAttention of one block of the smallest GPT-2, with arguments that follow these rules:

    - 768 features in and out
    - 12 heads
    - up to 1,024 tokens
    - no bias for queries, keys and values: 2,360,064 parameters in all

    The dropout is not graded.

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Choose the arguments, and return the module.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python multi_head_attention.py`. It shows an
# example of each exercise that you have written.
#
# The twelve features of the example are the numbers from 1 to 12. For the modules it shows the shapes: eight tokens of
# width 32 stay (8, 32).

# %%
if __name__ == "__main__":
    features = torch.arange(1.0, 13.0)
    small = features.reshape(1, 2, 2, 3)
    tokens = torch.randn(1, 8, 32)  # one text of eight tokens, with 32 features each

    def stacked() -> torch.Tensor:
        """Return by how much the outputs of the two modules differ after stacking."""
        wrapper, attention = MultiHeadAttentionWrapper(32, 8, 8, 0.0, 4), MultiHeadAttention(32, 32, 8, 0.0, 4)
        stack_heads(wrapper, attention)
        attention.out_proj = nn.Identity()
        return (wrapper(tokens) - attention(tokens)).abs().max()

    examples = {
        "unroll_heads": lambda: unroll_heads(features.reshape(1, 2, 6), 2),
        "group_by_head": lambda: group_by_head(small),
        "head_scores": lambda: head_scores(small, small),
        "head_weights": lambda: head_weights(torch.zeros(1, 2, 2, 2), 3),
        "split_heads": lambda: split_heads(features.reshape(1, 2, 6), 2),
        "merge_heads": lambda: merge_heads(small),
        "MultiHeadAttentionWrapper": lambda: MultiHeadAttentionWrapper(32, 8, 8, 0.0, 4)(tokens).shape,
        "two_dimensional_output": lambda: two_dimensional_output(32, 8)(tokens).shape,
        "MultiHeadAttention": lambda: MultiHeadAttention(32, 32, 8, 0.0, 4)(tokens).shape,
        "stack_heads": stacked,
        "gpt2_small_attention": lambda: sum(one.numel() for one in gpt2_small_attention().parameters()),
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
