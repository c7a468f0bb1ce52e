# %% [markdown]
# # Unit 4: multi-head attention
#
# The attention of unit 3 mixes the past of a token in one way: each token has one row of weights, and softmax
# makes it choose. But a word has more than one question. In "the cat sleeps" the verb asks *who sleeps?*, while
# the noun asks *which cat?*. **Multi-head attention** runs several small attentions next to each other, its
# **heads**. Each has queries, keys and values of its own, so each can follow a pattern of its own. Groups in
# a convolution are alike: several small operations, each with features of its own, instead of a large one.
#
# You will write it in two ways. First the steps in which heads are made and merged, one small function each, with
# numbers that you can check by hand. Then two modules: one that keeps a list of heads, which is easy to see
# through, and one that computes all heads at once, which is what GPT does. At last you show that the two
# are the same function, and build the attention of GPT-2.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result is graded only if a rule names it or says that it is kept. To check your
# answers, run `grader check multi_head_attention`. You can also run `pytest test_multi_head_attention.py` in the folder
# of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: multi-head attention comes from Vaswani et al., *Attention Is All You Need* (2017). The path from a
# list of heads to one module, and the numbers of the worked examples of the two modules, follow chapter 3 of
# Sebastian Raschka, *Build a Large Language Model (From Scratch)* (2024). The likeness to groups in a convolution
# is from Andrej Karpathy, *Let's build GPT: from scratch, in code, spelled out* (2023).

# %%
import torch
from torch import nn

# %% [markdown]
# ## Your own CausalAttention
#
# The heads of this unit are the `CausalAttention` that you wrote in unit 3. In a script, the line below takes it
# from your `causal_attention.py`. In a notebook on its own there is no such file: paste your class here instead
# of the line.

# %%
# isort: split
from causal_attention import CausalAttention

# %% [markdown]
# ## Ten steps from tokens to contexts
#
# Multi-head attention takes ten steps, and most mistakes in them are mistakes with shapes. So follow the shapes.
# The example is one sequence of three tokens, `the cat sleeps`, with six features each:
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
# The first six exercises make up the steps from 5 on. Here are the four before them, with all numbers as PyTorch
# prints them. The input (step 1) and the number of heads (step 2: two, with three features each) are given:
#
# ```text
# 1. the input (1, 3, 6)
# tensor([[[1., 2., 3., 4., 5., 6.],
#          [6., 5., 4., 3., 2., 1.],
#          [1., 1., 1., 1., 1., 1.]]])
# ```
#
# Step 3: training would find the weight matrices. These were made so that all can be checked by hand. A
# column of `W_query` takes one feature of a token, halves it and in three cases changes its sign. A column of
# `W_key` takes one feature as it is. `W_value` hands over all six features as they are, so that every context
# will be a mixture of the input's own numbers.
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
# Step 4 is a matrix product for each, as in unit 2. The first number of the queries is 4 · 0.5 = 2: column 0 of
# `W_query` takes half of the fourth feature.
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
# Each token has d_out features. The first head_dim of them belong to head 0, the next to head 1, and so on.
# Writing the last dimension as two, d_out = H · head_dim, moves no number at all: only the
# brackets change. Token `the` now has two rows, one for each head:
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

    Takes `x` (B, T, d_out). Gives (B, T, H, head_dim), where H is `num_heads` and head_dim = d_out / H:

    - head h holds the features from h · head_dim on, in their order
    - a d_out that num_heads does not divide raises ValueError or AssertionError
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed
    """
    # TODO: Refuse what does not divide, then reshape.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 6: group by head
#
# A matrix product works on the last two dimensions and repeats itself over all in front of them. For each head to
# work on its own, the heads have to be in front and the tokens behind them: two dimensions change places. Head 0
# now holds three rows, one for each token:
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
# Why not `reshape` straight to (B, H, T, head_dim)? The shape would be right and no error would come. But a reshape
# keeps the numbers in their order, so head 0 would get both halves of `the` and the first half of `cat`, as if they
# were three tokens. Compare with the numbers above.


# %%
def group_by_head(x: torch.Tensor) -> torch.Tensor:
    """Bring the tokens of each head together.

    Takes `x` (B, T, H, head_dim). Gives (B, H, T, head_dim):

    - the tokens of each head stand together: what was at [b, t, h] is at [b, h, t]
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed
    """
    # TODO: Exchange two dimensions.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 7: scores
#
# Every query meets every key of the same head, and of the same sequence. It is unit 2's product once more, for
# all heads at once:
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
# Row 2 of head 0 is what `sleeps` looks for. With `cat` it scores 0.5 · 3 + 0.5 · 4 − 0.5 · 1 = 3, more than with
# the other two. And the largest score of all, 13, is that of `the` with `cat`, a token it must not see.


# %%
def head_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Score every query against every key of the same head.

    Takes `queries` and `keys`, each (B, H, T, head_dim). Gives (B, H, T, T), a row for each query:

    - each score is the dot product of a query with a key of the same head, not scaled yet
    - each head and each sequence on its own
    - queries and keys may be views with any memory layout
    - gradients flow to both
    - queries and keys are not changed
    """
    # TODO: Multiply the queries by the transposed keys; only the last two dimensions take part.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Step 8: mask, scale, softmax
