# %% [markdown]
# # Unit 6: a bigram language model, and the head of attention it leads to
#
# A **language model** reads a text and says, for each token of its vocabulary, how likely it is to come next. With this
# it can write: draw a token, put it at the end of the text, and ask again. In this unit you do all of this once with
# the smallest model. You go from characters to numbers, from numbers to batches, then to a loss, and finally to a
# trained model that writes.
#
# This model is a **bigram** model: to predict the next character it looks at one character and at nothing before it. So
# how can a token use the tokens before it? First you average them, in three ways that give the same numbers. The third
# way needs only trainable scores to become a **head** of attention.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check bigram_language_model`. You can also run `pytest checks/test_bigram_language_model.py` in
# the folder of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: the steps of this unit, from a bigram model to running means and a head, follow Andrej Karpathy, *Let's build
# GPT: from scratch, in code, spelled out* (2023). The idea of predicting the next token from a learned table of tokens
# comes from Bengio et al., *A Neural Probabilistic Language Model* (2003). The head comes from Vaswani et al.,
# *Attention Is All You Need* (2017).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

# %% [markdown]
# ## Characters
#
# A model computes with numbers, so a text is split into **tokens**, and each kind of token gets a number. There are two
# common choices:
#
# | tokens | vocabulary | "the cats" becomes |
# |---|---|---|
# | characters | small: 65 kinds are enough for Shakespeare | 8 tokens |
# | subwords | large: 50,257 kinds in GPT-2 | about 2 tokens |
#
# A small vocabulary means small tables and long sequences; a large vocabulary means large tables and short sequences.
# Large models use subwords: attention compares all tokens of a sequence with each other, so short sequences need less
# work. Here we use characters: then the whole tokenizer is two functions of a few lines.
#
# The **vocabulary** is the list of all characters in the text, each once. It is sorted, so that the same text gives the
# same numbers in every run and on every machine. A Python `set` alone guarantees no order.


# %% nbgrader={"grade": false, "grade_id": "build_vocabulary", "locked": false, "schema_version": 3, "solution": true, "task": false}
def build_vocabulary(text: str) -> list[str]:
    """List the distinct characters of a text.

    Takes a `text` of one character or more. Returns its vocabulary:

    - every character of the text is in it once, including spaces, line breaks and capital letters
    - the characters are in the order of Python's `sorted`
    - the result is a list

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Take each character once, and sort.
    ### BEGIN SOLUTION
    return sorted(set(text))
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Take every character of the text once, and put these characters into a fixed order.
# 2. A text of any length gives a list of its distinct characters. For example, "hello" has 5 characters and gives a
#    list of 4: ["e", "h", "l", "o"].
# 3. One way: a `set` of the text contains each character once, and `sorted` makes an ordered list of it.

# %% [markdown]
# ## From characters to numbers, and back
#
# The number of a character, its **id**, is its index in the vocabulary. With the vocabulary `["a", "c", "t"]` the text
# `cat` becomes `[1, 0, 2]`, and these ids become `cat` again.
#
# Be careful with two points. What if a character is not in the vocabulary? Then it has no id. An immediate error is
# better than a wrong text much later. And what is `vocabulary[-1]`? Python counts negative indices from the end, so a
# wrong id would silently become the last character.


# %% nbgrader={"grade": false, "grade_id": "encode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def encode(text: str, vocabulary: list[str]) -> list[int]:
    """Turn a text into ids.

    Takes a `text` and a `vocabulary` from build_vocabulary, made from this or another text. Returns the ids:

    - each character becomes its index in the vocabulary, counted from 0
    - the result is a list of int, one for each character
    - any number of characters, including none
    - a character that is not in the vocabulary raises ValueError or AssertionError
    - vocabulary is not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Look up each character, and raise an error for unknown ones.
    ### BEGIN SOLUTION
    ids = {character: place for place, character in enumerate(vocabulary)}
    unknown = set(text) - set(ids)
    if unknown:
        raise ValueError(f"the vocabulary does not have {sorted(unknown)}")
    return [ids[character] for character in text]
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The id of a character is its index in the vocabulary. Look up each character. A character that is not there has no
#    id, so raise an error.
# 2. A text of n characters gives a list of n ints. For example, with the vocabulary ["a", "c", "t"] the text "cat"
#    gives [1, 0, 2], and an empty text gives [].
# 3. One way: `vocabulary.index(character)` for each character; it raises ValueError for an unknown one. A faster way:
#    make a dict of the characters and their places with `enumerate`. A dict raises KeyError, so check for unknown
#    characters first, and `raise ValueError(...)`.


