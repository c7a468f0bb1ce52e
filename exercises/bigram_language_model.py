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

# %%
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


# %%
def build_vocabulary(text: str) -> list[str]:
    """List the distinct characters of a text.

    Takes a `text` of one character or more. Returns its vocabulary:

    - every character of the text is in it once, including spaces, line breaks and capital letters
    - the characters are in the order of Python's `sorted`
    - the result is a list

    Time: 5 minutes. Difficulty: easy.
    """
    # TODO: Take each character once, and sort.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## From characters to numbers, and back
#
# The number of a character, its **id**, is its index in the vocabulary. With the vocabulary `["a", "c", "t"]` the text
# `cat` becomes `[1, 0, 2]`, and these ids become `cat` again.
#
# Be careful with two points. What if a character is not in the vocabulary? Then it has no id. An immediate error is
# better than a wrong text much later. And what is `vocabulary[-1]`? Python counts negative indices from the end, so a
# wrong id would silently become the last character.


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


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


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 32 predictions, not 4
#
# For each token of idx, a model gives V numbers, the **logits**: one for each possible next token. A larger logit means
# that the token is more likely. With a batch of 4 texts of 8 tokens, and 65 kinds of tokens, the logits are (4, 8, 65).
# How many predictions are these? Not 4, one for each text, but 4 · 8 = 32: one for each token.
#
# A loss takes one flat list of predictions. So the first two dimensions first become one: (4, 8, 65) becomes (32, 65),
# and the targets (4, 8) become (32,).


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


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


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


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


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


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


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## The past, averaged: a softmax
#
# Now do the same in a third way. Begin with scores that are all zero, set the scores of the future to minus infinity,
# and take the softmax of each row. Because exp(0) = 1 and exp(-∞) = 0, the result is the same matrix.
#
# This looks more complicated, but it leads to attention. A score says how important one token is for another. Here all
# scores are zero: no token is more important than another. If the tokens themselves decide the scores, the weights
# differ from text to text.


# %%
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
    # YOUR CODE HERE
    raise NotImplementedError()


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


# %%
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
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Project, score, scale, hide the future, take the softmax, drop, and sum the values.
        # YOUR CODE HERE
        raise NotImplementedError()


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


# %%
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
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(
        self, idx: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        # TODO: Look up the logits, and compute the loss if there are targets.
        # YOUR CODE HERE
        raise NotImplementedError()

    def generate(
        self, idx: torch.Tensor, max_new_tokens: int, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        # TODO: Repeat max_new_tokens times: draw a token for each text and put it at its end.
        # YOUR CODE HERE
        raise NotImplementedError()


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
