# %% [markdown]
# # Unit 7: the transformer block
#
# Attention lets tokens exchange information. A model like GPT-2 has a dozen layers of it. A plain stack of attention
# modules would hardly learn: from layer to layer numbers become larger or smaller, and gradients do the same on their
# way back. The **transformer block** solves this problem. It adds four simple things to attention:
#
# - a **layer norm** brings each token's features to the same scale before they are used;
# - a **feed-forward** network processes each token separately, after attention has collected information;
# - a **residual connection** around each of the two adds its output to its input, instead of replacing it;
# - **dropout** on these outputs prevents the model from relying on any single number.
#
# You will write each of them, put them together, stack the blocks, and count exactly the parameters of the four GPT-2
# models.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check transformer_block`. You can also run `pytest checks/test_transformer_block.py` in the
# folder of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: layer normalisation comes from Ba, Kiros and Hinton, *Layer Normalization* (2016), and residual connections
# from He et al., *Deep Residual Learning for Image Recognition* (2015). Vaswani et al., *Attention Is All You Need*
# (2017), combined them in a block. Xiong et al., *On Layer Normalization in the Transformer Architecture* (2020),
# explain why the norm should come first. The sizes are those of Radford et al., *Language Models are Unsupervised
# Multitask Learners* (2019), which is GPT-2.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from torch import nn

# %% [markdown]
# ## Layer norm
#
# Each token is a vector `x` of C features. Layer norm subtracts its mean and divides it by its standard deviation. So
# every token gets the mean 0 and the variance 1, whatever its scale was before:
#
#     μ  = Σ_i x_i / C
#     σ² = Σ_i (x_i - μ)² / C
#
#     LayerNorm(x)_i = γ_i · (x_i - μ) / √(σ² + ε) + β_i
#
# - The variance is the biased one: the sum is divided by C, and not by C - 1. (`torch.var` divides by C - 1 by
#   default.)
# - ε is a small number for the case that all features are equal, because then the variance is zero. It is added inside
#   the root.
# - But for some features a large value may be useful. So each feature has its own scale γ_i and shift β_i, which are
#   learned. They begin at one and zero, where they change nothing.
#
# **Why not batch norm?** Batch norm does the same two steps in another direction: for each feature, over all examples
# of the batch. Then a token's numbers depend on the other texts in the batch, and on the amount of padding. To continue
# a single text, it needs other numbers, stored from training. And if it runs over the tokens of a text, the past can
# see the future. Layer norm uses one token alone. So it is the same in training and after it, for a batch of any size
# and a text of any length.


# %% nbgrader={"grade": false, "grade_id": "LayerNorm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerNorm(nn.Module):
    """Bring the last dimension to mean 0 and variance 1, then scale and shift it: (…, emb_dim) -> the same.

    - scale and shift are nn.Parameter, each of shape (emb_dim,)
    - each vector of emb_dim features is normalised separately, independently of other tokens and texts
    - its mean is subtracted
    - the result is divided by the square root of variance + eps, where the variance is the biased one: the mean of the
      squared differences from the mean
    - eps is 1e-5 unless another is given
    - at the end it is multiplied by scale, and then shift is added
    - any number of leading dimensions, including none; x may be non-contiguous, for example the result of a transpose
    - gradients reach x, scale and shift
    - the dtype is kept: float32 stays float32 and, after .double(), float64 stays float64
    - x is not changed

    The worked example begins with ones for scale and zeros for shift, so that a new norm only normalises.

    Time: 25 minutes. Difficulty: medium.
    """

    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        # TODO: Store eps, and make the two parameters.
        ### BEGIN SOLUTION
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Subtract the mean of the last dim, divide, scale and shift.
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (…, emb_dim) -> (…, 1)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(variance + self.eps) + self.shift
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Normalise each token by its own numbers: subtract the mean of its features, and divide by their standard deviation.
#    Then each feature gets its own learned scale and shift.
# 2. For x (B, T, C), the mean and the variance are (B, T, 1), and the output is (B, T, C). scale and shift are (C,).
#    For example, the token (1, 3) has the mean 2 and the variance 1, and becomes about (-1, 1).
# 3. In `__init__`: store eps, and make two `nn.Parameter`, from `torch.ones(emb_dim)` and `torch.zeros(emb_dim)`. In
#    `forward`, one way: `x.mean` and `x.var`, both with `dim=-1` and `keepdim=True`; `var` also needs `unbiased=False`.
#    Add eps before you take `torch.sqrt`. At the end, `*` scale and `+` shift.