# %% nbgrader={"grade": false, "grade_id": "decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode(ids: list[int], vocabulary: list[str]) -> str:
    """Turn ids into a text: the inverse of encode.

    Takes a list of `ids` and their `vocabulary` of V characters. Returns the text:

    - each id becomes the character at this index in the vocabulary, counted from 0
    - the result is one str
    - any number of ids, including none
    - an id of V or more raises ValueError or AssertionError
    - a negative id raises ValueError or AssertionError too
    - ids and vocabulary are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Look up each id, and raise an error for ids outside 0 … V - 1.
    ### BEGIN SOLUTION
    for number in ids:
        if not 0 <= number < len(vocabulary):
            raise ValueError(f"{number} is no id: they go from 0 to {len(vocabulary) - 1}")
    return "".join(vocabulary[number] for number in ids)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. This is the way back. Each id is an index in the vocabulary. Join the characters that you find there to one text.
# 2. A list of n ids gives a text of n characters. For example, with the vocabulary ["a", "c", "t"] the ids [1, 0, 2]
#    give "cat". The ids 3 and -1 must raise an error, although Python accepts the index -1.
# 3. First check that every id is at least 0 and below `len(vocabulary)`, and `raise ValueError(...)` if one is not. One
#    way for the text: `"".join(...)` with the character of each id.

# %% [markdown]
# ## Batches
#
# A text is long, and a model reads only `block_size` tokens at a time. This number is T in the shapes. So training uses
# pieces of T tokens from random positions in the text, and several at once, a **batch**. The texts of a batch are
# computed in parallel because that is fast. They never exchange information.
#
# The targets are also in the text, one position later. From `the cat` with T = 4, the start 0 gives
#
# | | | | | |
# |---|---|---|---|---|
# | idx | t | h | e | ␣ |
# | targets | h | e | ␣ | c |
#
# and these are four examples in one: after `t` comes `h`, after `th` comes `e`, after `the` a space, after `the ` a
# `c`. The model learns to continue texts of every length between 1 and T.
#
# Be careful at the ends. The last target must still be inside the text, so with N tokens the starts go from 0 to N -
# T - 1. There are N - T starts.


# %% nbgrader={"grade": false, "grade_id": "sample_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sample_batch(
    data: torch.Tensor, block_size: int, batch_size: int, generator: torch.Generator | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw pieces of the data and their targets.

    Takes the ids of a text as `data` (N,). Returns idx and targets, each (B, T) for B = batch_size, T = block_size:

    - each row of idx is a piece of the data: T consecutive tokens
    - each target is the next token in the data after the token of idx at the same position
    - every start from 0 to N - T - 1 is possible, and no other
    - all of these starts are equally likely
    - each row is drawn independently, so rows may be the same, and there may be more rows than starts
    - data of T + 1 tokens is enough
    - data of fewer tokens raises ValueError or AssertionError
    - idx and targets are integers, like data
    - with a generator, every random draw comes from it and advances it
    - with the same generator state the result is the same
    - without a generator, torch's global generator is used, and it advances too
    - data is not changed

    Time: 25 minutes. Difficulty: medium.
    """
    # TODO: Raise an error for data that is too short, draw the starts, and cut out the pieces.
    ### BEGIN SOLUTION
    num_starts = len(data) - block_size
    if num_starts < 1:
        raise ValueError(f"{len(data)} tokens do not hold {block_size} and the one that follows")
    starts = torch.randint(num_starts, (batch_size, 1), generator=generator)
    places = starts + torch.arange(block_size)  # (B, 1) + (T,) -> (B, T)
    return data[places], data[places + 1]
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Choose random places in the data, and cut out T tokens at each of them. The targets are pieces of the same length
#    that begin one token later.
# 2. data (N,) gives idx and targets, each (B, T). For example, let data be 0, 1, ..., 9 and T = 4. The start 2 gives
#    the row (2, 3, 4, 5) of idx and the row (3, 4, 5, 6) of targets. There are 10 - 4 = 6 starts, from 0 to 5.
# 3. First raise an error if there is no start. One way: `torch.randint(num_starts, (batch_size, 1),
#    generator=generator)` draws the starts as a column. Add the row `torch.arange(block_size)`: this gives all places
#    (B, T), and you can index data with them. The targets are one place further.

