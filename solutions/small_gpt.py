# %% [markdown]
# # Capstone: your own small GPT
#
# You have written all the parts. Now you put them together: a small GPT with the same plan as GPT-2, made of your own
# attention, norm, feed-forward and blocks. Then you write the loop that lets it write text.
#
# | part | what it does | you know it from |
# |---|---|---|
# | token embedding | turns each id into a vector | unit 6: the table of the bigram model |
# | position embedding | says where a token is | unit 5: positions |
# | blocks | let tokens exchange information, and process it | units 4 and 7: attention and blocks |
# | final norm | brings the last vectors to the same scale | unit 7: layer norm |
# | output layer | turns each vector into scores for the next token | unit 6: logits |
#
# There are two exercises, and they need little code: about ten lines each. Read the steps before them, and keep an eye
# on the shapes. All examples have the same sizes: a batch of B = 4 texts with T = 8 tokens each, vectors of C = 32
# features, and V = 27 kinds of tokens.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check small_gpt`. You can also run `pytest checks/test_small_gpt.py` in the folder of the file.
# If a test fails, it tells you in one sentence what is wrong.
#
# Sources: the plan is that of Radford et al., *Language Models are Unsupervised Multitask Learners* (2019), which is
# GPT-2, in the small form of Andrej Karpathy, *Let's build GPT: from scratch, in code, spelled out* (2023).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from collections.abc import Callable

import torch
from torch import nn

# %% [markdown]
# ## Your own parts
#
# In a script, the lines below import your own classes from your `multi_head_attention.py` and `transformer_block.py`.
# A separate notebook has no such files: paste your classes there instead of the lines.
#
# What happens if one of your parts is wrong or missing?
#
# - **Wrong:** a mistake costs points only in the unit where it is. Here your model is graded with another part in its
#   place, so a right model keeps its points.
# - **Not written yet, or no file:** the grader does the same if it can. If it cannot, the exercise waits, and the
#   report says which part it waits for.
# - **On your computer**, `grader check` uses your own parts. If one of them raises `NotImplementedError`, or gives
#   wrong numbers, finish that unit first. Or use PyTorch's part for the moment, for example `nn.LayerNorm`.

# %%
# isort: split
from multi_head_attention import MultiHeadAttention
from transformer_block import FeedForward, LayerNorm, TransformerBlock, stack_blocks

# %% [markdown]
# ## From ids to logits, step by step
#
# The input `idx` has the shape (4, 8): four texts with eight ids each.
#
# **Step 1: what each token is.** `token_embedding` is a table with a row of 32 numbers for each of the 27 tokens. It
# looks up the row of each id: (4, 8) becomes (4, 8, 32). In the bigram model a row had 27 numbers and was the result.
# Here it is only the beginning.
#
# **Step 2: where each token is.** Attention does not see the order of the tokens (unit 5). `position_embedding` is a
# second table, with one row for each position: position 0 has row 0, position 1 has row 1, and so on. In unit 5 the
# rows were waves, and nobody trained them. GPT-2 learns its rows, like any other weight. So it has only as many
# positions as the table has rows, and this number is `context_length`. For eight tokens you need the rows 0 to 7:
# `torch.arange(8)` gives these numbers, and the table turns them into (8, 32).
#
# Now add: (4, 8, 32) plus (8, 32) is (4, 8, 32). Each of the four texts gets the same eight position vectors. If a text
# has only five tokens, it needs only the first five.
#
# **Step 3: the blocks.** A block takes (4, 8, 32) and returns (4, 8, 32), so you can stack as many as you like.
# `stack_blocks` of unit 7 wants a function that makes one new block:
#
# - its attention is `MultiHeadAttention` with 32 features in and 32 out. With 4 heads, each head has 8 features;
# - its feed-forward has 4 · 32 = 128 hidden numbers;
# - each block has weights of its own, so make both modules anew in each call.
#
# Attention is the only place where a token gets information from other tokens, and only from earlier ones. So the
# logits of a token cannot depend on a later token, although all tokens are computed at once.
#
# **Step 4: the final norm.** The blocks are pre-norm: each norm comes *before* a module. So nothing has normalised what
# the last block gives, and its numbers have grown with each block. One more norm brings them to the same scale:
# (4, 8, 32) stays (4, 8, 32).
#
# **Step 5: the output layer.** A linear layer without bias gives each token a score for each of the 27 tokens that may
# come next: (4, 8, 32) becomes (4, 8, 27). These are the **logits**. There is no softmax in the model: the loss of
# unit 6 wants logits, and `generate_text` below does the softmax itself.
#
# **Dropout.** Give `dropout` to the attention and to the block, as in unit 7. GPT-2 also drops numbers of the sum of
# step 2. You may do this or not.
#
# ### How many parameters?
#
# Count them by hand, for V = 27, a context length of 8, C = 32, 4 heads and 2 blocks:
#
# | part | how | parameters |
# |---|---|---|
# | token embedding | 27 · 32 | 864 |
# | position embedding | 8 · 32 | 256 |
# | attention: queries, keys, values | 3 · 32 · 32, no bias | 3,072 |
# | attention: `out_proj` | 32 · 32 + 32 | 1,056 |
# | feed-forward | 32 · 128 + 128 and 128 · 32 + 32 | 8,352 |
# | two norms | 2 · (32 + 32) | 128 |
# | *one block* | | *12,608* |
# | two blocks | 2 · 12,608 | 25,216 |
# | final norm | 32 + 32 | 64 |
# | output layer | 32 · 27, no bias | 864 |
# | **together** | | **27,264** |
#
# The number of heads makes no difference: heads only divide the same features. A block has 12 · C² + 10 · C parameters.
# `gpt2_parameter_count` of unit 7 has 12 · C² + 13 · C, because GPT-2 also has a bias for queries, keys and values. And
# there the output layer shares the matrix of the token embedding. Here both have their own.


