# %% [markdown]
# # Unit 8: attention between an encoder and a decoder
#
# Attention was not invented for language models. It was invented for translation, three years before the Transformer.
# There the queries come from one text and the keys from another. This unit begins with that attention, and ends with
# the form in which translators use it today.
#
# Why not translate word by word? Languages have different word orders, and not every word has a counterpart. "I have
# not seen the dog" is in German "Ich habe den Hund nicht gesehen": *I have the dog not seen*. The third word of this
# translation, *den*, belongs to the last word of the original. So a translator has two parts. An **encoder** reads the
# whole text, and then a **decoder** writes the translation, one word at a time.
#
# You will write the network that did both for many years, the attention that was added to it, and the module that has
# replaced both.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check encoder_decoder_attention`. You can also run
# `pytest checks/test_encoder_decoder_attention.py` in the folder of the file. If a test fails, it tells you in one
# sentence what is wrong.
#
# Sources: recurrent networks became known through Rumelhart, Hinton and Williams, *Learning Representations by
# Back-Propagating Errors* (1986), and the form below follows Elman, *Finding Structure in Time* (1990), with tanh
# instead of his logistic function. The LSTM comes from Hochreiter and Schmidhuber, *Long Short-Term Memory* (1997).
# Encoder and decoder: Cho et al., *Learning Phrase Representations Using RNN Encoder-Decoder for Statistical Machine
# Translation* (2014), and Sutskever, Vinyals and Le, *Sequence to Sequence Learning with Neural Networks* (2014).
# Additive attention: Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and Translate*
# (2014). Cross-attention: Vaswani et al., *Attention Is All You Need* (2017).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

# %% [markdown]
# ## One state for a whole text
#
# A **recurrent neural network** (RNN), an idea of the 1980s, reads one word after the other. What it has read so far is
# in its **hidden state** `h`, a vector of fixed width. Each new token x_t changes it:
#
#     h_t = tanh(x_t · W_x + h_(t-1) · W_h + b)      h_0 = 0
#
# The same W_x, W_h and `b` are used at every step, so a text may have any length. The tanh keeps every number of the
# state between -1 and 1. (The formulas count tokens from 1, your code from 0.)
#
# A plain decoder gets only the encoder's *last* state. Think of this sentence:
#
# > The **cat** that lay in the sun on the wall, not far from a sleeping dog, **jumped**.
#
# Who jumped? The nearest noun is the dog, and it sleeps. Between the subject and its verb the state reads fourteen
# other words, and each of them changes a part of it. In the first visible test you can see how the trace of a single
# token becomes smaller. And the last state has the same width for every text, also for a long one. The LSTM (1997) has
# gates that protect important information, and it remembers much longer. But a text of fifty words still has to go
# through one vector.
#
# There is a second disadvantage. h_t needs h_(t-1), so a text of T tokens takes T steps, one after the other. In the
# attention of the earlier units no token waits for another: a matrix product scores all pairs of tokens at once.