# %% [markdown]
# ## 32 predictions, not 4
#
# For each token of idx, a model gives V numbers, the **logits**: one for each possible next token. A larger logit means
# that the token is more likely. With a batch of 4 texts of 8 tokens, and 65 kinds of tokens, the logits are (4, 8, 65).
# How many predictions are these? Not 4, one for each text, but 4 · 8 = 32: one for each token.
#
# A loss takes one flat list of predictions. So the first two dimensions first become one: (4, 8, 65) becomes (32, 65),
# and the targets (4, 8) become (32,).


# %% nbgrader={"grade": false, "grade_id": "flatten_for_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def flatten_for_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Flatten the predictions of a batch and their targets.

    Takes `logits` (B, T, V) and `targets` (B, T). Returns logits (B · T, V) and targets (B · T,):

    - all B · T predictions are there, one in each row, and also all their targets
    - each row of the logits has its own target at the same index
    - the targets stay integers
    - logits and targets may be non-contiguous, for example the result of a transpose
    - gradients flow to the logits
    - logits and targets are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Join the first two dimensions.
    ### BEGIN SOLUTION
    return logits.flatten(0, 1), targets.flatten()  # (B, T, V) -> (B · T, V), (B, T) -> (B · T,)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The loss takes one long list of predictions. So all predictions of text 0 come first, then those of text 1, and so
#    on. The targets are put into the same order.
# 2. Logits (B, T, V) become (B * T, V), and targets (B, T) become (B * T,). For example, (4, 8, 65) becomes (32, 65),
#    and (4, 8) becomes (32,). The 65 logits of one prediction stay together.
# 3. One way: `flatten(0, 1)` of the logits joins the first two dimensions, and `flatten()` of the targets joins all.
#    `reshape` works too; `view` is not enough, because both may be non-contiguous.

# %% [markdown]
# ## The loss
#
# How good is a prediction? Softmax turns its logits `z` into probabilities. The probability of the target `y` should be
# near 1. The **cross-entropy** measures this: it is minus the logarithm of this probability, averaged over all
# predictions.
#
#     loss = -1/N · Σ_n ln softmax(z_n)[y_n]
#
# A prediction with the probability 1 for its target has the loss -ln 1 = 0. A model that knows nothing gives each of V
# tokens the probability 1/V and has the loss ln V: with 65 characters 4.17. If a new model begins far above that, it is
# too sure about things that it cannot know.
#
# On a computer there is a problem. With logits of 1000 and -1000 the softmax gives the second a probability of
# exp(-2000), which is rounded to 0, and the logarithm of 0 is minus infinity. The loss should be 2000. So do not
# compute the two steps one after the other, but first simplify the logarithm on paper. With `m` the largest logit of
# the row,
#
#     -ln softmax(z)[y] = ln(Σ_j exp(z_j - m)) - (z_y - m)
#
# and nothing in it overflows: no exponential is above 1, and one of them is always 1.


