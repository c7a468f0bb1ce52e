# %% [markdown]
# # Unit 2: self-attention with trainable weights
#
# In unit 1 every token looked at every other token through the embeddings themselves: there was nothing to learn. This
# unit adds three trainable matrices. Now each token has three roles, as in a library search:
#
# - its **query** is what the token is looking for;
# - its **key** is what other tokens compare their query with;
# - its **value** is what the token gives to the tokens that find it.
#
# You will write the attention of the Transformer step by step: the projections, the scaled dot product, two versions of
# the module, and a transfer of weights between the two. At the end, a small experiment shows why the scores are scaled.
#
# Replace each `raise NotImplementedError()` by your code. The lines with a dash in each docstring are the rules. Only
# these rules are graded. The dtype of a result does not matter, unless a rule says so. To check your
# answers, run `grader check self_attention`. You can also run `pytest checks/test_self_attention.py` in the folder of
# the file. If a test fails, it tells you in one sentence what is wrong.
#
# Sources: scaled dot-product attention comes from Vaswani et al., *Attention Is All You Need* (2017). The two versions
# of the module and the numbers of the worked example follow chapter 3 of Sebastian Raschka, *Build a Large Language
# Model (From Scratch)* (2024).

# %%
import torch
from torch import nn

# %% [markdown]
# ## Queries, keys and values
#
# Let X contain one token in each row. Three weight matrices make three different vectors of each token:
#
#     Q = X · W_q      K = X · W_k      V = X · W_v
#
# There are three matrices because there are three different tasks. For example, "it" looks for a noun, but it has
# little to offer to another word that looks for a noun. Training changes the *weight parameters* W_q, W_k and W_v. Do
# not confuse them with the *attention weights* of the next exercise: those are computed again for every text.


