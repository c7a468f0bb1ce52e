# %% [markdown]
# # Unit 7: the transformer block
#
# Attention lets tokens talk to one another. A model like GPT-2 has a dozen rounds of it, one above the other, and a
# plain pile of attention modules would hardly learn: numbers grow or fade from one to the next, and gradients do the
# same on their way back. The **transformer block** is the frame that makes the pile learnable. Around attention it
# puts four simple things:
#
# - a **layer norm** brings each token's features to one scale before they are used;
# - a **feed-forward** network thinks about each token by itself, after attention has collected what it needs;
# - a **residual connection** around each of the two adds what they give to what was there, and replaces nothing;
# - **dropout** on what they give keeps the model from relying on any single number.
#
# You will write each of them, put them together, stack the blocks, and count the parameters of the four GPT-2
# models to the last one.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result is graded only if a rule names it or says that it is kept. To check your
# answers, run `grader check transformer_block`. You can also run `pytest test_transformer_block.py` in the folder of
# the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: layer normalisation comes from Ba, Kiros and Hinton, *Layer Normalization* (2016), and residual
# connections from He et al., *Deep Residual Learning for Image Recognition* (2015). Vaswani et al., *Attention Is
# All You Need* (2017), made the block of them. Why the norm is better off in front is told by Xiong et al., *On Layer
# Normalization in the Transformer Architecture* (2020), and the sizes are those of Radford et al., *Language Models
# are Unsupervised Multitask Learners* (2019), which is GPT-2.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from torch import nn

# %% [markdown]
# ## Layer norm
#
# Each token is a vector $x$ of $C$ features. Layer norm takes its mean away and divides it by its standard
# deviation, so that every token comes with the mean 0 and the variance 1, whatever it went through before:
#
# $$\mu = \frac{1}{C} \sum_{i=1}^{C} x_i \qquad \sigma^2 = \frac{1}{C} \sum_{i=1}^{C} (x_i - \mu)^2 \qquad
# \text{LayerNorm}(x)_i = \gamma_i \, \frac{x_i - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_i$$
#
# - The variance is the biased one: the sum is divided by $C$, and not by $C - 1$. (`torch.var` divides by $C - 1$
#   unless it is told otherwise.)
# - $\epsilon$ is a small number for the case that all features are alike, for then the variance is zero. It stands
#   inside the root.
# - Perhaps some feature had better be large after all. So each feature has a scale $\gamma_i$ and a shift $\beta_i$ of
#   its own to learn. They begin at one and zero, where they change nothing.
#
# **Why not batch norm?** Batch norm makes the same two steps the other way: for each feature, over all examples of
# the batch. A token's numbers would then depend on which other texts are in the batch by chance, and on how much of
# it is padding. It needs other numbers, remembered from training, once a single text is to be continued. And over the
# tokens of a text it would let the past see the future. Layer norm looks at one token alone, and so it is the same
# in training and after it, for a batch of any size and a text of any length.


# %% nbgrader={"grade": false, "grade_id": "LayerNorm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerNorm(nn.Module):
    """Bring the last dimension to mean 0 and variance 1, then scale and shift it: (…, emb_dim) -> the same.

    - scale and shift are nn.Parameter, each of shape (emb_dim,)
    - each vector of emb_dim features on its own: no other token and no other text has a part in it
    - its mean is subtracted
    - what is left is divided by the square root of variance + eps, where the variance is the biased one: the mean of
      the squared differences from the mean
    - eps is 1e-5 unless another is given
    - at last it is multiplied by scale, and then shift is added
    - any number of leading dimensions, including none, in any memory layout
    - gradients reach x, scale and shift
    - the dtype is kept: float32 stays float32 and, after .double(), float64 stays float64
    - x is not changed

    The worked example begins with ones for scale and zeros for shift, so that a new norm only normalises.
    """

    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        # TODO: Keep eps, and make the two parameters.
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


# %% [markdown]
# ## Feed-forward
#
# In attention tokens hear from one another, but all that happens to what they hear is a weighted sum. What to make
# of it is the work of a small network with one hidden layer, four times as wide as the token:
#
# $$\text{FFN}(x) = \max(0, x W_1 + b_1) \, W_2 + b_2$$
#
# It works **position by position**: the same weights for each token, and no token knows of another. So `nn.Linear`
# is all that it takes, for it acts on the last dimension and leaves those in front alone. Without the ReLU,
# $\max(0, \cdot)$, two linear layers would only be one. (GPT-2 has GELU in its place, which is ReLU with a rounded
# corner. Here it is ReLU, as in the Transformer of 2017.)