# %% nbgrader={"grade": false, "grade_id": "cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Measure how far predictions are from their targets.

    Takes `logits` (N, V) and `targets` (N,), ids from 0 to V - 1. Returns one number, a tensor without dimensions:

    - the mean, over all rows, of minus the natural logarithm of the target's probability after softmax
    - it stays correct and finite for logits of ±1,000
    - any number of rows, including one
    - float32 and float64 logits both work
    - gradients flow to the logits
    - logits and targets are not changed

    Do not use torch's cross_entropy, nll_loss or log_softmax. If you use one, you get a comment but lose no points.

    Time: 30 minutes. Difficulty: hard.
    """
    # TODO: Subtract the largest logit of each row, and write the formula above as code.
    ### BEGIN SOLUTION
    shifted = logits - logits.amax(dim=-1, keepdim=True)  # (N, V) - (N, 1) -> (N, V)
    of_targets = shifted.gather(-1, targets[:, None])[:, 0]  # (N, V) -> (N, 1) -> (N,)
    return (shifted.exp().sum(dim=-1).log() - of_targets).mean()
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The loss of a row is the logarithm of the sum of all its exponentials, minus the logit of the target. To prevent
#    infinite numbers, first subtract the largest logit of the row from all its logits: the loss stays the same. At the
#    end, take the mean over the rows.
# 2. Logits (N, V) and targets (N,) give one number. The largest logits are (N, 1), the logarithms (N,), and the logits
#    of the targets (N,). For example, the logits (0, 0) have the loss ln 2 = 0.6931 for each target, and (1000, -1000)
#    has the loss 2000 for the target 1.
# 3. One way: `amax(dim=-1, keepdim=True)` for the largest logits; then `.exp()`, `.sum(dim=-1)` and `.log()`. For the
#    logits of the targets, after the subtraction: `torch.arange(len(targets))` and targets together are an index, with
#    one row and one column for each prediction. `.mean()` at the end.

# %% [markdown]
# ## The past, averaged: a loop
#
# So far a token knows only itself. The simplest way to use the past is the mean of the token and all tokens before it:
#
#     mean_t = (x_0 + x_1 + … + x_t) / (t + 1)
#
# A mean ignores the order, and it treats all tokens as equally important. But it is a good first step. Write it as in
# the formula, with a loop over texts and tokens.
#
# The next two exercises ask for the same numbers in two other ways. Only the numbers are graded, so you get all points
# if you paste one body three times. The three ways are for learning: each is a step towards attention.


# %% nbgrader={"grade": false, "grade_id": "running_mean_loop", "locked": false, "schema_version": 3, "solution": true, "task": false}
def running_mean_loop(x: torch.Tensor) -> torch.Tensor:
    """Average each token and all before it, with a loop.

    Takes `x` (B, T, C). Returns the same shape:

    - each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature
    - any number of tokens, including one
    - float32 and float64 tokens both work
    - gradients flow to x
    - x is not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: For each text and each token, take the mean of the tokens so far.
    ### BEGIN SOLUTION
    # (t + 1, C) -> (C,), T times -> (T, C), B times -> (B, T, C)
    return torch.stack(
        [torch.stack([text[: token + 1].mean(dim=0) for token in range(len(text))]) for text in x],
    )
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Row t of the result is the mean of the rows 0 to t of the same text. Compute this for each text and for each token.
# 2. x (B, T, C) gives the same shape. For example, the text [[2, 4], [4, 0], [0, 2]] gives [[2, 4], [3, 2], [2, 2]].
# 3. One way: two loops, over the texts and over the tokens. A slice `[: t + 1]` of a text contains a token and its
#    past, and `.mean(dim=0)` makes one vector (C,) of it. Collect these in lists, and use `torch.stack`: first for the
#    tokens of a text, then for the texts.

# %% [markdown]
# ## The past, averaged: a matrix product
#
# A mean is a weighted sum with equal weights. Put the weights of token `t` into row `t` of a matrix (T, T). Then one
# product gives all means at once:
#
#     [  1    0    0  ]   [ x_0 ]   [ x_0                   ]
#     [ 1/2  1/2   0  ] · [ x_1 ] = [ (x_0 + x_1) / 2       ]
#     [ 1/3  1/3  1/3 ]   [ x_2 ]   [ (x_0 + x_1 + x_2) / 3 ]
#
# The zeros above the diagonal hide the future. `torch.tril` makes a lower triangle of ones; divide each row by its sum.
# A product of (T, T) with (B, T, C) is computed separately for each text of the batch.


# %% nbgrader={"grade": false, "grade_id": "running_mean_matmul", "locked": false, "schema_version": 3, "solution": true, "task": false}
def running_mean_matmul(x: torch.Tensor) -> torch.Tensor:
    """Average each token and all before it, with a matrix product.

    Takes `x` (B, T, C). Returns the same shape:

    - each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature
    - any number of tokens, including one
    - float32 and float64 tokens both work
    - gradients flow to x
    - x is not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Make the matrix of weights, in the dtype of x, and multiply.
    ### BEGIN SOLUTION
    num_tokens = x.shape[1]
    seen = torch.ones(num_tokens, num_tokens, dtype=x.dtype).tril()
    weights = seen / seen.sum(dim=-1, keepdim=True)
    return weights @ x  # (T, T) @ (B, T, C) -> (B, T, C)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. A mean is a weighted sum with equal weights. Put the weights of token t into row t of a table, with zeros for the
#    future. Then one product computes all means.
# 2. The table is (T, T), and (T, T) times (B, T, C) gives (B, T, C). For T = 3 the rows of the table are (1, 0, 0),
#    (1/2, 1/2, 0) and (1/3, 1/3, 1/3).
# 3. One way: `torch.ones` with the sizes T and T and `dtype=x.dtype`, then `.tril()`. Divide this by its own
#    `.sum(dim=-1, keepdim=True)`, and multiply: the table `@` x.

# %% [markdown]
# ## The past, averaged: a softmax
#
# Now do the same in a third way. Begin with scores that are all zero, set the scores of the future to minus infinity,
# and take the softmax of each row. Because exp(0) = 1 and exp(-∞) = 0, the result is the same matrix.
#
# This looks more complicated, but it leads to attention. A score says how important one token is for another. Here all
# scores are zero: no token is more important than another. If the tokens themselves decide the scores, the weights
# differ from text to text.


# %% nbgrader={"grade": false, "grade_id": "running_mean_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def running_mean_softmax(x: torch.Tensor) -> torch.Tensor:
    """Average each token and all before it, with weights from a softmax of masked scores.

    Takes `x` (B, T, C). Returns the same shape:

    - each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature
    - any number of tokens, including one
    - float32 and float64 tokens both work
    - gradients flow to x
    - x is not changed

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Begin with scores of zero, hide the future, take the softmax, and multiply.
    ### BEGIN SOLUTION
    num_tokens = x.shape[1]
    future = torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)
    scores = torch.zeros(num_tokens, num_tokens, dtype=x.dtype).masked_fill(future, -torch.inf)
    return torch.softmax(scores, dim=-1) @ x  # (T, T) @ (B, T, C) -> (B, T, C)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. If all scores of a row are the same, softmax gives them equal weights. Hide the future with minus infinity, and