# %%
def project_qkv(
    inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Project every token to its query, key and value.

    Takes `inputs` (T, d_in) and three matrices, each (d_in, d_out). Returns queries, keys and values, each (T, d_out):

    - queries = inputs @ W_query
    - keys = inputs @ W_key
    - values = inputs @ W_value
    - float32 and float64 arguments both work
    - gradients flow to the inputs and to all three matrices
    - the arguments are not changed

    Time: 10 minutes. Difficulty: easy.
    """
    # TODO: Make the three projections and return them in this order.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Scaled dot-product attention
#
# If a query and a key have a similar direction, their dot product is large: the token of the key has what the query is
# looking for. Softmax turns the scores of one query into attention weights that sum to one. The weights mix the values
# into a context vector:
#
#     Attention(Q, K, V) = softmax(Q · Kᵀ / √d_k) · V
#
# Here d_k is the number of features of a query and of a key. The last exercise of this unit measures why the square
# root is useful.
#
# The formula does not need a single sequence. There may be more keys than queries, and values may have another width.
# There may be any number of leading dimensions (a batch, later also heads). If you write it for the last two
# dimensions, it works for all these cases.


# %%
def scaled_dot_product_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute for every query a weighted sum of the values.

    Takes `queries` (…, T_q, d_k), `keys` (…, T_k, d_k) and `values` (…, T_k, d_v). Returns contexts (…, T_q, d_v) and
    weights (…, T_q, T_k):

    - scores are the dot products of every query with every key, divided by the square root of d_k
    - weights are the softmax of the scores over the keys, so each row sums to one
    - contexts are the weighted sums of the values, and d_v may differ from d_k
    - T_q may differ from T_k
    - any number of leading dimensions, with each batch element computed separately
    - inputs may be non-contiguous, for example the result of a transpose
    - the result keeps the dtype of the arguments, float32 or float64
    - gradients flow to queries, keys and values
    - the arguments are not changed
    - the result is the pair (contexts, weights)

    Time: 20 minutes. Difficulty: medium.
    """
    # TODO: Compute the scores, then the weights, then the contexts.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## A module that owns its weights
#
# An `nn.Module` keeps weights and computation together. If you assign a tensor as an `nn.Parameter`, then
# `parameters()`, the optimiser, `state_dict()` and `.double()` find it. They do not find a plain tensor. The first
# version makes its three parameters by hand, so that you see every step.
#
# The two functions above are all that `forward` needs.


# %%
class SelfAttention_v1(nn.Module):
    """Self-attention with three weight matrices made by hand: (T, d_in) -> (T, d_out).

    - W_query, W_key and W_value are nn.Parameter of shape (d_in, d_out)
    - the output is the scaled dot-product attention of inputs @ W_query, inputs @ W_key and
      inputs @ W_value
    - any number of tokens, including one
    - gradients reach all three parameters and the inputs
    - works in float64 after .double()
    - the inputs are not changed

    The worked example makes the three in this order, each by `torch.rand`. Other initial values are also correct.

    Time: 15 minutes. Difficulty: medium.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        # TODO: Make the three parameters.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Project the inputs, attend, and return only the context vectors.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## The same with linear layers
#
# x · W is what `nn.Linear` computes without a bias. The layer has better initial values than `torch.rand`: small values
# around zero that depend on the number of inputs. Training starts well with them. The layer can also add a bias `b`, so
# that q = x · W_q + b_q, and the same for keys and values. GPT-2 was trained with these biases; many later models do
# not have them.


# %%
class SelfAttention_v2(nn.Module):
    """Self-attention with three linear layers: (T, d_in) -> (T, d_out).

    - W_query, W_key and W_value are nn.Linear from d_in to d_out
    - the layers have no bias unless qkv_bias=True; then each layer adds its own bias
    - the output is the scaled dot-product attention of the three layers' outputs
    - any number of tokens, including one
    - gradients reach the inputs and the weights of the three layers
    - works in float64 after .double()
    - the inputs are not changed

    The worked example makes the three layers in this order. Another order is also correct.

    Time: 10 minutes. Difficulty: easy.
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        # TODO: Make the three layers.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # TODO: Pass the inputs through the layers, attend, and return only the context vectors.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## One set of weights, two modules
#
# Both versions compute the same function. So the weights of the second must work in the first and give the same
# outputs. If you can move them, you know how each module stores its weights. Print the shapes on both sides before you
# copy. Be careful with square matrices: there a wrong copy raises no error.
#
# The first version has no bias. If the function ignored the bias silently, the outputs could change without the caller
# noticing. So a bias that is not zero is an error here. (Whether each of the three biases can change the outputs is a
# question in the quiz.)


# %%
def transfer_weights(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    """Give `attention_v1` the weights of `attention_v2`. It may copy them or share their storage.

    - afterwards attention_v1 gives the outputs of attention_v2, for any d_in and d_out
    - this is also true for square matrices (d_in = d_out)
    - attention_v2 is not changed
    - attention_v1's weights stay nn.Parameter that require gradients
    - a non-zero bias in W_query of attention_v2 raises ValueError or AssertionError
    - a non-zero bias in W_key raises ValueError or AssertionError too
    - a non-zero bias in W_value raises ValueError or AssertionError too
    - biases that are all zero raise no error

    Time: 25 minutes. Difficulty: hard.
    """
    # TODO: Raise an error for biases that are not zero, then move the three weights.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Why divide by the square root
#
# Let the entries of `q` and `k` be independent, with mean 0 and variance 1. Then each product q_i · k_i also has mean 0
# and variance 1. The dot product is a sum of d_k such products:
#
#     Var(q · k) = d_k      Var(q · k / √d_k) = 1
#
# So without scaling, wider heads have larger scores. With large scores softmax gives nearly all the weight to one key.
# Then its gradient is nearly zero, and learning stops. Measure it with many random pairs.


# %%
def dot_product_variance(d_k: int, samples: int, generator: torch.Generator | None = None) -> tuple[float, float]:
    """Measure the variance of dot products of random vectors, without and with scaling.

    Returns two numbers:

    - the first number is the variance of q·k over `samples` pairs of standard normal vectors of
      length d_k, near d_k
    - the second is the variance of q·k / √d_k, near 1
    - with a generator, every random draw comes from it and advances it
    - with the same generator state the result is the same
    - without a generator, torch's global generator is used, and it advances too

    Time: 15 minutes. Difficulty: medium.
    """
    # TODO: Draw the pairs with `torch.randn`, take their dot products, and return the two variances.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## Try it
#
# Nothing is graded here. In a notebook, run the cell; with a script, run `python self_attention.py`. It shows an
# example of each exercise that you have written.
#
# The queries and keys here are the two unit vectors, so each query scores 1 with one key and 0 with the other. Divided
# by √2, these scores give the weights 0.6698 and 0.3302. In the last line, the variance of the dot products is near 64,
# and near 1 after scaling.

# %%
if __name__ == "__main__":
    eye, values = torch.eye(2), torch.tensor([[10.0, 0.0], [0.0, 20.0]])

    def transferred() -> torch.Tensor:
        """Return by how much the outputs of the two modules differ after the transfer."""
        attention_v1, attention_v2 = SelfAttention_v1(3, 2), SelfAttention_v2(3, 2)
        transfer_weights(attention_v2, attention_v1)
        inputs = torch.randn(4, 3)
        return (attention_v1(inputs) - attention_v2(inputs)).abs().max()

    examples = {
        "project_qkv": lambda: project_qkv(eye, eye, 2 * eye, 3 * eye),
        "scaled_dot_product_attention": lambda: scaled_dot_product_attention(eye, eye, values),
        "SelfAttention_v1": lambda: SelfAttention_v1(3, 2)(torch.ones(4, 3)).shape,
        "SelfAttention_v2": lambda: SelfAttention_v2(3, 2)(torch.ones(4, 3)).shape,
        "transfer_weights": transferred,
        "dot_product_variance": lambda: dot_product_variance(64, 10_000, torch.Generator().manual_seed(0)),
    }
    for name, example in examples.items():
        try:
            print(f"{name}:\n{example()}")
        except NotImplementedError:
            print(f"{name}: not written yet")