#
# Hide the future, divide by √head_dim, and take the softmax over the keys. It is head_dim that counts, and not
# d_out: a score sums as many products as *one head* has features, and unit 2 has measured what that does to its
# variance. (Some notes say that the scores are divided by 1/√head_dim. They are *multiplied* by it.) The solution makes
# the mask on the device of the scores. The module of unit 3 does not need that: its mask is a buffer, which moves with
# the module.
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
# The two heads look at the same three tokens and see different things. In head 0, `sleeps` gives most of its
# weight to `cat`: who sleeps? In head 1, `cat` looks back at `the`, and `sleeps` looks at itself most.


# %%
def head_weights(scores: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Turn the scores of each head into causal attention weights.

    Takes `scores` (B, H, T, T) and the number of features of a head. Gives (B, H, T, T):

    - no token gives weight to a later one
    - the weights are the softmax, over the keys that are left, of scores / √head_dim
    - right also where a score of the future is far above the others
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - gradients flow to the scores
    - the scores are not changed
    """
    # TODO: Hide the future, scale, and apply softmax over the keys.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Steps 5 and 6 in one
#
# Queries, keys and values all need both steps, so they deserve one function.


# %%
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Split the features of every token among the heads: unroll, then group.

    Takes `x` (B, T, d_out). Gives (B, H, T, head_dim), where H is `num_heads` and head_dim = d_out / H:

    - head h holds the features from h · head_dim on, of every token
    - a d_out that num_heads does not divide raises ValueError or AssertionError
    - x may be non-contiguous, for example the result of a transpose
    - gradients flow to x
    - x is not changed
    """
    # TODO: Go both steps, one after the other.
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
# Step 10 goes the way back: the tokens come to the front again, and the heads of each token stand side by side.
# Both moves are needed, and in this order. To make two dimensions into one, they have to be neighbours.
#
# ```text
# 10. merged (1, 3, 6)
# tensor([[[1.0000, 2.0000, 3.0000, 4.0000, 5.0000, 6.0000],
#          [4.8018, 4.2811, 3.7604, 3.7039, 4.1118, 4.5196],
#          [4.3961, 3.8773, 3.3585, 2.2031, 2.1321, 2.0611]]])
# ```


# %%
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads of each token side by side again.

    Takes `x` (B, H, T, head_dim). Gives (B, T, H · head_dim):

    - the heads of each token stand side by side again, head 0 first: the inverse of split_heads
    - x may be non-contiguous, for example the result of a transpose, such as split_heads and a matrix product leave
      behind
    - gradients flow to x
    - x is not changed
    """
    # TODO: Exchange two dimensions back, then make the last two into one.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## All ten steps
#
# Now run the ten steps with your own functions. Nothing is graded here. In a notebook, run the cell; with a
# script, run `python multi_head_attention.py`. It prints what stands above, and draws the weights of both heads,
# for which it needs matplotlib (`pip install matplotlib`). Then change a number in a matrix, and guess what happens
# before you run it again.
#
# You may meet this example elsewhere with other numbers, some of which are not the results of the steps that they stand
# for. Here PyTorch computed every number.

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
# The picture: a row for each query, a column for each key, and the darker, the more weight.

# %%
if __name__ == "__main__":
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The picture is not drawn, for matplotlib is missing: install it with `pip install matplotlib`.")
    else:
        figure, axes = plt.subplots(1, num_heads, figsize=(7.2, 3.8), sharey=True, layout="constrained")
        for head, axis in enumerate(axes):
            rows = weights[0, head].tolist()
            # One hue from light to dark: as clear to colour-blind eyes, and on grey paper.
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
# The plainest way to have several heads is to make several modules, give each of them the same inputs, and put
# their outputs side by side. With eight tokens and four heads of width 8, each head gives (8, 8), two of them
# give (8, 16), and all four (8, 32).
#
# The heads must be kept in an `nn.ModuleList`. In a plain Python list, their weights would be found by no optimiser.
# And each must be a module of its own: a list that holds one module four times gives the same eight columns
# four times.


# %%
class MultiHeadAttentionWrapper(nn.Module):
    """Several causal attention modules side by side: (B, T, d_in) -> (B, T, H · d_out), where H is num_heads.

    - heads is an nn.ModuleList of num_heads causal attention modules, each from d_in to d_out
    - every head has weights of its own
    - the output is the heads' outputs side by side, head 0 first
    - W_query, W_key and W_value of each head are nn.Linear without bias unless qkv_bias=True; then
      each layer adds its own bias
    - any number of tokens up to context_length
    - dropout acts on each head's weights, in training only
    - gradients reach the inputs and the weights of all heads
    - works in float64 after .double()
    - the inputs are not changed
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        # TODO: Make the list of heads.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Ask every head, and concatenate what they give.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## Two numbers for each token
#
# A wrapper with two heads gives 2 · d_out numbers for each token. To get two-dimensional outputs, you change an
# argument and not the class. (In some notebooks the wrapper's `forward` or `__init__` reads a variable `d_out` of the
# notebook instead of an argument. Then one has to change that variable, and every other module that reads it changes
# too. What a class needs, it should be given.)


# %%
def two_dimensional_output(d_in: int, context_length: int) -> nn.Module:
    """Make a MultiHeadAttentionWrapper for inputs (B, T, d_in), with arguments fitted to these rules:

    - the wrapper has two heads, no dropout and no bias
    - its outputs are two-dimensional: (B, T, d_in) → (B, T, 2)
    - it takes any number of tokens up to context_length
    """
    # TODO: Choose the arguments, and return the wrapper.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## All heads at once
#
# H heads of the wrapper make 3 · H small products with the same inputs. Three large products, one each for queries,
# keys and values, with matrices of all their columns, give the same numbers and are faster. So the second module has
# one `W_query`, one `W_key` and one `W_value`, each from d_in to d_out, and shares their outputs out among the heads:
# this is what your functions are for. Here d_out is the width of *all* heads together.
#
# One layer is new. Merging only puts the heads side by side: the first features of a token come from head 0 alone,
# the last ones from the last head. `out_proj`, a linear layer from d_out to d_out, lets the heads exchange what they
# have found.
#
# $$\text{MultiHead}(X) = \text{Concat}(\text{head}_0, \dots, \text{head}_{H-1})\, W_o + b_o$$


# %%
class MultiHeadAttention(nn.Module):
    """Causal attention with heads that share out the features: (B, T, d_in) -> (B, T, d_out).

    - W_query, W_key and W_value are nn.Linear from d_in to d_out, and out_proj is nn.Linear from d_out to
      d_out, with a bias
    - W_query, W_key and W_value have no bias unless qkv_bias=True; then each layer adds its own bias
    - each head attends with its own head_dim = d_out / num_heads features of queries, keys and values,
      head 0 first; scores over √head_dim
    - no token sees a later one
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - the heads side by side pass through out_proj
    - any number of tokens up to context_length, including one
    - dropout acts on each weight by itself, after softmax and in training only: the weight becomes zero or
      is divided by 1 - dropout
    - num_heads that does not divide d_out raises ValueError or AssertionError
    - gradients reach the inputs, the weights of the four layers and the bias of out_proj
    - works in float64 after .double()
    - the inputs are not changed

    Keep num_heads as an attribute of this name, because stack_heads reads it. The name itself is not graded.

    The worked example makes the four layers in the order of the first rule; another order is as right.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        # TODO: Refuse what does not divide, then make the four layers and the dropout.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Project, split, attend in every head, merge, and project once more.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## Two modules, one function
#
# Is the second module really the first one, only faster? Then the weights of the list of heads must fit into it and
# give the same outputs. `nn.Linear` keeps its weight as (d_out, d_in), with one row for each output. So ask yourself
# along which dimension the heads lie side by side.
#
# `out_proj` has no counterpart in the wrapper. Set to the identity, with biases of zero, it changes nothing, and the
# outputs can be compared. That is up to the caller: this function does not touch it.


# %%
def stack_heads(wrapper: nn.Module, attention: nn.Module) -> None:
    """Give `attention`, a MultiHeadAttention, the query, key and value weights of the wrapper's heads.

    wrapper.heads holds H heads of width d_out / H, where H is attention.num_heads and d_out its width:

    - with an identity out_proj (and no bias there) attention then gives the wrapper's outputs
    - biases too, where both have them
    - the wrapper is not changed
    - attention's weights stay nn.Parameter that require gradients
    - widths that do not match raise an error
    - biases that the heads have and attention has not raise an error
    - biases that attention has and the heads have not raise an error, or are set to zero

    Two heads of width 4 do not match an attention with four heads of width 2, although both have 8 features: number
    and width must both be the same. It is better to raise an error for another number too, but this is not graded.
    """
    # TODO: Refuse what does not match, then stack the weights of the heads, and their biases.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## The attention of GPT-2
#
# The smallest GPT-2 has 12 blocks, each with an attention like yours. Without biases for queries, keys and values
# it has $4 \cdot 768^2 + 768 = 2{,}360{,}064$ parameters: four square matrices, and the bias of `out_proj`. This is
# how the book builds it. GPT-2 as it was published has the three biases too, and then it is 2,362,368.


# %%
def gpt2_small_attention() -> nn.Module:
    """Make the MultiHeadAttention of one block of the smallest GPT-2, with arguments fitted to these rules:

    - 768 features in and out
    - 12 heads
    - up to 1,024 tokens
    - no bias for queries, keys and values: 2,360,064 parameters in all

    The dropout is not graded.
    """
    # TODO: Choose the arguments, and return the module.
    # YOUR CODE HERE
    raise NotImplementedError()