# %% nbgrader={"grade": false, "grade_id": "rnn_hidden_states", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_hidden_states(inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Read a text token by token, and store the state after each token.

    Takes `inputs` (T, d), `W_x` (d, h), `W_h` (h, h) and `bias` (h,). Returns the hidden states (T, h):

    - the state after token t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)
    - the state before the first token is all zeros
    - row t is the state after token t, for every token and in the order of the tokens
    - any number of tokens, including one
    - float32 and float64 arguments both work
    - gradients flow to all four arguments, through every step
    - the arguments are not changed

    Time: 20 minutes. Difficulty: medium.
    """
    # TODO: Start from zeros, compute each state from the one before it, and stack them all.
    ### BEGIN SOLUTION
    state = torch.zeros_like(bias)
    states = []
    for token in inputs:
        state = torch.tanh(token @ W_x + state @ W_h + bias)  # (d,) @ (d, h) + (h,) @ (h, h) -> (h,)
        states.append(state)
    return torch.stack(states)  # T times (h,) -> (T, h)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Read one token after the other, and keep a state. Each new state is computed from the token and from the state
#    before it.
# 2. A token is (d,), a state is (h,), and all T states together are (T, h). For example, 5 tokens with d = 3 and h = 2:
#    inputs (5, 3), W_x (3, 2), W_h (2, 2), bias (2,), result (5, 2).
# 3. One way: begin with `torch.zeros_like(bias)`, and loop over the rows of inputs. In each round, multiply the token
#    by W_x and the state by W_h with `@`, add both and the bias, and take `torch.tanh`. Append each state to a list,
#    and use `torch.stack` at the end.

# %% [markdown]
# ## Which word is important now?
#
# Bahdanau, Cho and Bengio (2014) asked why the decoder should see only the last state. The encoder computes a state
# after *every* token. Store them all, h_1, …, h_T, and let the decoder choose. Before it writes a word its own state is
# `s`, and it scores how well each encoder state fits. A small network computes the score:
#
#     e_t = v · tanh(s · W_d + h_t · W_e)
#
# Two matrices bring both states to a common width `a`, where they are added (so it is called **additive** attention).
# The vector `v` turns the sum into one number. All three are learned. Without the tanh the sum would have two separate
# parts, v · (s · W_d) and v · (h_t · W_e). The first is the same for all t, so it cancels in softmax: then the weights
# would not depend on the decoder.
#
# (In the paper the encoder reads the text in both directions and concatenates the two states of each word. Here one
# direction is enough, and both states have the same width.)


# %% nbgrader={"grade": false, "grade_id": "additive_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(
    decoder_state: torch.Tensor,
    encoder_states: torch.Tensor,
    W_decoder: torch.Tensor,
    W_encoder: torch.Tensor,
    v: torch.Tensor,
) -> torch.Tensor:
    """Score how well each encoder state fits the decoder's state.

    Takes `decoder_state` (h,), `encoder_states` (T, h), `W_decoder` (h, a), `W_encoder` (h, a) and `v` (a,). Returns
    the scores (T,):

    - score t is the dot product of v with tanh(decoder_state @ W_decoder + encoder_states[t] @ W_encoder)
    - any number of encoder states, including one
    - float32 and float64 arguments both work
    - gradients flow to all five arguments
    - the arguments are not changed

    Time: 20 minutes. Difficulty: medium.
    """
    # TODO: Project both sides, add them, and take the dot product of v with the tanh of each sum.
    ### BEGIN SOLUTION
    query = decoder_state @ W_decoder  # (h,) @ (h, a) -> (a,)
    keys = encoder_states @ W_encoder  # (T, h) @ (h, a) -> (T, a)
    return torch.tanh(query + keys) @ v  # (T, a) @ (a,) -> (T,)
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. Bring the decoder's state and every encoder state to the same width, and add them. Then tanh and a dot product with
#    v make one number of each sum.
# 2. The decoder's part is (a,), and the encoder's part is (T, a). Their sum is (T, a), because PyTorch adds (a,) to
#    every row. The product with v (a,) is (T,). For example, with T = 4 and a = 2: (2,), (4, 2), (4, 2), then (4,).
# 3. One way: `decoder_state @ W_decoder` and `encoder_states @ W_encoder`, added with `+`. Then `torch.tanh`, and at
#    the end `@ v`.

# %% [markdown]
# ## A new context for every word
#
# The rest is as in unit 1: softmax turns the scores into weights, and the context is the sum of the encoder states,
# each times its weight.
#
#     α_t = exp(e_t) / Σ_k exp(e_k)      c = Σ_t α_t · h_t
#
# This is an important change. The decoder gets a *new* context for each word that it writes, computed from its current
# state. When it writes "jumped", it can use the state of the cat directly: one step away, for any number of words
# between. The weights also show where the model looked. For a translation they show which words of the two languages
# belong together.


# %% nbgrader={"grade": false, "grade_id": "bahdanau_context", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bahdanau_context(
    decoder_state: torch.Tensor,
    encoder_states: torch.Tensor,
    W_decoder: torch.Tensor,
    W_encoder: torch.Tensor,
    v: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix the encoder states that fit the decoder's state.

    Takes the arguments of `additive_scores`. Returns the context (h,) and the weights (T,):

    - the weights are the softmax of the additive scores, so they sum to one
    - the context is the sum of the encoder states, each times its weight
    - the result is the pair (context, weights)
    - any number of encoder states, including one
    - float32 and float64 arguments both work
    - gradients flow to all five arguments
    - the arguments are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Compute the scores, take the softmax, and mix the encoder states.
    ### BEGIN SOLUTION
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.softmax(scores, dim=0)
    context = weights @ encoder_states  # (T,) @ (T, h) -> (h,)
    return context, weights
    ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. The last two steps are those of unit 1: softmax turns the scores into weights, and the weights mix the encoder
#    states.
# 2. Scores (T,) give weights (T,). Weights (T,) and encoder states (T, h) give a context (h,). For example, three
#    states with equal scores have the weights (1/3, 1/3, 1/3), and the context is the mean of the states.
# 3. One way: call your `additive_scores` with all five arguments, take `torch.softmax` with `dim=0`, and multiply the
#    weights by the encoder states with `@`. Return the pair (context, weights).

# %% [markdown]
# ## Cross-attention
#
# Bahdanau's decoder was still recurrent: attention helped an RNN. In 2017 the Transformer removed the RNN. Its encoder
# and its decoder are stacks of blocks. A block of the encoder has two steps: self-attention without a mask, and a
# feed-forward network. A block of the decoder has three: causal self-attention, then **cross-attention** to the outputs
# of the encoder, then a feed-forward network. (All its attention has several heads, and it normalises *after* each
# step. The blocks of unit 7 normalise before it.) Cross-attention is the scaled dot-product attention of unit 2, with
# one difference.
#
#     Q = X · W_q      K = C · W_k      V = C · W_v
#
# The queries come from the decoder's tokens X. Keys and values come from the **context** C, the encoder's output for
# the other text. In self-attention X and C are the same. Here they may have different lengths and widths, and the
# weights are a rectangle, (T_q, T_k). (Be careful with the word: in Bahdanau's attention, and in the earlier units, a
# context is the output. Here it is the usual name for this input.)
#
# There is no causal mask here. The decoder must not see the future of the text that it writes. But the text that it
# translates is already complete.
#
# Another mask is needed. The texts of a batch have different lengths, but all rows of a tensor must have the same
# length. So shorter texts are filled with tokens without meaning, the **padding**. Here is a batch of two, where
# `padding_mask` is True at ×:
#
# | | | | | |
# |---|---|---|---|---|
# | I | have | seen | the | dog |
# | cats | sleep | × | × | × |
#
# As in unit 3 the hidden scores become minus infinity *before* the softmax. It is not enough to make the padding zero:
# a key of zeros has the score 0, and exp(0) = 1. And it is not enough to set the weights to zero after the softmax:
# then the other weights do not sum to one. Look at the shapes: the mask (B, T_k) is about keys, and the scores are (B,
# T_q, T_k). Which dimension must be added, and where?
#
# The encoder needs this mask too. Its self-attention has no causal mask, so "cats" and "sleep" would look at the three
# × as well. With equal scores, the padding would get 3 of 5 parts of the weight, 0.6, and each word 0.2. With the mask,
# each of the two words gets 0.5. The decoder's self-attention needs no padding mask for a text that is filled at its
# end: the causal mask already hides everything that comes after a word.
#
# Here is the decoder's block as a whole. It has written three words, "Ich habe den", and translates the six words "I
# have not seen the dog":
#
# | step | queries from | keys and values from | mask | weights |
# |---|---|---|---|---|
# | self-attention | the decoder's tokens | the decoder's tokens | causal | (3, 3) |
# | cross-attention | the decoder's tokens | the encoder's outputs | padding | (3, 6) |
# | feed-forward | | | | |
#
# Each step has a residual connection and a norm, and its output has a row for each of the three words.


# %% nbgrader={"grade": false, "grade_id": "CrossAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CrossAttention(nn.Module):
    """Attention from one text to another: x (B, T_q, d_query), context (B, T_k, d_context) -> (B, T_q, d_out).

    - W_query is nn.Linear from d_query to d_out; W_key and W_value are nn.Linear from d_context to d_out
    - none of the three has a bias
    - queries come from x, keys and values from context
    - scores are the dot products of the queries with the keys, divided by the square root of d_out
    - softmax runs over the whole context for each query: there is no causal mask
    - the output is, for each query, the sum of the values, each times its weight
    - if padding_mask (B, T_k) is True, this token of the context is padding and gets no weight
    - padding gets no weight, even if it is very large and its scores are far above the others
    - padding has no weight, even if all other scores are as low as -10,000 after scaling
    - without a mask, or with a mask that is all False, nothing is padding
    - each element of the batch is computed separately, with its own padding
    - any number of queries and of tokens in the context, including one
    - gradients reach x, context and the weights of the three layers
    - works in float64 after .double()
    - x, context and padding_mask are not changed

    Each context contains at least one token that is not padding.

    Time: 40 minutes. Difficulty: hard.
    """

    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__()
        # TODO: Make the three layers.
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)
        ### END SOLUTION

    def forward(self, x: torch.Tensor, context: torch.Tensor, padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        # TODO: Project, score, hide the padding, take the softmax, and return the weighted sums of the values.
        ### BEGIN SOLUTION
        queries = self.W_query(x)  # (B, T_q, d_query) -> (B, T_q, d_out)
        keys = self.W_key(context)  # (B, T_k, d_context) -> (B, T_k, d_out)
        values = self.W_value(context)
        scores = queries @ keys.transpose(-2, -1)  # (B, T_q, d_out) @ (B, d_out, T_k) -> (B, T_q, T_k)
        if padding_mask is not None:
            # (B, T_k) -> (B, 1, T_k): one row for all queries
            scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values  # (B, T_q, T_k) @ (B, T_k, d_out) -> (B, T_q, d_out)
        ### END SOLUTION


# %% [markdown] tags=["hints"]
# 1. It is the attention of unit 2 between two texts: the queries come from one, the keys and values from the other.
#    Padding should get no weight, so hide it before the softmax.
# 2. For example, for a batch of 2 with T_q = 3, T_k = 5 and d_out = 4: queries (2, 3, 4); keys and values (2, 5, 4);
#    scores and weights (2, 3, 5); output (2, 3, 4). The mask (2, 5) has to become (2, 1, 5), so that it is the same for
#    all queries.
# 3. In `__init__`: three `nn.Linear` with `bias=False`; the first takes d_query, the others d_context. In `forward`,
#    one way: the three layers; queries `@` keys with `.transpose(-2, -1)`; if there is a mask, `masked_fill` with
#    `padding_mask[:, None, :]` and `-torch.inf`; divide by the square root of d_out; `torch.softmax` with `dim=-1`; `@`
#    values.

# %% [markdown]
# ## Where you are now
#
# In unit 1 a token compared itself with the others only by a dot product. Then it got weights to learn (unit 2), a mask
# for the future (3), several heads (4) and positions (5). You wrote the smallest language model and its loss (6), built
# the block of large models (7), and now you have connected two texts. RNN in the 1980s, LSTM in 1997, attention in
# 2014, the Transformer in 2017: you have written a part of each of these except one, and you know the reason for each.
#
# Add positions to an embedding, stack causal blocks on it and a linear layer on top of them: this is the basic
# structure of GPT. Let the blocks of one stack look at another stack through cross-attention, and you have the
# translator of 2017. What is left is size, data and patience.

# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python encoder_decoder_attention.py`. It
# shows an example of each exercise that you have written.
#
# The RNN reads 1, 0 and 0, and keeps half of its state in each step: 0.7616, 0.3634 and 0.1797. So the trace of the
# first token becomes smaller. In cross-attention, three words look at the six words of the other text.

# %%
if __name__ == "__main__":
    one, half = torch.ones(1, 1), torch.full((1, 1), 0.5)
    state, states = torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    weights = torch.eye(2), torch.eye(2), torch.tensor([1.0, 1.0])  # W_decoder, W_encoder and v
    examples = {
        "rnn_hidden_states": lambda: rnn_hidden_states(torch.tensor([[1.0], [0.0], [0.0]]), one, half, torch.zeros(1)),
        "additive_scores": lambda: additive_scores(state, states, *weights),
        "bahdanau_context": lambda: bahdanau_context(state, states, *weights),
        "CrossAttention": lambda: CrossAttention(4, 5, 8)(torch.ones(1, 3, 4), torch.ones(1, 6, 5)).shape,
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
