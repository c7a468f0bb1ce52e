# %% [markdown]
# # Unit 8: attention between an encoder and a decoder
#
# Attention was not invented for language models. It was invented for translation, three years before the Transformer,
# and there the queries come from one text and the keys from another. This unit goes back to that beginning, and then
# forward again to the form in which translators use attention today.
#
# Why not translate word by word? Because languages do not put their words in the same order, and do not have a word
# for each word. "I have not seen the dog" is in German "Ich habe den Hund nicht gesehen": *I have the dog not seen*.
# The third word of this translation, *den*, belongs to the last word of the original. So a translator has two parts. An
# **encoder** reads the whole text, and then a **decoder** writes the other one, a word at a time.
#
# You will write the network that did both for many years, the attention that was added to it, and the module that has
# replaced both.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result is graded only if a rule names it or says that it is kept. To check your
# answers, run `grader check encoder_decoder_attention`. You can also run `pytest test_encoder_decoder_attention.py` in
# the folder of the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: recurrent networks became known through Rumelhart, Hinton and Williams, *Learning Representations by
# Back-Propagating Errors* (1986), and the form below is in the manner of Elman, *Finding Structure in Time* (1990),
# with tanh in place of his logistic function. The LSTM comes from Hochreiter and Schmidhuber, *Long Short-Term Memory*
# (1997). Encoder and decoder: Cho et al., *Learning Phrase Representations Using RNN Encoder-Decoder for Statistical
# Machine Translation* (2014), and Sutskever, Vinyals and Le, *Sequence to Sequence Learning with Neural Networks*
# (2014). Additive attention: Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and
# Translate* (2014). Cross-attention: Vaswani et al., *Attention Is All You Need* (2017).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

# %% [markdown]
# ## One state for a whole text
#
# A **recurrent neural network** (RNN), an idea of the 1980s, reads as you do: one word after the other. What it has
# understood so far is in its **hidden state** $h$, a vector of fixed width. Each new token $x_t$ changes it a little:
#
# $$h_t = \tanh\!\left(x_t W_x + h_{t-1} W_h + b\right), \qquad h_0 = 0$$
#
# The same $W_x$, $W_h$ and $b$ serve at every step, so a text may be of any length. The tanh keeps every number of the
# state between -1 and 1. (The formulas count tokens from 1, your code from 0.)
#
# The plain decoder is given the encoder's *last* state and nothing else. Think of what that means for
#
# > The **cat** that lay in the sun on the wall, not far from a sleeping dog, **jumped**.
#
# Who jumped? The nearest noun is the dog, and it sleeps. From the subject to its verb the state goes through fourteen
# other words, and at each of them a part of it is written over. In the first visible test you can watch the trace of a
# single token fade. And however long the text is, its last state is no wider. The LSTM (1997) has gates that protect
# what should be kept, and its traces last much longer; but a text of fifty words still has to pass through one vector.
#
# There is a second price. $h_t$ needs $h_{t-1}$, so a text of T tokens takes T steps, one after the other. Nothing in
# the attention of the earlier units waits for its neighbour: a matrix product scores all pairs of tokens at once.