#    only the tokens so far share the weight.
# 2. The scores are zeros (T, T), and softmax makes the same table (T, T) of them as in the exercise before. For T = 3,
#    the second row of the scores is (0, 0, -inf), and its weights are (0.5, 0.5, 0).
# 3. One way: `torch.zeros` with the sizes T and T and `dtype=x.dtype`; `masked_fill` with `-torch.inf`, where the mask
#    is made with `.triu(diagonal=1)` from bools; `torch.softmax` with `dim=-1`; the weights `@` x.

# %% [markdown]
# ## A head of attention
#
# Now the scores come from the tokens. Each token has a **query**, what it is looking for, and a **key**, what it has.
# The dot product of a query with a key is their score. A third projection is the **value**: what a token gives to the
# tokens that attend to it. Everything else is the running mean that you have just written.
#
# You can see attention as **communication on a directed graph**. Tokens are its nodes, and each node takes a weighted
# sum over the nodes that point to it; the weights depend on what these nodes contain. In a language model, token 0 gets
# information only from itself, token 1 from tokens 0 and 1, and so on: that is the mask. Other graphs are possible. In
# an encoder all tokens get information from all others, and there is no mask. Remember three points:
#
# - The graph has no positions. Nothing tells a token where another token is: positions must be added.
# - The texts of a batch are separate graphs, without an edge between them.
# - This is self-attention: keys and values come from the same tokens as the queries. In cross-attention they come from
#   another sequence.
#
# It is the `CausalAttention` of unit 3, with the names of Karpathy's lecture: `n_embd` is the input width, `head_size`
# is the output width, and scores are divided by √head_size. Do not use the root of `n_embd`: a dot product of a query
# with a key has head_size terms, so its variance is head_size, and its typical size is the root of head_size. Without
# this division softmax gets large numbers, gives nearly all the weight to one token, and learns slowly.