# %% [markdown]
# ## Feed-forward
#
# In attention tokens get information from one another, but only as a weighted sum. A small network then processes this
# information. It has one hidden layer, four times as wide as the token:
#
#     FFN(x) = max(0, x · W_1 + b_1) · W_2 + b_2
#
# It works **position by position**: the same weights for each token, and each token is processed separately. So
# `nn.Linear` is enough, because it works on the last dimension and keeps the others. Without the ReLU, max(0, …), two
# linear layers would be the same as one. (GPT-2 has GELU instead, a smooth form of ReLU. Here it is ReLU, as in the
# Transformer of 2017.)


# %% nbgrader={"grade": false, "grade_id": "FeedForward", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FeedForward(nn.Module):
    """Transform each token separately: (…, emb_dim) -> the same.

    - there are two nn.Linear under any names: one from emb_dim to expansion · emb_dim, and one back to emb_dim
    - expansion is 4 unless another is given
    - both have a bias
    - ReLU is between them, and nothing else is done
    - the output in training is the same as after .eval(): nothing is dropped
    - position by position: any number of leading dimensions, including none; x may be non-contiguous, for example the
      result of a transpose
    - gradients reach x and the parameters of both layers
    - works in float64 after .double()
    - x is not changed

    Time: 10 minutes. Difficulty: easy.
    """

    def __init__(self, emb_dim: int, expansion: int = 4) -> None:
        super().__init__()
        # TODO: Make the two layers.
        ### BEGIN SOLUTION
        self.widen = nn.Linear(emb_dim, expansion * emb_dim)
        self.narrow = nn.Linear(expansion * emb_dim, emb_dim)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: First layer, ReLU, second layer.
        ### BEGIN SOLUTION
        hidden = torch.relu(self.widen(x))  # (…, emb_dim) -> (…, expansion · emb_dim)
        return self.narrow(hidden)  # (…, expansion · emb_dim) -> (…, emb_dim)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Each token goes through a small network of its own: make it wider, replace negative numbers by zero, and make it as
#    narrow as before.
# 2. The first layer changes only the last dimension, and the second one changes it back. For example, with emb_dim = 8
#    and expansion = 4, (2, 5, 8) becomes (2, 5, 32), and then (2, 5, 8).
# 3. In `__init__`: `nn.Linear(emb_dim, expansion * emb_dim)`, and another `nn.Linear` back. In `forward`, one way: the
#    first layer, `torch.relu`, the second layer.

# %% [markdown]
# ## Residual connections
#
# A residual connection goes around a module `f` and adds its input to its output:
#
#     y = x + f(x)      dy/dx = 1 + f'(x)
#
# The derivative shows the advantage. Through a stack of plain modules a gradient is a product of many factors f'. If
# most of them are small, the gradient is nearly zero. The 1 opens a second path: on this path the gradient arrives
# unchanged, even if the gradients through the modules become very small.
#
# It also makes the task of a module easier. The module only has to find what to *add*, and a module that gives zeros
# changes nothing.


# %% nbgrader={"grade": false, "grade_id": "Residual", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Residual(nn.Module):
    """Add a module's output to its input: x + sublayer(x).

    - the output is x plus sublayer(x), and nothing else is done to either of them
    - the parameters of sublayer are parameters of this module
    - x may have any shape that sublayer keeps
    - gradients reach x on both paths, around sublayer and through it, and the parameters of sublayer
    - works in float64 after .double()
    - x is not changed, also if sublayer returns x itself

    Time: 10 minutes. Difficulty: easy.
    """

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        # TODO: Store the module.
        ### BEGIN SOLUTION
        self.sublayer = sublayer
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Add the output of sublayer to x.
        ### BEGIN SOLUTION
        return x + self.sublayer(x)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The module keeps its input, and adds to it what the inner module makes of it.