# %% nbgrader={"grade": false, "grade_id": "rnn_hidden_states", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_hidden_states(inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Read a text token by token, and keep the state after each.

    Takes `inputs` (T, d), `W_x` (d, h), `W_h` (h, h) and `bias` (h,). Gives the hidden states (T, h):

    - the state after token t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)
    - the state before the first token is all zeros
    - row t is the state after token t, for every token and in the tokens' order
    - any number of tokens, including one
    - float32 and float64 arguments both work
    - gradients flow to all four arguments, through every step
    - the arguments are not changed
    """
    # TODO: Start from zeros, make each state from the one before it, and stack them all.
    ### BEGIN SOLUTION
    state = torch.zeros_like(bias)
    states = []
    for token in inputs:
        state = torch.tanh(token @ W_x + state @ W_h + bias)  # (d,) @ (d, h) + (h,) @ (h, h) -> (h,)
        states.append(state)
    return torch.stack(states)  # T times (h,) -> (T, h)
    ### END SOLUTION


# %% [markdown]
# ## Which word matters now?
#
# Bahdanau, Cho and Bengio (2014) asked why the decoder should see the last state alone. The encoder made a state after
# *every* token; keep them all, $h_1, \dots, h_T$, and let the decoder choose. Before it writes a word its own state is
# $s$, and it asks how well each encoder state fits. A small network answers:
#
# $$e_t = v \cdot \tanh\!\left(s\, W_d + h_t W_e\right)$$
#
# Two matrices bring both states to a common width $a$, where they are added (hence **additive** attention), and the
# vector $v$ makes one number of the sum. All three are learnt. Without the tanh the sum would fall apart into
# $v \cdot s W_d$ and $v \cdot h_t W_e$, and the softmax would drop the first, which is the same for all t: the decoder
# could ask what it liked and would always get the same answer.
#
# (In the paper the encoder reads the text in both directions and puts the two states of each word side by side. Here
# one direction is enough, and both states have the same width.)


# %% nbgrader={"grade": false, "grade_id": "additive_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(
    decoder_state: torch.Tensor,
    encoder_states: torch.Tensor,
    W_decoder: torch.Tensor,
    W_encoder: torch.Tensor,
    v: torch.Tensor,
) -> torch.Tensor:
    """Score how well each encoder state fits the decoder's state.

    Takes `decoder_state` (h,), `encoder_states` (T, h), `W_decoder` (h, a), `W_encoder` (h, a) and `v` (a,).
    Gives the scores (T,):

    - score t is the dot product of v with tanh(decoder_state @ W_decoder + encoder_states[t] @ W_encoder)
    - any number of encoder states, including one
    - float32 and float64 arguments both work
    - gradients flow to all five arguments
    - the arguments are not changed
    """
    # TODO: Project both sides, add them, and take the dot product of v with the tanh of each sum.
    ### BEGIN SOLUTION
    query = decoder_state @ W_decoder  # (h,) @ (h, a) -> (a,)
    keys = encoder_states @ W_encoder  # (T, h) @ (h, a) -> (T, a)
    return torch.tanh(query + keys) @ v  # (T, a) @ (a,) -> (T,)
    ### END SOLUTION


# %% [markdown]
# ## A new context for every word
#
# From here on it is what you know from unit 1: softmax makes weights of the scores, and the context is the sum of the
# encoder states, each times its weight.
#
# $$\alpha_t = \frac{e^{e_t}}{\sum_k e^{e_k}} \qquad c = \sum_t \alpha_t h_t$$
#
# What has changed is more than a formula. The decoder gets a *new* context for each word that it writes, made for the
# state that it is in. When it comes to "jumped", the state of the cat is as near as any other: one step away, however
# many words lie between. The weights also show where the model looked, and for a translation they look much like the
# lines that a teacher draws between the words of two languages.


# %% nbgrader={"grade": false, "grade_id": "bahdanau_context", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bahdanau_context(
    decoder_state: torch.Tensor,
    encoder_states: torch.Tensor,
    W_decoder: torch.Tensor,
    W_encoder: torch.Tensor,
    v: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gather from the encoder states what fits the decoder's state.

    Takes what `additive_scores` takes. Gives the context (h,) and the weights (T,):

    - the weights are the softmax of the additive scores, so they sum to one
    - the context is the sum of the encoder states, each times its weight
    - the result is the pair (context, weights)
    - any number of encoder states, including one
    - float32 and float64 arguments both work
    - gradients flow to all five arguments
    - the arguments are not changed
    """
    # TODO: Score, take the softmax, and mix the encoder states.
    ### BEGIN SOLUTION
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.softmax(scores, dim=0)
    context = weights @ encoder_states  # (T,) @ (T, h) -> (h,)
    return context, weights
    ### END SOLUTION