# %% nbgrader={"grade": false, "grade_id": "SmallGPT", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SmallGPT(nn.Module):
    """A small GPT: idx (B, T), whole numbers -> logits (B, T, vocab_size).

    Takes six numbers: vocab_size, context_length, emb_dim, num_heads, num_blocks and dropout.

    - token_embedding is nn.Embedding(vocab_size, emb_dim)
    - position_embedding is nn.Embedding(context_length, emb_dim)
    - blocks is a module with num_blocks pre-norm blocks in sequence, each with its own parameters: attention with
      num_heads heads, without a bias for queries, keys and values, and a feed-forward with 4 · emb_dim hidden numbers
    - final_norm is LayerNorm or nn.LayerNorm for emb_dim features
    - output is nn.Linear from emb_dim to vocab_size, without bias
    - there are no other parameters, and no parts share theirs
    - each token's row of token_embedding and its position's row of position_embedding are added; the first token of
      each text has position 0
    - this sum goes through the blocks, one after the other
    - final_norm is applied to the output of the blocks, and output turns the result into the logits: no softmax
    - no logits depend on a later token
    - any number of texts, each computed separately, and any number of tokens from one to context_length
    - more than context_length tokens raise an error, of any type
    - in training each block drops numbers of what its two modules give, with probability `dropout`, as in unit 7; to
      drop attention weights or numbers of the sum of the embeddings too is up to you
    - in eval mode nothing is dropped
    - with dropout=0.0 nothing is dropped in training
    - gradients reach all parameters

    Time: 40 minutes. Difficulty: hard.
    """

    def __init__(
        self, vocab_size: int, context_length: int, emb_dim: int, num_heads: int, num_blocks: int, dropout: float
    ) -> None:
        super().__init__()
        # TODO: Make the two embeddings, the blocks, the final norm and the output layer.
        ### BEGIN SOLUTION
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)

        def make_block() -> nn.Module:
            attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)
            return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout)

        self.blocks = stack_blocks(make_block, num_blocks)
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)
        ### END SOLUTION

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        # TODO: Look up tokens and positions, add them, and apply the blocks, the norm and the output layer.
        ### BEGIN SOLUTION
        positions = torch.arange(idx.shape[1], device=idx.device)  # (T,)
        x = self.token_embedding(idx) + self.position_embedding(positions)  # (B, T, C) + (T, C) -> (B, T, C)
        x = self.final_norm(self.blocks(x))  # (B, T, C) -> (B, T, C)
        return self.output(x)  # (B, T, C) -> (B, T, V)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. You have written all the parts before. Make two tables, the blocks, a norm and a linear layer, and use them in
#    this order. Only one thing is new: the position of a token chooses a row of the second table.
# 2. For 4 texts of 8 tokens with emb_dim = 32 and 27 kinds of tokens: idx (4, 8); token embeddings (4, 8, 32);
#    position embeddings (8, 32); their sum, the blocks and the norm (4, 8, 32); logits (4, 8, 27).
# 3. One way: `torch.arange` of the number of tokens gives the positions. For the blocks, write a small function that
#    makes a new `MultiHeadAttention` and a new `FeedForward` and returns a `TransformerBlock` with them, and give the
#    function itself, without calling it, to `stack_blocks`.

# %% [markdown]
# ## Let it write
#
# `generate` of unit 6 was a method of the bigram model. Here it becomes a function that works with any model: your GPT,
# or a table of bigrams. A model is anything that you can call with ids (B, T) and that returns logits (B, T, V).
#
# One thing is new. Your GPT has only `context_length` positions, but the text becomes longer with each token. So the
# model gets only the **last** `context_length` tokens. With a context length of 8 and a text of 12 tokens, it gets
# tokens 4 to 11 and never sees tokens 0 to 3 again. The text itself keeps all its tokens.
#
# For each new token:
#
# 1. take the last `context_length` tokens of each text: (4, 12) becomes (4, 8). A shorter text stays as it is;
# 2. call the model, (4, 8, 27), and keep the logits of the last token, (4, 27);
# 3. turn them into probabilities with softmax, and draw one token for each text, (4, 1);
# 4. put it at the end of the text: (4, 12) becomes (4, 13).
#
# Two hints that are not graded. Inside `with torch.no_grad():` PyTorch does not store what it would need for gradients,
# which saves time and memory. And dropout would disturb the text: call `model.eval()` before `generate_text`, and
# `model.train()` before you go on with training. Do not call them inside the function, or restore the mode at its end:
# a caller who trains the model does not expect that its mode has changed.