# 2. The input, the output of the inner module and the sum all have the same shape, such as (2, 5, 8). For example, if
#    the inner module doubles its input, x = (1, 2) becomes (3, 6).
# 3. In `__init__`, assign sublayer to an attribute of `self`: then its parameters belong to this module too. In
#    `forward`, call it with x, and add the result to x with `+`. Do not use `+=`: it would change x.

# %% [markdown]
# ## The block
#
# A block has two residual steps, one with attention and one with the feed-forward. Where is the norm? There are two
# orders, and both are used:
#
# | | one step | |
# |---|---|---|
# | **post-norm** | `norm(x + f(x))` | the Transformer of 2017 |
# | **pre-norm** | `x + f(norm(x))` | GPT-2, and nearly all later models |
#
# In post-norm each norm is *on* the residual path, and a gradient must go through all of them. Such models train badly
# unless the learning rate starts very small and grows slowly. In pre-norm the path from the last block back to the
# first is free, and a norm only prepares the input of a module. This block is pre-norm:
#
#     x'  = x  + drop(attention(norm1(x)))
#     x'' = x' + drop(feed_forward(norm2(x')))
#
# Be careful with two points. The module's output is added to `x` and not to `norm1(x)`. Otherwise the free path is
# lost. And the second step uses x' twice, in the sum and inside the norm.
#
# Dropout acts on the numbers that are added, and never on the path itself. `nn.Dropout` sets a part of the numbers to
# zero and divides the others by `1 - p`. It does this independently for each number, and only in training.
#
# The two modules are arguments. So your block works with any attention, for example `MultiHeadAttention` of unit 4, and
# does not need to know about heads.


# %% nbgrader={"grade": false, "grade_id": "TransformerBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class TransformerBlock(nn.Module):
    """A pre-norm transformer block: (B, T, emb_dim) -> the same.

    Takes two modules that keep this shape, `attention` and `feed_forward`:

    - attention gets norm1(x), and its output is added to x
    - then feed_forward gets norm2 of that sum, and its output is added to the sum
    - norm1 and norm2 are LayerNorm or nn.LayerNorm for emb_dim features, each with its own parameters
    - the parameters of attention and feed_forward are parameters of the block
    - in training each number of attention's output becomes 0 independently, with probability `dropout`
    - the same is true for each number of feed_forward's output
    - a kept number is divided by 1 - dropout, and the x or sum that it is added to is never dropped or scaled
    - in eval mode nothing is dropped
    - with dropout=0.0 nothing is dropped in training
    - any number of texts and tokens, including one
    - gradients reach x and all parameters
    - works in float64 after .double()
    - x is not changed

    Time: 25 minutes. Difficulty: medium.
    """

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        # TODO: Store the two modules, and make norm1, norm2 and the dropout.
        ### BEGIN SOLUTION
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(emb_dim)
        self.norm2 = LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Two steps: norm, module, dropout, and add.
        ### BEGIN SOLUTION
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. There are two steps of the same form: normalise, call a module, drop, and add the result to what came in. The first
#    step is for attention, the second for the feed-forward.
# 2. Every tensor has the same shape (B, T, emb_dim), for example (2, 5, 8). The second step begins with the sum of the
#    first step, and uses it twice: in norm2, and in its own sum.
# 3. In `__init__`: store the two modules, make norm1 and norm2 with `LayerNorm(emb_dim)`, and `nn.Dropout(dropout)`. In
#    `forward`, one way: call norm1, attention and dropout one inside the other, and add this to x. Then do the same
#    with norm2 and feed_forward, starting from that sum.