# %% nbgrader={"grade": false, "grade_id": "FeedForward", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FeedForward(nn.Module):
    """Transform each token by itself: (…, emb_dim) -> the same.

    - there are two nn.Linear under any names: one from emb_dim to expansion · emb_dim, one from there back to emb_dim
    - expansion is 4 unless another is given
    - both have a bias
    - ReLU stands between them, and nothing else is done
    - the same in training as after .eval(): nothing is dropped in here
    - position by position: any number of leading dimensions, including none, in any memory layout
    - gradients reach x and the parameters of both layers
    - works in float64 after .double()
    - x is not changed
    """

    def __init__(self, emb_dim: int, expansion: int = 4) -> None:
        super().__init__()
        # TODO: Make the two layers.
        ### BEGIN SOLUTION
        self.widen = nn.Linear(emb_dim, expansion * emb_dim)
        self.narrow = nn.Linear(expansion * emb_dim, emb_dim)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: One layer, ReLU, the other layer.
        ### BEGIN SOLUTION
        hidden = torch.relu(self.widen(x))  # (…, emb_dim) -> (…, expansion · emb_dim)
        return self.narrow(hidden)  # (…, expansion · emb_dim) -> (…, emb_dim)
        ### END SOLUTION


# %% [markdown]
# ## Residual connections
#
# A residual connection goes around a module $f$ and adds what comes in to what comes out:
#
# $$y = x + f(x) \qquad\qquad \frac{\partial y}{\partial x} = 1 + f'(x)$$
#
# The derivative shows what it is good for. Through a pile of plain modules a gradient is a product of many factors
# $f'$, and if most of them are small, nothing is left of it. The $1$ opens a second path: through all of the
# pile a gradient comes back whole, whatever the modules on the way make of their own part of it.
#
# It also makes a module's task easier. It only has to find what is to be *added*, and a module that gives zeros does
# no harm.


# %% nbgrader={"grade": false, "grade_id": "Residual", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Residual(nn.Module):
    """Go around a module: x + sublayer(x).

    - the output is x plus what sublayer gives for x, and nothing else is done to either of them
    - the parameters of sublayer are parameters of this module
    - x may have any shape that sublayer keeps
    - gradients reach x on both ways, around sublayer and through it, and the parameters of sublayer
    - works in float64 after .double()
    - x is not changed, also where sublayer gives x itself
    """

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        # TODO: Keep the module.
        ### BEGIN SOLUTION
        self.sublayer = sublayer
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Add what sublayer gives to x.
        ### BEGIN SOLUTION
        return x + self.sublayer(x)
        ### END SOLUTION


# %% [markdown]
# ## The block
#
# A block is two residual steps, one with attention and one with the feed-forward. Where does the norm go? There are
# two orders, and both are in use:
#
# | | one step of it | |
# |---|---|---|
# | **post-norm** | $\text{norm}(x + f(x))$ | the Transformer of 2017 |
# | **pre-norm** | $x + f(\text{norm}(x))$ | GPT-2, and nearly all that came later |
#
# In post-norm each norm stands *on* the residual path, and a gradient has to pass through all of them: such models
# train badly unless the learning rate is warmed up with care. In pre-norm the path from the last block back to the
# first is free, and the norm only prepares what a module gets to read. This block is pre-norm:
#
# $$x' = x + \text{drop}(\text{attention}(\text{norm}_1(x)))$$
# $$x'' = x' + \text{drop}(\text{feed\_forward}(\text{norm}_2(x')))$$
#
# Two traps. What is added to is $x$ and not $\text{norm}_1(x)$, or the free path is gone. And the second step begins
# with $x'$ on both sides, in the sum and under the norm.
#
# Dropout acts on what is about to be added, and never on the path itself. `nn.Dropout` sets a part of the numbers to
# zero and divides the others by $1 - p$, each by itself and in training only.
#
# The two modules are handed in, ready made. So your block takes any attention, for example unit 4's
# `MultiHeadAttention`, and knows nothing of heads.