# %% nbgrader={"grade": false, "grade_id": "Head", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Head(nn.Module):
    """One head of causal self-attention: (B, T, n_embd) -> (B, T, head_size).

    - key, query and value are nn.Linear from n_embd to head_size
    - key, query and value have no bias
    - scores are the dot products of the queries with the keys, divided by the square root of head_size
    - no output depends on a later token
    - a later token has no weight, even if all visible scores are as low as -10,000 after scaling
    - the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the softmax
      of their scores
    - each text of the batch is computed separately
    - any number of tokens up to block_size, including one
    - in training each weight is dropped independently, with probability `dropout`
    - dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout
    - in eval mode nothing is dropped
    - with dropout=0.0 nothing is dropped in training
    - gradients reach the inputs and the weights of the three layers, and the mask is not a parameter
    - works in float64 after .double()
    - the inputs are not changed

    Time: 30 minutes. Difficulty: medium.
    """

    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__()
        # TODO: Make the three layers, the dropout and, if you keep one, the mask.
        ### BEGIN SOLUTION
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.block_size = block_size
        future = torch.ones(block_size, block_size, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future, persistent=False)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Project, score, scale, hide the future, take the softmax, drop, and sum the values.
        ### BEGIN SOLUTION
        # Without this, a mask (1, 1) would be stretched over a longer text and hide nothing.
        if x.shape[1] > self.block_size:
            raise ValueError(f"{x.shape[1]} tokens are more than the block size of {self.block_size}")
        queries, keys, values = self.query(x), self.key(x), self.value(x)  # (B, T, C) -> (B, T, head_size)
        num_tokens, head_size = keys.shape[-2:]
        scores = queries @ keys.transpose(-2, -1) / head_size**0.5  # (B, T, hs) @ (B, hs, T) -> (B, T, T)
        scores = scores.masked_fill(self.future[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return weights @ values  # (B, T, T) @ (B, T, head_size) -> (B, T, head_size)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. It is the mean by softmax again, but now the tokens decide the scores: a score is the dot product of a query with a
#    key. And the weights mix the values, not the tokens themselves.
# 2. For example, for 2 texts of 5 tokens, n_embd = 8 and head_size = 4: x (2, 5, 8); queries, keys and values (2, 5,
#    4); scores and weights (2, 5, 5); output (2, 5, 4). The scores are divided by 2, the square root of 4.
# 3. In `__init__`: three `nn.Linear` with `bias=False`, and `nn.Dropout(dropout)`. In `forward`, one way, in this
#    order: the three layers; queries `@` keys with `.transpose(-2, -1)`; divide by `head_size**0.5`; `masked_fill` with
#    a mask for this number of tokens; `torch.softmax`; dropout; `@` values.

# %% [markdown]
# ## The bigram model
#
# Now back to the whole model. A bigram model looks up the logits of the next token in a table with one row for each
# token: row `i` says what comes after token `i`. `nn.Embedding(V, V)` is such a table: it takes ids and returns their
# rows, and the rows are learned.
#
# `forward` returns logits (B, T, V), with and without targets: only the loss needs the flat form. In the original
# lecture the logits are flat if targets are given. Then their shape depends on the targets, and the caller must compute
# that row n belongs to text n // T.
#
# `generate` continues each text separately:
#
# 1. call the model for logits, and keep those of the last token, (B, V);
# 2. turn them into probabilities with softmax;
# 3. draw one token for each text (`torch.multinomial` takes a `generator`). If you always take the most likely token,
#    the text soon repeats itself;
# 4. put it at the end, and repeat.
#
# A bigram model needs only the last token, but you may give it the whole text. The same loop works for a model with
# attention, such as one with the `Head` above, if you give it only the last `block_size` tokens,
# `idx[:, -block_size:]`: its mask is too small for a longer text. The last cell of this unit does this.


# %% nbgrader={"grade": false, "grade_id": "BigramLanguageModel", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BigramLanguageModel(nn.Module):
    """Predicts each next token from one token: idx (B, T) -> logits (B, T, V) and a loss, for V = vocab_size.

    forward(idx, targets=None):

    - token_embedding_table is nn.Embedding(vocab_size, vocab_size)
    - without targets, the logits of each token are its row of the table: (B, T, V)
    - with targets, the logits are the same: (B, T, V)
    - with targets (B, T), the loss is one number, the mean cross-entropy of all B · T predictions
    - without targets, the loss is None
    - gradients of the loss reach the table
    - idx and targets are not changed

    generate(idx, max_new_tokens, generator=None):

    - returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)
    - each new token is drawn from the softmax of the logits of the text's last token
    - the last token is the newest token, if one was drawn, and each text continues from its own last token
    - every token is drawn independently: texts with the same prompt may continue differently
    - max_new_tokens=0 returns only the prompt
    - any number of texts and of tokens in the prompt, including one
    - with a generator, every random draw comes from it and advances it
    - with the same generator state the result is the same
    - without a generator, torch's global generator is used, and it advances too
    - idx is not changed

    Time: 45 minutes. Difficulty: hard.
    """

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        # TODO: Make the table.
        ### BEGIN SOLUTION
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)
        ### END SOLUTION

    def forward(
        self, idx: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        # TODO: Look up the logits, and compute the loss if there are targets.
        ### BEGIN SOLUTION
        logits = self.token_embedding_table(idx)  # (B, T) -> (B, T, V)
        if targets is None:
            return logits, None
        return logits, cross_entropy(*flatten_for_cross_entropy(logits, targets))
        ### END SOLUTION

    def generate(
        self, idx: torch.Tensor, max_new_tokens: int, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        # TODO: Repeat max_new_tokens times: draw a token for each text and put it at its end.
        ### BEGIN SOLUTION
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            probabilities = torch.softmax(logits[:, -1], dim=-1)  # (B, T, V) -> (B, V)
            new = torch.multinomial(probabilities, 1, generator=generator)  # (B, V) -> (B, 1)
            idx = torch.cat([idx, new], dim=1)  # (B, T) and (B, 1) -> (B, T + 1)
        return idx
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The model is one table. The row of a token contains the logits of the token that comes next. To write, draw a token
#    from the softmax of the last logits, put it at the end, and repeat.
# 2. `forward` gives the pair of logits and loss: idx (B, T) gives logits (B, T, V), and the loss is one number or None.
#    In `generate`, the last logits are (B, V) and the new tokens (B, 1). For example, idx (2, 3) and 4 new tokens give
#    (2, 7).
# 3. The table is `nn.Embedding` with vocab_size twice; call it with idx. One way for the loss: your
#    `flatten_for_cross_entropy`, then your `cross_entropy`. One way for each new token: the logits at `[:, -1]`,
#    `torch.softmax`, `torch.multinomial` with 1 and the generator, `torch.cat` with `dim=1`.

# %% [markdown]
# ## Train it, and let it write
#
# Nothing is graded here. In a notebook, run the cells; with a script, run `python bigram_language_model.py`. The first
# cell shows an example of each exercise that you have written. The second one trains the model, which takes about a
# second. The text has only a few lines, so that you can see what the model can know: after a `q` there is always a `u`,
# and after a space often a `t`.
#
# In the first cell, the three running means of 1, 2 and 6 are 1, 1.5 and 3. The two predictions for the loss are (0, 0)
# and (1000, -1000), and their targets are 0 and 1. So the loss is the mean of ln 2 = 0.69 and 2000, about 1000.35.
#
# Look at the loss. It begins above ln V and falls, and then it stops falling. From one line to the next it may even
# rise a little: each line is the loss of one random batch, and not of the whole text. What would the model need for a
# lower loss? For example, it would need the word before: after `sat` comes `on`, `in` or `under`, and after `the` none
# of these. But in both cases the model sees only the space: a bigram model remembers one character. If you add a head
# that uses the past, and the block of unit 7, you are close to a GPT.

# %%
if __name__ == "__main__":
    data = torch.arange(6)
    x = torch.tensor([[[1.0], [2.0], [6.0]]])  # one text of three tokens with one feature each
    logits, targets = torch.tensor([[[0.0, 0.0], [1000.0, -1000.0]]]), torch.tensor([[0, 1]])
    examples = {
        "build_vocabulary": lambda: build_vocabulary("the cat"),
        "encode": lambda: encode("cat", ["a", "c", "t"]),
        "decode": lambda: decode([1, 0, 2], ["a", "c", "t"]),
        "sample_batch": lambda: sample_batch(data, 3, 2, torch.Generator().manual_seed(0)),
        "flatten_for_cross_entropy": lambda: flatten_for_cross_entropy(logits, targets),
        "cross_entropy": lambda: cross_entropy(logits[0], targets[0]),
        "running_mean_loop": lambda: running_mean_loop(x),
        "running_mean_matmul": lambda: running_mean_matmul(x),
        "running_mean_softmax": lambda: running_mean_softmax(x),
        "Head": lambda: Head(4, 2, 3, 0.0)(torch.ones(1, 3, 4)).shape,
        "BigramLanguageModel": lambda: BigramLanguageModel(5).generate(torch.tensor([[0]]), 4).shape,
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")

# %%
if __name__ == "__main__":
    text = """the quiet cat sat on the mat next to the dog.
the dog saw the cat, and the cat saw the dog.
then the cat jumped over the quiet dog and ran to the tree.
the dog ran after the cat, but the tree was too tall.
so the dog sat under the tree, and the cat sat in the tree.
that night the dog slept on the mat, and the cat slept next to it.
"""
    try:
        vocabulary = build_vocabulary(text)
        data = torch.tensor(encode(text, vocabulary))  # (N,)
        print(f"{len(data)} characters of {len(vocabulary)} kinds: {vocabulary}")

        torch.manual_seed(6)
        model = BigramLanguageModel(len(vocabulary))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        for step in range(301):
            idx, targets = sample_batch(data, block_size=8, batch_size=32)
            logits, loss = model(idx, targets)
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        prompt = torch.tensor([encode("the ", vocabulary)])  # (1, 4)
        print(decode(model.generate(prompt, 200)[0].tolist(), vocabulary))
    except NotImplementedError:
        print("The training waits for the exercises that are not written yet.")
        model = None

# %% [markdown]
# ## How good is the model?
#
# The loss of one batch is noisy. For a better number, take the mean over many batches. This **loss estimation** has
# three rules:
#
# - Call `model.eval()` before it and `model.train()` after it. In training, dropout makes a model worse than it is.
#   (This model has no dropout. But the loop should work for every model.)
# - Compute inside `torch.no_grad()`. PyTorch then stores nothing for gradients, which saves time and memory.
# - Measure on two texts: on the **training** text, and on a **validation** text that the model never sees in training.
#
# Why the second text? A model can learn its training text by heart. Then the training loss falls, but the loss on other
# texts rises. This is **overfitting**, and only the validation loss shows it. Here a new model is trained on the first
# five lines, and the sixth line is the validation text:
#
# | step | loss on the training text | loss on the validation text |
# |---|---|---|
# | 0 | 3.62 | 3.61 |
# | 75 | 1.39 | 2.25 |
# | 150 | 1.29 | 2.40 |
# | 300 | 1.27 | 2.57 |
#
# The model is best near step 75. After that it only becomes more sure that the pairs of the first five lines are the
# only ones. More text helps, and so do a smaller model, dropout, and an earlier end.
#
# How low can the loss be? For a bigram model you can find out by counting. Count each pair of characters in the text,
# and take the share of each next character as its probability. No bigram model can have a lower loss on this text. For
# the six lines this **floor** is 1.321, and the estimate for the model that you trained on them is 1.346. So this
# model has learned almost all that a bigram model can know. A lower loss needs a longer memory: attention.

# %%
if __name__ == "__main__" and model is not None:

    def estimate_loss(model: nn.Module, data: torch.Tensor) -> float:
        """Return the mean loss of 50 batches: always the same batches for the same data."""
        generator = torch.Generator().manual_seed(0)
        model.eval()
        with torch.no_grad():
            losses = [model(*sample_batch(data, 8, 32, generator))[1].item() for _ in range(50)]
        model.train()
        return sum(losses) / len(losses)

    end_of_training = text.index("that night")
    training, validation = data[:end_of_training], data[end_of_training:]
    torch.manual_seed(6)
    second_model = BigramLanguageModel(len(vocabulary))
    optimizer = torch.optim.AdamW(second_model.parameters(), lr=0.05)
    for step in range(301):
        if step % 75 == 0:
            losses = estimate_loss(second_model, training), estimate_loss(second_model, validation)
            print(f"step {step:3}: training {losses[0]:.2f}, validation {losses[1]:.2f}")
        _, loss = second_model(*sample_batch(training, 8, 32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    counts = torch.zeros(len(vocabulary), len(vocabulary))
    counts.index_put_((data[:-1], data[1:]), torch.tensor(1.0), accumulate=True)
    shares = counts / counts.sum(dim=1, keepdim=True)
    floor = -(counts * shares.log()).nansum() / counts.sum()  # a pair that never occurs gives 0 times minus infinity
    print(f"floor {floor.item():.3f}, the first model {estimate_loss(model, data):.3f}")

# %% [markdown]
# ## The same loop, with attention
#
# Here your `generate` writes with a model that has a head of attention. `generate` is inherited without change; only
# `forward` differs, and takes the last `block_size` tokens of the text. The prompt has 4 tokens and 20 are added,
# although the head can take no more than 8. (The model is not trained, so its text means nothing.) Remove the slice,
# and look where it fails.

# %%
if __name__ == "__main__" and model is not None:

    class AttentionLanguageModel(BigramLanguageModel):
        """Predicts each next token from up to block_size tokens: idx (B, T) -> logits of the last of them."""

        def __init__(self, vocab_size: int, n_embd: int, block_size: int) -> None:
            super().__init__(vocab_size)
            self.block_size = block_size
            self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
            self.head = Head(n_embd, n_embd, block_size, dropout=0.0)
            self.output = nn.Linear(n_embd, vocab_size)

        def forward(self, idx: torch.Tensor) -> tuple[torch.Tensor, None]:
            last = idx[:, -self.block_size :]  # (B, T) -> (B, block_size), or (B, T) where the text is shorter
            return self.output(self.head(self.token_embedding_table(last))), None  # (B, block_size, V)

    try:
        model_with_attention = AttentionLanguageModel(len(vocabulary), n_embd=16, block_size=8)
        print(decode(model_with_attention.generate(prompt, 20)[0].tolist(), vocabulary))
    except NotImplementedError:
        print("The model with attention waits for Head, which is not written yet.")