# %% [markdown]
# ## A stack of blocks
#
# The input and output of a block have the same shape, so you can stack any number of blocks. They have the same form,
# but each has its own weights. For this reason the function does not take a block, but a function that makes one:
# `make_block()` returns a new block in every call. With the attention of unit 4 it can be
#
# ```python
# from multi_head_attention import MultiHeadAttention
#
# def make_block():
#     attention = MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
#     return TransformerBlock(attention, FeedForward(768), 768, 0.1)
# ```
#
# Be careful: `[make_block()] * 12` calls it once, and puts the same block into the list twelve times.
#
# Follow one text of eight tokens through a model of width 32. Your (8, 32) of unit 4 stays (8, 32):
#
# | step | shape |
# |---|---|
# | embeddings of the tokens, plus positions (unit 5) | (8, 32) |
# | four heads of width 8, concatenated (unit 4) | (8, 32) |
# | hidden layer of the feed-forward | (8, 128) |
# | output of the feed-forward, and of the block | (8, 32) |
# | output of the last of N blocks, for any N | (8, 32) |
# | last norm | (8, 32) |
# | output layer, with a score for each of 65 characters | (8, 65) |
#
# Why a last norm? In pre-norm each block *adds* to the path, and nothing on the path makes the numbers smaller. So they
# grow from block to block:
#
# ```python
# from multi_head_attention import MultiHeadAttention
#
# def small_block():
#     return TransformerBlock(MultiHeadAttention(64, 64, 8, 0.0, 4), FeedForward(64), 64, 0.0)
#
# torch.manual_seed(0)
# x = torch.randn(1, 8, 64)
# for num_blocks in (12, 48):
#     y = stack_blocks(small_block, num_blocks)(x)
#     print(x.std().item(), y.std().item(), LayerNorm(64)(y).std().item())
# ```
#
# The standard deviation of `x` is 1.02. After 12 blocks it is 1.51, and after 48 blocks 2.79. The last norm makes it
# 1.00 in both cases. So the output layer gets numbers of the same size from any number of blocks.