# %% nbgrader={"grade": false, "grade_id": "TransformerBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class TransformerBlock(nn.Module):
    """A pre-norm transformer block: (B, T, emb_dim) -> the same.

    Takes two modules that keep this shape, `attention` and `feed_forward`:

    - attention gets norm1(x), and what it gives is added to x
    - then feed_forward gets norm2 of that sum, and what it gives is added to the sum
    - norm1 and norm2 are LayerNorm or nn.LayerNorm for emb_dim features, each with parameters of its own
    - the parameters of attention and feed_forward are parameters of the block
    - in training each number that attention gives becomes 0 by itself, with probability `dropout`
    - so does each number that feed_forward gives
    - a number that is kept is divided by 1 - dropout, and what it is added to is never dropped or scaled
    - in eval mode nothing is dropped
    - with dropout=0.0 nothing is dropped in training
    - any number of texts and tokens, including one
    - gradients reach x and all parameters
    - works in float64 after .double()
    - x is not changed
    """

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        # TODO: Keep the two modules, and make norm1, norm2 and the dropout.
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


# %% [markdown]
# ## A stack of blocks
#
# A block takes and gives the same shape, so blocks can be stacked as high as memory allows. They are alike in form,
# but each has weights of its own. That is why this function does not take a block but something to make one with:
# `make_block()` gives a new block at every call. With unit 4's attention it may be
#
# ```python
# from multi_head_attention import MultiHeadAttention
#
# def make_block():
#     attention = MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
#     return TransformerBlock(attention, FeedForward(768), 768, 0.1)
# ```
#
# A trap: `[make_block()] * 12` calls it once, and writes the same block down twelve times.


# %% nbgrader={"grade": false, "grade_id": "stack_blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stack_blocks(make_block: Callable[[], nn.Module], num_blocks: int) -> nn.Module:
    """Make blocks and let them work one after the other.

    Takes `make_block`, which is called without arguments and gives a new block. Gives one module:

    - make_block is called num_blocks times in all, and each call makes one of the blocks
    - the block that was made first gets x, and each later one gets what the one before it gives
    - any number of blocks, including one
    - it is an nn.Module, and the parameters of all blocks are its parameters
    - gradients reach x and every block
    - x is not changed
    """
    # TODO: Call make_block num_blocks times, and put the blocks into one module.
    ### BEGIN SOLUTION
    return nn.Sequential(*(make_block() for _ in range(num_blocks)))
    ### END SOLUTION


# %% [markdown]
# ## How large is GPT-2?
#
# With all parts at hand you can count the parameters of a whole model. GPT-2 is token embeddings plus learned
# positions, a stack of blocks, one more norm, and an output layer that turns each token into a score for every word.
# That layer is *tied*: its matrix is the one of the token embeddings, used the other way round, so it is counted
# once.
#
# | | blocks | emb_dim | parameters |
# |---|---|---|---|
# | small | 12 | 768 | 124,439,808 |
# | medium | 24 | 1024 | 354,823,168 |
# | large | 36 | 1280 | 774,030,080 |
# | XL | 48 | 1600 | 1,557,611,200 |
#
# The paper first gave 117, 345, 762 and 1542 million. Its authors corrected the numbers later, so both are in
# circulation. Yours will be exact.
#
# Counting takes no model, only arithmetic: a linear layer from $n$ to $m$ features has $n \cdot m$ weights and $m$
# biases. What counts most is the square of emb_dim, and the 12 before it: four matrices in attention, and two of four
# times the size in the feed-forward.


# %% nbgrader={"grade": false, "grade_id": "gpt2_parameter_count", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt2_parameter_count(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    """Count the parameters of a GPT-2 with num_layers blocks.

    - each of vocab_size tokens has an embedding of emb_dim numbers, which the output layer shares: it adds none
    - each of context_length positions has emb_dim numbers, learned
    - each block has six linear layers: four in attention from emb_dim to emb_dim (queries, keys, values and output),
      and two in the feed-forward, from emb_dim to 4 · emb_dim and back
    - each of these layers has a bias, and each block two norms, with a scale and a shift for each feature
    - one more norm of that kind comes after the last block
    - vocab_size is 50257 and context_length is 1024 unless others are given
    - the result is an int
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


# %% [markdown]
# ## What comes after
#
# A model made of these blocks is **pretrained**: it reads billions of words, and the text itself says which token comes
# next. Afterwards the model continues text. It does not answer questions yet: after a question, more questions are a
# likely continuation.
#
# Answering is learned in a second stage, **alignment**. It needs far less text, because most of what the model knows
# comes from pretraining. First the model is trained on some thousands of examples of good answers. After that a
# **reward model** often helps. People compare two answers to the same prompt and say which one is better, and the
# reward model learns from their comparisons to give one number to a prompt with its answer. (It is often a language
# model whose output layer has been replaced.) Then the language model writes answers, the reward model judges them, and
# the weights of the language model change so that answers with a high reward become more likely. The reward model is
# needed for this training only: users talk to the language model.