# %% nbgrader={"grade": false, "grade_id": "generate_text", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate_text(
    model: Callable[[torch.Tensor], torch.Tensor],
    idx: torch.Tensor,
    max_new_tokens: int,
    context_length: int,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Continue texts with a model that turns ids (B, T) into logits (B, T, V).

    - returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)
    - each new token is drawn from the softmax of the model's logits of the last token
    - each text continues from its own last token, which is the newest token if one was drawn
    - the model gets only the last context_length tokens of the text, or the whole text if it is shorter
    - every token is drawn independently: texts with the same prompt may continue differently
    - max_new_tokens=0 returns only the prompt
    - any number of texts and of tokens in the prompt, including one
    - with a generator, every random draw comes from it and advances it
    - with the same generator state the result is the same
    - without a generator, torch's global generator is used, and it advances too
    - after the call the model is in the same mode as before, training or eval
    - idx is not changed

    Time: 25 minutes. Difficulty: medium.
    """
    # TODO: Repeat max_new_tokens times: take the last tokens, draw a token for each text, and put it at its end.
    ### BEGIN SOLUTION
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -context_length:])  # (B, T) -> (B, at most context_length, V)
            probabilities = torch.softmax(logits[:, -1], dim=-1)  # (B, T, V) -> (B, V)
            new = torch.multinomial(probabilities, 1, generator=generator)  # (B, V) -> (B, 1)
            idx = torch.cat([idx, new], dim=1)  # (B, T) and (B, 1) -> (B, T + 1)
    return idx
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. This is the method of unit 6 with one more step: before you call the model, keep only the last tokens of the text.
# 2. For 4 texts of 12 tokens, context_length 8 and 27 kinds of tokens: the model gets (4, 8) and returns (4, 8, 27).
#    The logits of the last token are (4, 27), the drawn tokens (4, 1), and the longer text is (4, 13).
# 3. One way: a slice with a negative start keeps the last tokens, and a text that is shorter stays as it is. Then
#    `torch.softmax`, `torch.multinomial` with `num_samples=1` and `generator=generator`, and `torch.cat` along the last
#    dimension.

# %% [markdown]
# ## Train it, and read what it writes
#
# Nothing is graded here. In a notebook, run the cells; with a script, run `python small_gpt.py`. The first cell shows
# an example of each exercise that you have written. Its second example has a model that always counts on, so the text
# is 0, 1, 2, 3, 4, 0, 1, 2. The second cell trains your GPT, which takes about ten seconds. It has the sizes of the
# table above, and reads the text of unit 6, character by character.
#
# Before training, the loss is above ln V = 3.30: the model knows nothing. Compare the end with the bigram model of unit
# 6, which cannot get below 1.32 on this text, because it sees only one character. Your GPT sees eight.

# %%
if __name__ == "__main__":
    idx = torch.zeros(4, 8, dtype=torch.long)  # four texts of eight tokens
    examples = {
        "SmallGPT": lambda: SmallGPT(27, 8, emb_dim=32, num_heads=4, num_blocks=2, dropout=0.0)(idx).shape,
        "generate_text": lambda: generate_text(lambda idx: 1000.0 * torch.eye(5)[(idx + 1) % 5], idx[:1, :1], 7, 8),
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
        characters = sorted(set(text))
        data = torch.tensor([characters.index(character) for character in text])  # (N,)
        vocab_size, context_length = len(characters), 8

        torch.set_num_threads(1)  # with tensors this small, threads only wait for each other
        torch.manual_seed(7)
        model = SmallGPT(vocab_size, context_length, emb_dim=32, num_heads=4, num_blocks=2, dropout=0.1)
        print(f"{vocab_size} kinds of characters, {sum(p.numel() for p in model.parameters()):,} parameters")

        optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
        for step in range(301):
            starts = torch.randint(len(data) - context_length, (16, 1))  # 16 texts
            batch = data[starts + torch.arange(context_length + 1)]  # (16, 9): the text, and one token more
            logits = model(batch[:, :-1])  # (16, 8) -> (16, 8, V)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        model.eval()
        prompt = torch.tensor([[characters.index(character) for character in "the "]])  # (1, 4)
        continued = generate_text(model, prompt, 200, context_length)
        print("".join(characters[number] for number in continued[0]))
    except NotImplementedError:
        print("The training waits for the exercises that are not written yet.")