# %% nbgrader={"grade": false, "grade_id": "stack_blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stack_blocks(make_block: Callable[[], nn.Module], num_blocks: int) -> nn.Module:
    """Make blocks and apply them one after the other.

    Takes `make_block`, which is called without arguments and returns a new block. Returns one module:

    - make_block is called exactly num_blocks times, and each call makes one of the blocks
    - the first block gets x, and each later one gets the output of the block before it
    - any number of blocks, including one
    - it is an nn.Module, and the parameters of all blocks are its parameters
    - gradients reach x and every block
    - x is not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Call make_block num_blocks times, and put the blocks into one module.
    ### BEGIN SOLUTION
    return nn.Sequential(*(make_block() for _ in range(num_blocks)))
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Make the blocks one by one, so that each has its own weights. Then run them in a row: the output of a block is the
#    input of the next one.
# 2. A block keeps the shape, so a stack of blocks keeps it too. For example, (2, 5, 8) stays (2, 5, 8) through 3
#    blocks, and make_block is called 3 times.
# 3. One way: call `make_block()` once for each number in `range(num_blocks)`, and pass all blocks to `nn.Sequential`,
#    with a `*` in front of a list of them.

# %% [markdown]
# ## How large is GPT-2?
#
# Now you can count the parameters of a whole model. GPT-2 has token embeddings and learned positions, a stack of
# blocks, and one more norm: in pre-norm nothing has normalised the output of the last block. Then an output layer turns
# each token into a score for every token of the vocabulary. This layer is *tied*: its matrix is the matrix of the token
# embeddings, transposed, so it is counted once.
#
# | | blocks | emb_dim | parameters |
# |---|---|---|---|
# | small | 12 | 768 | 124,439,808 |
# | medium | 24 | 1024 | 354,823,168 |
# | large | 36 | 1280 | 774,030,080 |
# | XL | 48 | 1600 | 1,557,611,200 |
#
# The paper first gave 117, 345, 762 and 1542 million. Its authors corrected the numbers later, so you find both. Your
# numbers will be exact.
#
# You need no model for this, only arithmetic: a linear layer from `n` to `m` features has n · m weights and `m` biases.
# The largest part is the square of emb_dim, times 12: four matrices in attention, and two of four times the size in the
# feed-forward.


# %% nbgrader={"grade": false, "grade_id": "gpt2_parameter_count", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt2_parameter_count(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    """Count the parameters of a GPT-2 with num_layers blocks.

    - each of vocab_size tokens has an embedding of emb_dim numbers; the output layer shares them and adds none
    - each of context_length positions has emb_dim learned numbers
    - each block has six linear layers: four in attention from emb_dim to emb_dim (queries, keys, values and output),
      and two in the feed-forward, from emb_dim to 4 · emb_dim and back
    - each of these layers has a bias, and each block has two norms, with a scale and a shift for each feature
    - one more norm of this kind comes after the last block
    - vocab_size is 50257 and context_length is 1024 unless others are given
    - the result is an int

    Time: 25 minutes. Difficulty: medium.
    """
    # TODO: Count the embeddings, the parts of one block, and the last norm.
    ### BEGIN SOLUTION
    embeddings = (vocab_size + context_length) * emb_dim
    norm = 2 * emb_dim
    attention = 4 * (emb_dim * emb_dim + emb_dim)
    hidden = 4 * emb_dim
    feed_forward = (emb_dim * hidden + hidden) + (hidden * emb_dim + emb_dim)
    block = attention + feed_forward + 2 * norm
    return embeddings + num_layers * block + norm
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Add up the parts: two tables of embeddings, the parts of one block times the number of blocks, and the last norm.
#    The output layer adds nothing.
# 2. A linear layer from n to m features has n * m + m parameters, and a norm has 2 * emb_dim. For example, in a block
#    with emb_dim = 2: four layers from 2 to 2 have 4 * 6 = 24, the feed-forward has 24 + 18 = 42, and two norms have 8.
#    This block has 74.
# 3. You need only `+` and `*`. One way: a variable for each part (embeddings, norm, attention, feed-forward), a
#    variable for a block, and a last sum. Compare with the table above: `gpt2_parameter_count(12, 768)` gives
#    124439808.

# %% [markdown]
# ## What comes after
#
# A model with these blocks is **pretrained**: it reads billions of words, and the text itself says which token comes
# next. After this the model continues text. It does not answer questions yet: after a question, more questions are a
# likely continuation.
#
# The model learns to answer in a second stage, **alignment**. It needs far less text, because most of the model's
# knowledge comes from pretraining. First the model is trained on some thousands of examples of good answers. After that
# a **reward model** often helps. People compare two answers to the same prompt and say which one is better. From these
# comparisons the reward model learns to give one number to a prompt with its answer. (It is often a language model with
# a new output layer.) Then the language model writes answers, the reward model judges them, and training makes answers
# with a high reward more likely. The reward model is needed only for this training: users talk to the language model.

# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python transformer_block.py`. It shows an
# example of each exercise that you have written.
#
# The features 1, 2 and 3 have the mean 2 and the variance 2/3, so LayerNorm makes about -1.2247, 0 and 1.2247 of them.
# The residual connection goes around a ReLU: it adds 0 to -1, and 2 to 2. The count is that of GPT-2 small.

# %%
if __name__ == "__main__":
    tokens = torch.ones(1, 8, 32)  # one text of eight tokens, with 32 features each

    def new_block() -> nn.Module:
        """Return a block with a linear layer in the place of attention."""
        return TransformerBlock(nn.Linear(32, 32), nn.Linear(32, 32), 32, 0.0)

    examples = {
        "LayerNorm": lambda: LayerNorm(3)(torch.tensor([1.0, 2.0, 3.0])).detach(),
        "FeedForward": lambda: FeedForward(32)(tokens).shape,
        "Residual": lambda: Residual(nn.ReLU())(torch.tensor([-1.0, 2.0])),
        "TransformerBlock": lambda: new_block()(tokens).shape,
        "stack_blocks": lambda: stack_blocks(new_block, 3)(tokens).shape,
        "gpt2_parameter_count": lambda: gpt2_parameter_count(12, 768),
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