# %% [markdown]
# ## Cross-attention
#
# Bahdanau's decoder was still recurrent: attention helped an RNN. In 2017 the Transformer left the RNN out. Its
# encoder and its decoder are stacks of blocks. A block of the encoder has two steps: self-attention without a mask, and
# a feed-forward network. A block of the decoder has three: causal self-attention, then **cross-attention** to the
# outputs of the encoder, then a feed-forward network. (All its attention has several heads, and it normalises *after*
# each step. The blocks of unit 7 normalise before it.) Cross-attention is the scaled dot-product attention of unit 2,
# with one difference.
#
# $$Q = X W_q \qquad K = C W_k \qquad V = C W_v$$
#
# The queries come from the decoder's tokens $X$; keys and values come from the **context** $C$, which is what the
# encoder made of the other text. In self-attention $X$ and $C$ are the same. Here they may differ in length and in
# width, and the weights are a rectangle, (T_q, T_k). (Mind the word: with Bahdanau, and in the earlier units, a context
# is what comes out. Here it is the usual name for what goes in.)
#
# No causal mask belongs here. The future that a decoder must not see is that of the text which it writes; the text that
# it translates lies before it as a whole.
#
# Another mask is needed. The texts of a batch have different lengths, but all rows of a tensor must have the same
# length: shorter texts are filled up with tokens that mean nothing, the **padding**. Here is a batch of two, where
# `padding_mask` is True at ×:
#
# | | | | | |
# |---|---|---|---|---|
# | I | have | seen | the | dog |
# | cats | sleep | × | × | × |
#
# As in unit 3 the scores of what is to be hidden become minus infinity *before* the softmax. It is not enough to make
# the padding zero: a key of zeros has the score 0, and $e^0 = 1$. And it is not enough to take the weights away
# afterwards: what the padding had taken would be missing. Look at the shapes: the mask (B, T_k) says something about
# keys, and the scores are (B, T_q, T_k). Which dimension has to be put in, and where?


# %% nbgrader={"grade": false, "grade_id": "CrossAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CrossAttention(nn.Module):
    """Attention from one text to another: x (B, T_q, d_query), context (B, T_k, d_context) -> (B, T_q, d_out).

    - W_query is nn.Linear from d_query to d_out; W_key and W_value are nn.Linear from d_context to d_out
    - none of the three has a bias
    - queries come from x, keys and values from context
    - scores are the dot products of the queries with the keys, divided by the square root of d_out
    - softmax shares each query's attention among the whole context: there is no causal mask
    - the output is, for each query, the sum of the values, each times its weight
    - where padding_mask (B, T_k) is True, the token of the context is padding and gets no weight
    - padding gets none however large it is, and however far its scores are above the others
    - padding has no weight, even if all other scores are as low as -10,000 after scaling
    - without a mask, or with one that is all False, nothing is padding
    - each element of the batch on its own, with its own padding
    - any number of queries and of tokens in the context, including one
    - gradients reach x, context and the weights of the three layers
    - works in float64 after .double()
    - x, context and padding_mask are not changed

    Each context holds at least one token that is no padding.
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


# %% [markdown]
# ## Where you are now
#
# Eight units ago a token compared itself with its neighbours by nothing but a dot product. Then it got weights to
# learn (unit 2), a past without a future (3), several heads (4) and a place to stand (5). You wrote the smallest
# language model and its loss (6), built the block of which large ones are made (7), and now you have joined two texts.
# RNN in the 1980s, LSTM in 1997, attention in 2014, the Transformer in 2017: you have written a piece of each of these
# but one, and you know why each was made.
#
# Add positions to an embedding, stack causal blocks on it and a linear layer on top of them, and you have GPT in
# outline. Let the blocks of one stack look at another stack through cross-attention, and you have the translator of
# 2017. What is left is size, data and patience.
