"""Misconceptions of unit 2: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. Mistakes in the attention itself, such as another divisor of the scores, are rows of
scaled_dot_product_attention. The most common ones are rows of both modules too.
"""

from __future__ import annotations

from grader.suites.attention_mistakes import (
    ARGUMENTS,
    FIXED,
    HALF,
    NO_SOFTMAX,
    SOFTMAX_OVER_QUERIES,
    SUMS_IN_A_ROW,
    TWENTIETH,
    VALUES_AS_KEYS,
    VALUES_AS_QUERIES,
)
from grader.testing.misconceptions import Replacements, replace, row

# -- sentences of several rows -----------------------------------------------------------------------------------

UNSCALED = (
    "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by √d_k they keep "
    "a variance near 1, so that softmax does not give all the weight to one key."
)
NO_ROOT = (
    "The scores are divided by d_k itself, or twice by its root, which is the same. Their standard deviation is √d_k: "
    "divide once by √d_k to bring it to 1."
)
FIFTH = (
    "The exponent is `5`, so the scores are nearly zero and every key gets nearly the same weight. A square root is "
    "the power `0.5`."
)
SQUARE = (
    "The scores are divided by the square of d_k, so they are nearly zero. A square root is the opposite of a square: "
    "the power `0.5`."
)
MULTIPLIED = "The scores are multiplied by √d_k, so large scores become even larger. Divide by √d_k."
MULTIPLIED_BY_HALF = (
    "The scores are multiplied by half of d_k, so they become larger. They should be divided, and by a root: a power "
    "with the exponent 0.5."
)
DIVIDED_BY_HALF = "The scores are divided by half of d_k. The half is an exponent: √d_k is d_k to the power of 0.5."
FOR_THE_EXAMPLE = (
    "The divisor is always √2, which is correct only for the width of the worked example. Read d_k from the arguments."
)
SOFTMAX_TWICE = (
    "Softmax is applied twice. The second softmax gets only numbers between zero and one, so all its weights are "
    "nearly equal."
)
MIXED_BY_COLUMNS = (
    "The contexts use the columns of the weights. The weights of a query are its row: do not transpose them before the "
    "product with the values."
)
CONTEXTS_TRANSPOSED = (
    "The contexts are transposed: there is a column for each token. Each token has a row, which the product of weights "
    "and values already gives."
)
SHAPES = (
    "The shapes do not match in a product. Write down the shape of each factor. The scores need the transposed keys on "
    "the right, and then the weights, (T_q, T_k), are on the left of the values."
)
NUMPY = (
    "A tensor that requires gradients cannot become a NumPy array, or the `out` of a function. Use only tensors, and "
    "functions that return a new one."
)
KEYS_WITH_KEYS = "The queries are made but never used: keys are compared with keys. Compare each query with every key."
INPUTS_COMPARED = (
    "The inputs are compared with each other, as in unit 1. Here the dot products are between queries and keys, which "
    "are made from the inputs."
)
VALUES_COMPARED = (
    "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the tokens "
    "that find it."
)
ALL_ONE = (
    "Every weight is one, so each context is the plain sum of the values. A softmax over a dimension of size one gives "
    "that, for example after `unsqueeze`. It should run over the keys."
)
FEATURES_COMPARED = (
    "Features are compared with features: the scores are (d_out, d_out). A token should look at tokens, so transpose "
    "only the keys."
)
TO_D_OUT = (
    "The weights go from d_out to d_out, so the module works only if d_in and d_out are equal. Tokens come in with "
    "d_in features and leave with d_out."
)
TO_D_IN = (
    "The weights go from d_in to d_in, so the contexts are d_in wide. Tokens come in with d_in features and leave with "
    "d_out."
)
SIZES_OF_THE_EXAMPLE = (
    "The weights have the sizes of the worked example, three and two. Use the class's own arguments, d_in and d_out."
)
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it grows with "
    "the number of features, d_k."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so all queries together share one sum. Each query has its own weights: "
    "apply softmax over the last dimension."
)
SCALED_LATE = "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."
KEYS_HANDED_OVER = "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."
ROLES_SWAPPED = (
    "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with every key."
)
AVERAGED = (
    "Every value gets the same weight, whatever the queries and keys are. The dot product of query and key should "
    "decide how much one token takes from another."
)
FUTURE_HIDDEN = (
    "Each query cannot see the keys after its own position. That is causal attention, the next unit. Here every token "
    "sees every token."
)
ONE_BATCH = (
    "`transpose(1, 2)`, `permute(0, 2, 1)` and `bmm` work for exactly one leading dimension. Count from the end: "
    "`transpose(-2, -1)` and `@` work for none, one and many."
)
TORN = (
    "`reshape` and `view` keep the order of the numbers and only cut the rows at other positions, so the keys are "
    "mixed up. `transpose` swaps two dimensions."
)
BY_D_IN = "The scores are divided by √d_in. The dot products are between projected tokens, and their width is d_out."
KEYS_UNUSED = (
    "W_key is made but never used: queries are compared with queries. Compare each query with the keys, inputs @ W_key."
)
BOTH_RESULTS = "The module returns contexts and weights. The next layer needs one tensor: return only the contexts."
WEIGHTS_GIVEN = (
    "The module returns the attention weights. They say how important each token is. The output is the sum of the "
    "values, each times its weight."
)
IN_A_DICT = "The results are in a dict. Return them with a comma between them, in the order of the stub."
SQUEEZED = "`squeeze()` removes every dimension of size one, so a single token loses its row."

# -- changes -----------------------------------------------------------------------------------------------------

SOFTMAX = "torch.softmax(scores, dim=-1)"
FROM_MATRICES = "project_qkv(inputs, self.W_query, self.W_key, self.W_value)"
LAYER = "nn.Linear(d_in, d_out, bias=qkv_bias)"
REFUSAL = 'raise ValueError(f"{name} has a bias that is not zero, and attention_v1 has no place for it")'


def begun_with(line: str) -> Replacements:
    """Insert a line before the first one, which computes the queries."""
    return replace("queries =", f"{line}\n    queries =")


def weighed(weights: str) -> Replacements:
    """Compute the contexts in the module itself, with these weights."""
    return replace(
        "contexts, _ = scaled_dot_product_attention(queries, keys, values)", f"contexts = {weights} @ values"
    )


def moved(statement: str) -> Replacements:
    """Move the weight of each `layer` to its `matrix` by another statement."""
    return replace(
        "getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)",
        f"matrix, layer = getattr(attention_v1, name), getattr(attention_v2, name)\n            {statement}",
    )


# Mistakes in the weights of both modules: the end of their names, the wrong weights and the sentence.
IN_BOTH_MODULES = [
    ("twentieth_root", "(queries @ keys.mT / keys.shape[-1] ** 0.05).softmax(-1)", TWENTIETH),
    ("fifth_power", "(queries @ keys.mT / keys.shape[-1] ** 5).softmax(-1)", FIFTH),
    ("square_instead_of_root", "(queries @ keys.mT / keys.shape[-1] ** 2).softmax(-1)", SQUARE),
    ("multiplied_by_root", "(queries @ keys.mT * keys.shape[-1] ** 0.5).softmax(-1)", MULTIPLIED),
    ("multiplied_by_half_of_d_k", "(queries @ keys.mT * keys.shape[-1] * 0.5).softmax(-1)", MULTIPLIED_BY_HALF),
    ("divided_by_half_of_d_k", "(queries @ keys.mT / (keys.shape[-1] / 2)).softmax(-1)", DIVIDED_BY_HALF),
    ("scaled_for_the_worked_example", "(queries @ keys.mT / 2**0.5).softmax(-1)", FOR_THE_EXAMPLE),
    ("scaled_by_root_of_eight", "(queries @ keys.mT / 8**0.5).softmax(-1)", FIXED),
    ("scaled_by_eight", "(queries @ keys.mT / 8).softmax(-1)", FIXED),
    ("softmax_twice", "(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1).softmax(-1)", SOFTMAX_TWICE),
    ("sums_without_keepdim",
     "(lambda powers: powers / powers.sum(-1))(torch.exp(queries @ keys.mT / keys.shape[-1] ** 0.5))", SUMS_IN_A_ROW),
    ("mixed_by_the_columns", "(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1).mT", MIXED_BY_COLUMNS),
    ("keys_ask_each_other", "(keys @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1)", KEYS_WITH_KEYS),
    ("values_as_queries", "(values @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1)", VALUES_AS_QUERIES),
    ("values_as_keys", "(queries @ values.mT / keys.shape[-1] ** 0.5).softmax(-1)", VALUES_AS_KEYS),
    ("inputs_compared", "(inputs @ inputs.mT / keys.shape[-1] ** 0.5).softmax(-1)", INPUTS_COMPARED),
    ("all_weights_one", "torch.ones_like(queries @ keys.mT)", ALL_ONE),
    ("shapes_do_not_match", "(queries @ keys / keys.shape[-1] ** 0.5).softmax(-1)", SHAPES),
    ("arguments_do_not_fit", "(queries @ keys.mT / torch.sqrt(keys.shape[-1])).softmax(-1)", ARGUMENTS),
]  # fmt: skip

# fmt: off
ROWS = [
    # project_qkv
    row("project_qkv", "queries_and_keys_swapped", replace("return queries, keys,", "return keys, queries,"),
        "Queries and keys are swapped. They have the same shape, but the first result should be the queries: what "
        "each token looks for. The second should be the keys, which queries are compared with."),
    row("project_qkv", "keys_and_values_swapped",
        replace("return queries, keys, values", "return queries, values, keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    row("project_qkv", "values_first", replace("return queries, keys, values", "return values, keys, queries"),
        "The three results are in reverse order, values first. The order is queries, keys, values, as in Q, K, V."),
    row("project_qkv", "projections_in_a_dict",
        replace("return queries, keys, values", "return dict(queries=queries, keys=keys, values=values)"), IN_A_DICT),
    row("project_qkv", "one_matrix_for_all", replace("@ W_key", "@ W_query").replace("@ W_value", "@ W_query"),
        "All three projections use the same matrix. Queries, keys and values have three different tasks, and each "
        "has its own weights to learn."),
    row("project_qkv", "keys_made_with_W_query", replace("@ W_key", "@ W_query"),
        "The keys were computed with W_query. They have their own weights: keys = inputs @ W_key."),
    row("project_qkv", "values_made_with_W_key", replace("@ W_value", "@ W_key"),
        "The values were computed with W_key. They have their own weights: values = inputs @ W_value."),
    row("project_qkv", "inputs_given_as_values", replace("inputs @ W_value", "inputs"),
        "The function returned the inputs themselves as values. That was unit 1. Now a third matrix makes the "
        "values: inputs @ W_value."),
    row("project_qkv", "matrices_transposed", begun_with("W_query, W_key, W_value = W_query.T, W_key.T, W_value.T"),
        "The matrices were transposed. They are already (d_in, d_out), so inputs (T, d_in) @ W works directly. Only "
        "nn.Linear stores its weights transposed."),
    row("project_qkv", "tokens_in_columns",
        replace("return queries, keys, values", "return queries.T, keys.T, values.T"),
        "The results have one column for each token: (d_out, T). Tokens are rows in this whole course, so put the "
        "inputs on the left of the product."),
    row("project_qkv", "multiplied_entry_by_entry", replace("inputs @", "inputs *", times=3),
        "`*` multiplies entry by entry. A projection sums over the features of a token: use the matrix product `@`."),
    row("project_qkv", "queries_scaled_here", replace("return queries,", "return queries / queries.shape[-1] ** 0.5,"),
        "The queries are already divided by √d_out here. The projections are plain products. The scores are scaled "
        "once, in the next exercise."),
    row("project_qkv", "inputs_made_float32", replace("inputs @", "inputs.float() @", times=3),
        "The inputs are made float32, so they do not match float64 matrices. Use the dtype of the arguments."),
    row("project_qkv", "gradients_switched_off",
        replace("return queries, keys, values", "return queries.detach(), keys.detach(), values.detach()"),
        "Gradients stop at the results. `torch.no_grad` and `.detach()` are for using a trained model. Here the "
        "matrices still have to learn."),
    row("project_qkv", "inputs_detached", replace("inputs @", "inputs.detach() @", times=3),
        "The inputs are cut off from the gradients, for example by `.detach()` or `.data`. The layers below, such as "
        "the embeddings, learn only through the inputs."),
    row("project_qkv", "matrices_detached",
        begun_with("W_query, W_key, W_value = W_query.detach(), W_key.detach(), W_value.detach()"),
        "The matrices are cut off from the gradients, for example by `.detach()`, by `.data` or by making an "
        "nn.Parameter of them. So they could never learn."),
    row("project_qkv", "inputs_transposed_in_place",
        begun_with("inputs.t_()").replace("inputs @", "inputs.T @", times=3),
        "The caller's inputs were changed. A method with an underscore at the end, such as `t_`, changes the tensor "
        "itself. `.T` gives a view and does not change it."),
    row("project_qkv", "queries_made_with_W_key", replace("@ W_query", "@ W_key"),
        "The queries were computed with W_key. They have their own weights, W_query."),
    row("project_qkv", "keys_made_with_W_value", replace("@ W_key", "@ W_value"),
        "The keys were computed with W_value. They have their own weights, W_key."),
    row("project_qkv", "values_made_with_W_query", replace("@ W_value", "@ W_query"),
        "The values were computed with W_query. They have their own weights, W_value."),
    row("project_qkv", "inputs_given_as_queries", replace("inputs @ W_query", "inputs"),
        "The function returned the inputs themselves as queries. That was unit 1. Now a matrix of its own makes the "
        "queries."),
    row("project_qkv", "inputs_given_as_keys", replace("inputs @ W_key", "inputs"),
        "The function returned the inputs themselves as keys. That was unit 1. Now a matrix of its own makes the "
        "keys."),
    row("project_qkv", "matrices_on_the_left",
        replace("inputs @ W_query", "W_query @ inputs").replace("inputs @ W_key", "W_key @ inputs")
        .replace("inputs @ W_value", "W_value @ inputs"),
        "The matrices are on the left of the inputs, so the shapes do not match. Tokens are rows: the inputs (T, d_in) "
        "come first, and then a matrix (d_in, d_out)."),
    row("project_qkv", "queries_alone", replace("return queries, keys, values", "return queries"),
        "The function returned only the queries. Return all three: queries, keys and values."),
    row("project_qkv", "numpy_in_the_projections",
        replace("inputs @ W_query", "torch.from_numpy(inputs.numpy() @ W_query.numpy())"), NUMPY),
    # scaled_dot_product_attention
    row("scaled_dot_product_attention", "half_instead_of_root", replace("d_k**0.5", "d_k * 0.5"), HALF),
    row("scaled_dot_product_attention", "divided_by_half_of_d_k", replace("d_k**0.5", "(d_k * 0.5)"), DIVIDED_BY_HALF),
    row("scaled_dot_product_attention", "twentieth_root", replace("d_k**0.5", "d_k**.05"), TWENTIETH),
    row("scaled_dot_product_attention", "fifth_power", replace("d_k**0.5", "d_k**5"), FIFTH),
    row("scaled_dot_product_attention", "square_instead_of_root", replace("d_k**0.5", "d_k**2"), SQUARE),
    row("scaled_dot_product_attention", "scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    row("scaled_dot_product_attention", "divided_by_d_k_itself", replace("d_k**0.5", "d_k"), NO_ROOT),
    row("scaled_dot_product_attention", "multiplied_by_root", replace("/ d_k**0.5", "* d_k**0.5"), MULTIPLIED),
    row("scaled_dot_product_attention", "multiplied_by_half_of_d_k", replace("/ d_k**0.5", "* d_k * 0.5"),
        MULTIPLIED_BY_HALF),
    row("scaled_dot_product_attention", "multiplied_by_d_k_itself", replace("/ d_k**0.5", "* d_k"),
        "The scores are multiplied by d_k, so they become much larger. Divide them, by √d_k."),
    row("scaled_dot_product_attention", "scaled_by_number_of_tokens", replace("queries.shape[-1]", "keys.shape[-2]"),
        BY_TOKENS),
    row("scaled_dot_product_attention", "scaled_by_number_of_queries",
        replace("queries.shape[-1]", "queries.shape[-2]"), BY_TOKENS),
    row("scaled_dot_product_attention", "scaled_by_first_dimension", replace("queries.shape[-1]", "keys.shape[0]"),
        "The divisor comes from the first dimension. That is the tokens, or the batch if there is one. d_k is the "
        "last dimension: `keys.shape[-1]`."),
    row("scaled_dot_product_attention", "scaled_by_width_of_values", replace("queries.shape[-1]", "values.shape[-1]"),
        "The divisor is the root of d_v, the width of the values. The dot products are between queries and keys, so "
        "divide by the root of their width, d_k."),
    row("scaled_dot_product_attention", "root_rounded_down", replace("d_k**0.5", "int(d_k**0.5)"),
        "The root of d_k is rounded down to a whole number. Divide by √d_k itself."),
    row("scaled_dot_product_attention", "scores_rounded_down", replace("/ d_k**0.5", "// d_k**0.5"),
        "`//` rounds each score down to a whole number, so it has no gradient either. Divide with `/`."),
    row("scaled_dot_product_attention", "scaled_for_the_worked_example", replace("queries.shape[-1]", "2"),
        "The divisor is always √2, which is correct only for the width of the worked example. Read d_k from the "
        "arguments."),
    row("scaled_dot_product_attention", "scaled_by_root_of_eight", replace("d_k**0.5", "8**0.5"), FIXED),
    row("scaled_dot_product_attention", "scaled_by_eight", replace("d_k**0.5", "8"), FIXED),
    row("scaled_dot_product_attention", "scaled_after_softmax",
        replace(" / d_k**0.5", "").replace(SOFTMAX, f"{SOFTMAX} / d_k**0.5"), SCALED_LATE),
    row("scaled_dot_product_attention", "softmax_over_queries", replace("dim=-1", "dim=-2"), SOFTMAX_OVER_QUERIES),
    row("scaled_dot_product_attention", "softmax_over_dimension_0", replace("dim=-1", "dim=0"),
        "Softmax runs over dimension 0: over the queries, or over the elements of a batch. The keys always lie along "
        "the last dimension, dim=-1."),
    row("scaled_dot_product_attention", "softmax_over_dimension_1", replace("dim=-1", "dim=1"),
        "Softmax runs over dimension 1. These are the keys only if there is no batch. Count from the end: the keys "
        "are always the last dimension, dim=-1."),
    row("scaled_dot_product_attention", "softmax_over_everything",
        replace(SOFTMAX, "torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)"), WHOLE_TENSOR),
    row("scaled_dot_product_attention", "softmax_forgotten", replace(SOFTMAX, "scores"), NO_SOFTMAX),
    row("scaled_dot_product_attention", "divided_by_sum", replace(SOFTMAX, "scores / scores.sum(dim=-1, keepdim=True)"),
        "The scores are divided by their sum. Scores may be negative, and their sum may be near zero, so the results "
        "are not valid weights. Softmax takes exponentials first."),
    row("scaled_dot_product_attention", "softmax_twice", replace(SOFTMAX, f"{SOFTMAX}.softmax(dim=-1)"), SOFTMAX_TWICE),
    row("scaled_dot_product_attention", "scores_returned_as_weights",
        replace("return contexts, weights", "return contexts, scores"),
        "The contexts are correct, but the second result is the scores. Return the weights, after softmax."),
    row("scaled_dot_product_attention", "only_two_dimensions", replace("keys.transpose(-2, -1)", "keys.T"),
        "This works only for matrices. With a batch in front, `.T` reverses all dimensions and `mm` raises an error. "
        "`transpose(-2, -1)` and `@` use only the last two dimensions."),
    row("scaled_dot_product_attention", "exactly_one_leading_dimension",
        replace("transpose(-2, -1)", "transpose(1, 2)"), ONE_BATCH),
    row("scaled_dot_product_attention", "exactly_three_dimensions",
        replace("queries @ keys.transpose(-2, -1)", "torch.einsum('bqd,bkd->bqk', queries, keys)"), ONE_BATCH),
    row("scaled_dot_product_attention", "at_most_one_leading_dimension",
        replace("keys.transpose(-2, -1)", "(keys.T if keys.dim() == 2 else keys.transpose(1, 2))"),
        "The code has one case for two dimensions and one for three, but none for four. Count from the end: with "
        "`transpose(-2, -1)` one line works for all of them."),
    row("scaled_dot_product_attention", "reshaped_instead_of_transposed",
        replace("transpose(-2, -1)", "reshape(*keys.shape[:-2], d_k, keys.shape[-2])"), TORN),
    row("scaled_dot_product_attention", "viewed_instead_of_transposed",
        replace("transpose(-2, -1)", "view(*keys.shape[:-2], d_k, keys.shape[-2])"), TORN),
    row("scaled_dot_product_attention", "view_of_a_transposed_tensor",
        replace("d_k =", "lead = queries.shape[:-2]\n"
                "    queries, keys, values = (one.view(-1, *one.shape[-2:]) for one in (queries, keys, values))\n"
                "    d_k =")
        .replace("return contexts, weights",
                 "return tuple(one.view(*lead, *one.shape[-2:]) for one in (contexts, weights))"),
        "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if "
        "necessary. Matmul needs neither of them."),
    row("scaled_dot_product_attention", "keys_handed_over", replace("weights @ values", "weights @ keys"),
        KEYS_HANDED_OVER),
    row("scaled_dot_product_attention", "keys_ask_the_queries",
        replace("queries @ keys.transpose", "keys @ queries.transpose"), ROLES_SWAPPED),
    row("scaled_dot_product_attention", "queries_ask_each_other",
        replace("queries @ keys.transpose", "queries @ queries.transpose"),
        "The queries are compared with one another. Compare each query with the keys: queries @ transposed keys."),
    row("scaled_dot_product_attention", "keys_handed_over_where_they_fit",
        replace("weights @ values", "weights @ (keys if keys.shape == values.shape else values)"),
        "If keys and values have the same shape, the weights mix the keys. Keys are only compared with queries. "
        "Always mix the values, whatever their width is."),
    row("scaled_dot_product_attention", "values_averaged",
        replace("softmax(scores", "softmax(torch.zeros_like(scores)"), AVERAGED),
    row("scaled_dot_product_attention", "best_key_takes_all",
        replace(SOFTMAX, "nn.functional.one_hot(scores.argmax(dim=-1), keys.shape[-2]).to(values.dtype)"),
        "Each query takes only the value of its best key. Softmax is softer than a maximum: every key gets some "
        "weight, so gradients reach the scores."),
    row("scaled_dot_product_attention", "future_hidden",
        replace("softmax(scores", "softmax(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"),
        FUTURE_HIDDEN),
    row("scaled_dot_product_attention", "one_length_for_both",
        replace("d_k =", "keys, values = (one[..., : queries.shape[-2], :] for one in (keys, values))\n    d_k ="),
        "The code uses only as many keys as there are queries. The two numbers differ if one text attends to "
        "another, so read each from its own tensor."),
    row("scaled_dot_product_attention", "lonely_query_squeezed",
        replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single query loses its row. Name the dimension, or do "
        "not use `squeeze`."),
    row("scaled_dot_product_attention", "always_float32",
        replace("d_k =", "queries, keys, values = queries.float(), keys.float(), values.float()\n    d_k ="),
        "Everything is computed in float32, also for float64 arguments. Then precision is lost: use the dtype of the "
        "arguments."),
    row("scaled_dot_product_attention", "always_float64",
        replace("d_k =", "queries, keys, values = queries.double(), keys.double(), values.double()\n    d_k ="),
        "You may compute in float64, but here the result stays float64. Convert it back to the dtype of the "
        "arguments."),
    row("scaled_dot_product_attention", "no_gradients",
        replace("return contexts, weights", "return contexts.detach(), weights.detach()"),
        "Gradients stop at the results. `torch.no_grad` and `.detach()` are for using a trained model. Attention "
        "must pass gradients on to the layers below."),
    row("scaled_dot_product_attention", "weights_detached", replace(SOFTMAX, f"{SOFTMAX}.detach()"),
        "No gradient flows through the weights that are multiplied with the values. Queries and keys learn only "
        "through the weights."),
    row("scaled_dot_product_attention", "weights_returned_detached",
        replace("return contexts, weights", "return contexts, weights.detach()"),
        "Gradients flow through the contexts, but not through the weights that are returned. Gradients should flow "
        "through both results."),
    row("scaled_dot_product_attention", "queries_scaled_in_place",
        replace(" / d_k**0.5", "").replace("scores =", "queries /= d_k**0.5\n    scores ="),
        "The caller's queries were changed: `/=` and `mul_` change the tensor itself. Write `queries = queries / …`, "
        "or divide the scores."),
    row("scaled_dot_product_attention", "weights_first",
        replace("return contexts, weights", "return weights, contexts"),
        "The order is wrong: the weights came first. Return the pair (contexts, weights)."),
    row("scaled_dot_product_attention", "contexts_and_weights_in_a_dict",
        replace("return contexts, weights", "return dict(contexts=contexts, weights=weights)"), IN_A_DICT),
    row("scaled_dot_product_attention", "contexts_alone", replace("return contexts, weights", "return contexts"),
        "The function returned only the contexts. Return the weights too: (contexts, weights)."),
    row("scaled_dot_product_attention", "scaled_by_dimension_1", replace("queries.shape[-1]", "keys.shape[1]"),
        "The divisor comes from dimension 1. These are the features only if there is no batch. Count from the end: the "
        "features are the last dimension."),
    row("scaled_dot_product_attention", "contexts_scaled",
        replace(" / d_k**0.5", "").replace("weights @ values", "weights @ values / d_k**0.5"),
        "The contexts are divided by √d_k, and the scores are not. Scaling is for the scores: it keeps softmax from "
        "giving all the weight to one key."),
    row("scaled_dot_product_attention", "softmax_without_dim",
        replace(SOFTMAX, "torch.softmax(scores, dim=0 if scores.dim() == 3 else 1)"),
        "Softmax does not know along which dimension the keys lie. Without `dim`, PyTorch warns and guesses one, which "
        "depends on the number of dimensions. Name the last one."),
    row("scaled_dot_product_attention", "sums_without_keepdim",
        replace(SOFTMAX, "torch.exp(scores) / torch.exp(scores).sum(dim=-1)"), SUMS_IN_A_ROW),
    row("scaled_dot_product_attention", "exactly_two_leading_dimensions",
        replace("transpose(-2, -1)", "transpose(2, 3)"),
        "`transpose(2, 3)` works only with two leading dimensions, a batch and heads. Count the two dimensions from "
        "the end, with negative numbers."),
    row("scaled_dot_product_attention", "shape_of_a_matrix_unpacked",
        replace("d_k = queries.shape[-1]", "_, d_k = queries.shape"),
        "The shape is unpacked into two names, which fails if there is a batch. Take only the size that you need, "
        "counted from the end."),
    row("scaled_dot_product_attention", "shape_of_a_batch_unpacked",
        replace("d_k = queries.shape[-1]", "_, _, d_k = queries.shape"),
        "The shape is unpacked into three names, which works only with exactly one leading dimension. Take only the "
        "size that you need, counted from the end."),
    row("scaled_dot_product_attention", "shapes_do_not_match", replace("keys.transpose(-2, -1)", "keys"), SHAPES),
    row("scaled_dot_product_attention", "arguments_do_not_fit", replace("/ d_k**0.5", "/ torch.sqrt(d_k)"), ARGUMENTS),
    row("scaled_dot_product_attention", "keys_ask_each_other",
        replace("queries @ keys.transpose", "keys @ keys.transpose"), KEYS_WITH_KEYS),
    row("scaled_dot_product_attention", "mixed_by_the_scores", replace("weights @ values", "scores @ values"),
        "The contexts are computed with the scores, and softmax is only returned beside them. Mix the values with the "
        "weights."),
    row("scaled_dot_product_attention", "mixed_by_the_columns",
        replace("weights @ values", "weights.transpose(-2, -1) @ values"), MIXED_BY_COLUMNS),
    row("scaled_dot_product_attention", "contexts_transposed",
        replace("return contexts,", "return contexts.transpose(-2, -1),"), CONTEXTS_TRANSPOSED),
    row("scaled_dot_product_attention", "weights_returned_transposed",
        replace("return contexts, weights", "return contexts, weights.transpose(-2, -1)"),
        "The contexts are correct, but the weights are returned transposed. Each row belongs to a query, and each "
        "column to a key."),
    row("scaled_dot_product_attention", "weights_alone", replace("return contexts, weights", "return weights"),
        "The function returned only the weights. Return the contexts too: (contexts, weights)."),
    row("scaled_dot_product_attention", "numpy_on_the_way",
        replace("torch.softmax(scores", "torch.softmax(torch.from_numpy(scores.numpy())"), NUMPY),
    # both modules
    *(row(f"SelfAttention_{version}", f"{name}_in_{version}", weighed(weights), sentence)
      for version in ("v1", "v2") for name, weights, sentence in IN_BOTH_MODULES),
    *(row(f"SelfAttention_{version}", f"keys_and_values_swapped_in_{version}",
          replace("(queries, keys, values)", "(queries, values, keys)"), VALUES_COMPARED) for version in ("v1", "v2")),
    *(row(f"SelfAttention_{version}", f"contexts_transposed_in_{version}",
          replace("return contexts", "return contexts.mT"), CONTEXTS_TRANSPOSED) for version in ("v1", "v2")),
    *(row(f"SelfAttention_{version}", f"features_compared_in_{version}",
          replace("contexts, _ = scaled_dot_product_attention(queries, keys, values)",
                  "contexts = values @ (queries.mT @ keys / keys.shape[-1] ** 0.5).softmax(-1)"), FEATURES_COMPARED)
      for version in ("v1", "v2")),
    # SelfAttention_v1
    row("SelfAttention_v1", "half_instead_of_root_in_v1",
        weighed("(queries @ keys.mT / keys.shape[-1] * 0.5).softmax(-1)"), HALF),
    row("SelfAttention_v1", "scaling_forgotten_in_v1", weighed("(queries @ keys.mT).softmax(-1)"), UNSCALED),
    row("SelfAttention_v1", "divided_by_d_k_itself_in_v1", weighed("(queries @ keys.mT / keys.shape[-1]).softmax(-1)"),
        NO_ROOT),
    row("SelfAttention_v1", "scaled_by_number_of_tokens_in_v1",
        weighed("(queries @ keys.mT / len(keys) ** 0.5).softmax(-1)"), BY_TOKENS),
    row("SelfAttention_v1", "scaled_after_softmax_in_v1",
        weighed("(queries @ keys.mT).softmax(-1) / keys.shape[-1] ** 0.5"), SCALED_LATE),
    row("SelfAttention_v1", "softmax_over_queries_in_v1",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(0)"), SOFTMAX_OVER_QUERIES),
    row("SelfAttention_v1", "softmax_over_everything_in_v1",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).flatten().softmax(0).view(len(keys), -1)"), WHOLE_TENSOR),
    row("SelfAttention_v1", "softmax_forgotten_in_v1", weighed("queries @ keys.mT / keys.shape[-1] ** 0.5"),
        NO_SOFTMAX),
    row("SelfAttention_v1", "keys_handed_over_in_v1",
        replace("attention(queries, keys, values)", "attention(queries, keys, keys)"), KEYS_HANDED_OVER),
    row("SelfAttention_v1", "keys_ask_the_queries_in_v1",
        replace("attention(queries, keys,", "attention(keys, queries,"), ROLES_SWAPPED),
    row("SelfAttention_v1", "values_averaged_in_v1", weighed("torch.zeros_like(queries @ keys.mT).softmax(-1)"),
        AVERAGED),
    row("SelfAttention_v1", "future_hidden_in_v1",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5"
                " + torch.full_like(queries @ keys.mT, -torch.inf).triu(1)).softmax(-1)"), FUTURE_HIDDEN),
    row("SelfAttention_v1", "scaled_by_d_in_in_v1",
        weighed("(queries @ keys.mT / inputs.shape[-1] ** 0.5).softmax(-1)"), BY_D_IN),
    row("SelfAttention_v1", "plain_tensors",
        replace("nn.Parameter(torch.rand(d_in, d_out))", "torch.rand(d_in, d_out)", times=3),
        "The new module has no parameters. Optimisers, `state_dict()` and `.double()` do not find plain tensors, "
        "tensors in a Python list, or those that are made in `forward`. Make each matrix an nn.Parameter in "
        "`__init__`, in its own attribute."),
    row("SelfAttention_v1", "matrices_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "The new module has no parameters W_query, W_key and W_value. They may have other names, be in a list, be "
        "one wide matrix, or be made in `forward`. Other code uses exactly these three names."),
    row("SelfAttention_v1", "matrices_the_other_way_round",
        replace("rand(d_in, d_out)", "rand(d_out, d_in)", times=3)
        .replace("self.W_query, self.W_key, self.W_value", "self.W_query.T, self.W_key.T, self.W_value.T"),
        "The matrices are (d_out, d_in), as in nn.Linear. Made by hand they are (d_in, d_out), and inputs @ W needs "
        "no transpose."),
    row("SelfAttention_v1", "layers_in_the_first_version",
        replace("nn.Parameter(torch.rand(d_in, d_out))", "nn.Linear(d_in, d_out, bias=False)", times=3)
        .replace(FROM_MATRICES, "self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)"),
        "The three are linear layers. That is the second version. The first version has three plain matrices, each "
        "an nn.Parameter."),
    row("SelfAttention_v1", "frozen_matrices",
        replace("rand(d_in, d_out)", "rand(d_in, d_out), requires_grad=False", times=3),
        "The parameters do not require gradients, so training cannot change them. nn.Parameter requires gradients by "
        "default."),
    row("SelfAttention_v1", "matrices_drawn_in_forward",
        replace(FROM_MATRICES, "project_qkv(inputs, *(torch.rand_like(self.W_query) for _ in range(3)))"),
        "Two calls with the same inputs give different outputs: `forward` draws random numbers, perhaps the "
        "matrices. Draw them once, in `__init__`, so that training can change them."),
    row("SelfAttention_v1", "one_parameter_alone",
        replace("self.W_key = nn.Parameter(torch.rand(d_in, d_out))", "self.W_key = self.W_query")
        .replace("self.W_value = nn.Parameter(torch.rand(d_in, d_out))", "self.W_value = self.W_query"),
        "W_key and W_value are no parameters of their own: W_query is the only one. Make three, each with "
        "`nn.Parameter(…)`."),
    row("SelfAttention_v1", "one_matrix_in_use", replace("self.W_key, self.W_value)", "self.W_query, self.W_query)"),
        "One matrix is used for queries, keys and values, and the other two are never used. Each role has its own "
        "weights to learn."),
    row("SelfAttention_v1", "key_matrix_unused", replace("self.W_key, self.W_value)", "self.W_query, self.W_value)"),
        KEYS_UNUSED),
    row("SelfAttention_v1", "value_matrix_unused",
        replace("attention(queries, keys, values)", "attention(queries, keys, inputs)"),
        "W_value is made but never used: the weights mix the inputs themselves. Mix the values, inputs @ W_value."),
    row("SelfAttention_v1", "both_results_in_v1", replace("contexts, _ =", "contexts ="), BOTH_RESULTS),
    row("SelfAttention_v1", "weights_instead_of_contexts_in_v1", replace("contexts, _ =", "_, contexts ="),
        WEIGHTS_GIVEN),
    row("SelfAttention_v1", "matrices_detached_in_v1",
        replace("self.W_query, self.W_key, self.W_value", "self.W_query.data, self.W_key.data, self.W_value.data"),
        "`.data` (or `.detach()`) reads the numbers of the parameters without their gradients. Use the parameters "
        "themselves."),
    row("SelfAttention_v1", "gradients_switched_off_in_v1", replace("return contexts", "return contexts.detach()"),
        "No gradient flows through this forward: `torch.no_grad`, `.detach()` and `.data` do not record how the "
        "output was computed."),
    row("SelfAttention_v1", "inputs_made_float32_in_v1", replace("project_qkv(inputs,", "project_qkv(inputs.float(),"),
        "The inputs are made float32, so they do not match float64 parameters. Keep the dtype of the inputs."),
    row("SelfAttention_v1", "lonely_token_squeezed_in_v1", replace("return contexts", "return contexts.squeeze()"),
        SQUEEZED),
    row("SelfAttention_v1", "inputs_transposed_in_place_in_v1",
        replace("project_qkv(inputs,", "project_qkv(inputs.t_().T,"),
        "The caller's inputs were changed. A method with an underscore at the end, such as `t_`, changes the tensor "
        "itself."),
    row("SelfAttention_v1", "matrices_from_d_out_to_d_out", replace("rand(d_in, d_out)", "rand(d_out, d_out)", 3),
        TO_D_OUT),
    row("SelfAttention_v1", "matrices_from_d_in_to_d_in", replace("rand(d_in, d_out)", "rand(d_in, d_in)", 3), TO_D_IN),
    row("SelfAttention_v1", "matrices_of_the_worked_example", replace("rand(d_in, d_out)", "rand(3, 2)", 3),
        SIZES_OF_THE_EXAMPLE),
    # SelfAttention_v2
    row("SelfAttention_v2", "half_instead_of_root_in_v2",
        weighed("(queries @ keys.mT / keys.shape[-1] * 0.5).softmax(-1)"), HALF),
    row("SelfAttention_v2", "scaling_forgotten_in_v2", weighed("(queries @ keys.mT).softmax(-1)"), UNSCALED),
    row("SelfAttention_v2", "divided_by_d_k_itself_in_v2", weighed("(queries @ keys.mT / keys.shape[-1]).softmax(-1)"),
        NO_ROOT),
    row("SelfAttention_v2", "scaled_by_number_of_tokens_in_v2",
        weighed("(queries @ keys.mT / len(keys) ** 0.5).softmax(-1)"), BY_TOKENS),
    row("SelfAttention_v2", "scaled_after_softmax_in_v2",
        weighed("(queries @ keys.mT).softmax(-1) / keys.shape[-1] ** 0.5"), SCALED_LATE),
    row("SelfAttention_v2", "softmax_over_queries_in_v2",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(0)"), SOFTMAX_OVER_QUERIES),
    row("SelfAttention_v2", "softmax_over_everything_in_v2",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).flatten().softmax(0).view(len(keys), -1)"), WHOLE_TENSOR),
    row("SelfAttention_v2", "softmax_forgotten_in_v2", weighed("queries @ keys.mT / keys.shape[-1] ** 0.5"),
        NO_SOFTMAX),
    row("SelfAttention_v2", "keys_handed_over_in_v2",
        replace("attention(queries, keys, values)", "attention(queries, keys, keys)"), KEYS_HANDED_OVER),
    row("SelfAttention_v2", "keys_ask_the_queries_in_v2",
        replace("attention(queries, keys,", "attention(keys, queries,"), ROLES_SWAPPED),
    row("SelfAttention_v2", "values_averaged_in_v2", weighed("torch.zeros_like(queries @ keys.mT).softmax(-1)"),
        AVERAGED),
    row("SelfAttention_v2", "future_hidden_in_v2",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5"
                " + torch.full_like(queries @ keys.mT, -torch.inf).triu(1)).softmax(-1)"), FUTURE_HIDDEN),
    row("SelfAttention_v2", "scaled_by_d_in_in_v2",
        weighed("(queries @ keys.mT / inputs.shape[-1] ** 0.5).softmax(-1)"), BY_D_IN),
    row("SelfAttention_v2", "matrices_in_the_second_version",
        replace(LAYER, "nn.Parameter(torch.rand(d_in, d_out))", times=3)
        .replace("self.W_query(inputs)", "inputs @ self.W_query").replace("self.W_key(inputs)", "inputs @ self.W_key")
        .replace("self.W_value(inputs)", "inputs @ self.W_value"),
        "The three are matrices made by hand. That is the first version. Here each should be an nn.Linear, which has "
        "its own weight."),
    row("SelfAttention_v2", "layers_in_a_list",
        replace(LAYER, f"[{LAYER}]", times=3).replace("(inputs)", "[0](inputs)", times=3),
        "The new module has no parameters. It does not find layers in a plain list or dict, nor those that are made "
        "in `forward`, and plain tensors are not parameters. In `__init__`, assign each nn.Linear to its own "
        "attribute: W_query, W_key and W_value."),
    row("SelfAttention_v2", "layers_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
    row("SelfAttention_v2", "one_layer_under_three_names",
        replace(f"self.W_key = {LAYER}", "self.W_key = self.W_query")
        .replace(f"self.W_value = {LAYER}", "self.W_value = self.W_query"),
        "W_query, W_key and W_value are the same layer under three names, so they always have the same weights. Make "
        "three layers."),
    row("SelfAttention_v2", "layers_the_other_way_round",
        replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_in", times=3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_in, d_out). "
        "It transposes its weight itself."),
    row("SelfAttention_v2", "bias_always", replace("bias=qkv_bias", "bias=True", times=3),
        "The layers always have a bias, because that is the default of nn.Linear. Pass qkv_bias on: bias=qkv_bias."),
    row("SelfAttention_v2", "bias_never", replace("bias=qkv_bias", "bias=False", times=3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    row("SelfAttention_v2", "bias_the_other_way_round", replace("bias=qkv_bias", "bias=not qkv_bias", times=3),
        "The layers have a bias if qkv_bias is False, and none if it is True: the value is inverted. Use "
        "bias=qkv_bias."),
    row("SelfAttention_v2", "bias_in_W_query_only",
        replace(f"self.W_key = {LAYER}", "self.W_key = nn.Linear(d_in, d_out, bias=False)")
        .replace(f"self.W_value = {LAYER}", "self.W_value = nn.Linear(d_in, d_out, bias=False)"),
        "Only W_query gets a bias. The q, the k and the v in qkv_bias mean all three layers."),
    row("SelfAttention_v2", "biases_made_but_unused",
        replace("self.W_query(inputs)", "inputs @ self.W_query.weight.T")
        .replace("self.W_key(inputs)", "inputs @ self.W_key.weight.T")
        .replace("self.W_value(inputs)", "inputs @ self.W_value.weight.T"),
        "Only the weights of the layers are used, and not their biases. Call the layer, W_query(inputs): it adds its "
        "bias too."),
    row("SelfAttention_v2", "one_layer_in_use",
        replace("self.W_key(inputs)", "self.W_query(inputs)").replace("self.W_value(inputs)", "self.W_query(inputs)"),
        "W_query is used for queries, keys and values, and the other two layers are never used. Each role has its "
        "own weights to learn."),
    row("SelfAttention_v2", "key_layer_unused", replace("self.W_key(inputs)", "self.W_query(inputs)"), KEYS_UNUSED),
    row("SelfAttention_v2", "value_layer_unused", replace("self.W_value(inputs)", "inputs"),
        "W_value is made but never used: the weights mix the inputs themselves. Mix the values, W_value(inputs)."),
    row("SelfAttention_v2", "both_results_in_v2", replace("contexts, _ =", "contexts ="), BOTH_RESULTS),
    row("SelfAttention_v2", "weights_instead_of_contexts_in_v2", replace("contexts, _ =", "_, contexts ="),
        WEIGHTS_GIVEN),
    row("SelfAttention_v2", "gradients_switched_off_in_v2", replace("return contexts", "return contexts.detach()"),
        "The gradients are cut off, for example by `torch.no_grad`, `.detach()` or `.data`, so neither the layers "
        "nor anything below them can learn."),
    row("SelfAttention_v2", "only_values_learn",
        replace("attention(queries, keys,", "attention(queries.detach(), keys.detach(),"),
        "Queries and keys are cut off from the gradients, so only the values learn. Queries and keys must be able to "
        "learn too."),
    row("SelfAttention_v2", "inputs_made_float32_in_v2", replace("(inputs)", "(inputs.float())", times=3),
        "The inputs are made float32, so they do not match float64 layers. Keep the dtype of the inputs."),
    row("SelfAttention_v2", "lonely_token_squeezed_in_v2", replace("return contexts", "return contexts.squeeze()"),
        SQUEEZED),
    row("SelfAttention_v2", "inputs_changed_in_place",
        replace("return contexts", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return contexts"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
    row("SelfAttention_v2", "layers_from_d_out_to_d_out",
        replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_out", 3), TO_D_OUT),
    row("SelfAttention_v2", "layers_from_d_in_to_d_in",
        replace("nn.Linear(d_in, d_out", "nn.Linear(d_in, d_in", 3), TO_D_IN),
    row("SelfAttention_v2", "layers_of_the_worked_example", replace("nn.Linear(d_in, d_out", "nn.Linear(3, 2", 3),
        SIZES_OF_THE_EXAMPLE),
    row("SelfAttention_v2", "no_argument_for_the_bias",
        replace(", qkv_bias: bool = False", "").replace("bias=qkv_bias", "bias=False", 3),
        "The class does not take qkv_bias, so a call with it fails. Add the argument, with the default False, and pass "
        "it on to the three layers."),
    # transfer_weights
    row("transfer_weights", "not_transposed", replace("weight.T", "weight"),
        "The weights are copied without a transpose. nn.Linear stores its weight as (d_out, d_in) and multiplies by "
        "its transpose. The first version stores (d_in, d_out)."),
    row("transfer_weights", "handed_over_without_transposing", moved("matrix.data = layer.weight.data.clone()"),
        "The weights keep the shape (d_out, d_in), and no error shows it. The first version computes inputs @ W, so "
        "transpose them."),
    row("transfer_weights", "transposed_only_where_shapes_differ",
        moved("matrix.data = layer.weight.clone() if layer.weight.shape == matrix.shape else layer.weight.T"),
        "The weights are transposed only if the shapes differ. A square matrix must be transposed too, although its "
        "shape does not show it."),
    row("transfer_weights", "reshaped_to_fit", moved("matrix.copy_(layer.weight.reshape(matrix.shape))"),
        "`reshape` and `view` change the shape but keep the order of the numbers, so each weight gets a wrong "
        "position. Transpose: `.T`."),
    row("transfer_weights", "opposite_direction", moved("layer.weight.copy_(matrix.T)"),
        "The weights went from attention_v1 to attention_v2. Copy them in the other direction: from the second into "
        "the first."),
    row("transfer_weights", "weights_of_fresh_layers",
        moved("matrix.data = nn.Linear(*matrix.shape, bias=False).weight.data.T"),
        "The copied weights are random: they come from new layers, or from random inputs. Take them from the layers "
        "of the argument attention_v2."),
    row("transfer_weights", "activations_as_weights",
        moved("setattr(attention_v1, name, nn.Parameter(layer(torch.ones(len(matrix), len(matrix)))))"),
        "The output of a layer for some inputs is an activation: it differs from text to text. Copy the weight of "
        "the layer."),
    row("transfer_weights", "worked_on_a_copy", moved("matrix = layer.weight.T"),
        "attention_v1 keeps its own weights: the code changed nothing, or only a copy or a new name. Change the "
        "module that was passed in."),
    row("transfer_weights", "forward_borrowed",
        moved("object.__setattr__(attention_v1, 'forward', attention_v2.forward)"),
        "attention_v1 now calls attention_v2's forward, and its own weights are not changed. After a transfer, "
        "attention_v1 must work without attention_v2."),
    row("transfer_weights", "parameters_replaced_by_tensors",
        moved("delattr(attention_v1, name)\n            setattr(attention_v1, name, layer.weight.detach().T)"),
        "The weights became plain tensors. The outputs are equal, but an optimiser does not find the weights. Wrap "
        "them in nn.Parameter, or copy into the existing parameters."),
    row("transfer_weights", "tensor_assigned_to_a_parameter", moved("setattr(attention_v1, name, layer.weight.T)"),
        "The code assigns a plain tensor or a whole layer to a parameter, and nn.Module raises an error. Wrap the "
        "transposed weight in nn.Parameter, or copy it in without recording gradients."),
    row("transfer_weights", "copied_while_gradients_are_recorded", replace("torch.no_grad()", "torch.enable_grad()"),
        "PyTorch stops the transfer with an error. If it names a leaf variable, switch off gradients to copy. If it "
        "names keys: `state_dict()` of attention_v2 uses W_query.weight, and attention_v1 uses W_query."),
    row("transfer_weights", "frozen_afterwards", moved("matrix.copy_(layer.weight.T).requires_grad_(False)"),
        "The weights were copied, but they no longer require gradients, so attention_v1 cannot learn. It should be "
        "possible to train it after the transfer."),
    row("transfer_weights", "source_transposed", moved("matrix.data = layer.weight.data = layer.weight.data.T"),
        "The transfer transposed the weights of attention_v2 itself. Do not change the source of a transfer."),
    row("transfer_weights", "weights_exchanged",
        moved("matrix.data, layer.weight.data = layer.weight.data.T, matrix.data.T"),
        "The two modules exchanged their weights. attention_v2 is the source, so do not change it."),
    row("transfer_weights", "source_biases_zeroed", replace(REFUSAL, "bias.data.zero_()"),
        "The bias in attention_v2 is set to zero, so that the outputs are equal. That changes the caller's module "
        "silently. Raise an error instead."),
    row("transfer_weights", "source_biases_removed",
        replace("bias = getattr(attention_v2, name).bias", "bias = getattr(attention_v2, name).bias = None"),
        "The biases are removed from attention_v2's layers. Also a bias of zeros belongs to it. Do not change the "
        "source of a transfer."),
    row("transfer_weights", "biases_ignored", replace(REFUSAL, "pass"),
        "Biases are silently ignored. The first version has no bias, so its outputs would be different. A bias that "
        "is not zero should raise an error."),
    row("transfer_weights", "zero_biases_refused", replace(" and bias.any()", ""),
        "Every bias raises an error, even a bias of zeros. Zeros change nothing, so check the numbers and not only "
        "whether there is a bias."),
    row("transfer_weights", "only_the_query_bias_checked", replace("names:\n        bias", "names[:1]:\n        bias"),
        "Only the bias of W_query is checked. Each of the three layers has its own bias."),
    row("transfer_weights", "key_bias_thought_harmless", replace("names:\n        bias", "names[::2]:\n        bias"),
        "A bias in W_key raises no error. In softmax it cancels, but attention_v1 still lacks a number that "
        "attention_v2 has. The rule here is: every non-zero bias raises an error."),
    row("transfer_weights", "value_bias_forgotten", replace("names:\n        bias", "names[:2]:\n        bias"),
        "A bias in W_value raises no error. It is added to every context, so it changes the outputs most of all "
        "three."),
    row("transfer_weights", "bias_judged_by_its_sum", replace("bias.any()", "bias.sum() != 0"),
        "A bias counts as zero if its numbers cancel, or if only some of them are zero. It is zero only if each of "
        "its numbers is."),
    row("transfer_weights", "only_positive_biases_found", replace("bias.any()", "bias.sum() > 0"),
        "A bias counts as zero if it is negative, or if its numbers cancel. It is zero only if each of its numbers is: "
        "test whether any of them is not zero, `bias.any()`."),
    row("transfer_weights", "refused_with_another_error", replace("ValueError", "RuntimeError"),
        "The error has the wrong type. Callers recognise errors by their type. Here the type is ValueError or "
        "AssertionError."),
    row("transfer_weights", "value_weights_forgotten", replace("names:\n            #", "names[:2]:\n            #"),
        "W_query and W_key are copied, but W_value is not. The outputs depend on all three matrices."),
    row("transfer_weights", "query_weights_everywhere",
        replace("getattr(attention_v2, name).weight", "attention_v2.W_query.weight"),
        "All three matrices of attention_v1 got the weights of W_query. Each matrix needs the weights with the same "
        "name."),
    row("transfer_weights", "queries_and_keys_exchanged",
        moved("matrix.copy_(getattr(attention_v2, {'W_query': 'W_key', 'W_key': 'W_query'}.get(name, name)).weight.T)"),
        "W_query got the weights of W_key, and W_key those of W_query. Each matrix needs the weights with the same "
        "name."),
    row("transfer_weights", "keys_and_values_exchanged",
        moved("matrix.copy_(getattr(attention_v2, {'W_value': 'W_key', 'W_key': 'W_value'}.get(name, name)).weight.T)"),
        "W_key got the weights of W_value, and W_value those of W_key. Each matrix needs the weights with the same "
        "name."),
    row("transfer_weights", "query_weights_as_keys",
        moved("matrix.copy_(getattr(attention_v2, {'W_key': 'W_query'}.get(name, name)).weight.T)"),
        "W_key got the weights of W_query. Each matrix needs the weights with the same name."),
    row("transfer_weights", "key_weights_as_values",
        moved("matrix.copy_(getattr(attention_v2, {'W_value': 'W_key'}.get(name, name)).weight.T)"),
        "W_value got the weights of W_key. Each matrix needs the weights with the same name."),
    row("transfer_weights", "only_the_query_weights_copied",
        replace("names:\n            #", "names[:1]:\n            #"),
        "Only the weights of W_query are copied. The outputs depend on all three matrices."),
    row("transfer_weights", "bias_of_none_examined", replace("bias is not None and bias.any()", "bias.any()"),
        "Without a bias the transfer ends in an error: the bias of such a layer is None, which has no methods. First "
        "check whether there is one."),
    row("transfer_weights", "truth_of_a_bias_asked", replace("bias.any()", "bias"),
        "A bias ends in an error about its truth value, even a bias of zeros. A tensor of several numbers is neither "
        "true nor false, so `if` cannot check it as a whole."),
    row("transfer_weights", "every_layer_refused", replace("bias is not None and bias.any()", "True"),
        "The transfer always raises an error, also without a bias. Each nn.Linear has the attribute `bias`. It is None "
        "if the layer has no bias."),
    row("transfer_weights", "attribute_of_the_wrong_module", moved("matrix.weight.data = layer.weight.data.T"),
        "The code uses an attribute that does not exist. In attention_v1 each matrix is a parameter itself. In "
        "attention_v2 it is the `weight` of a layer."),
    # dot_product_variance
    row("dot_product_variance", "standard_deviations", replace(".var()", ".std()", times=2),
        "These are standard deviations. The variance is their square, and the variance grows like d_k."),
    row("dot_product_variance", "samples_and_d_k_exchanged",
        replace("randn(samples, d_k", "randn(d_k, samples", times=2),
        "d_k and samples are swapped: there are d_k pairs, and each vector has as many numbers as there should be "
        "pairs. Draw (samples, d_k), one vector of length d_k in each row, and sum over its numbers."),
    row("dot_product_variance", "samples_ignored", replace("randn(samples", "randn(6000", times=2),
        "The number of pairs is always the same and ignores `samples`. With more pairs, the estimate is better and "
        "slower."),
    row("dot_product_variance", "divided_by_d_k", replace("d_k**0.5", "d_k"),
        "The dot products are divided by d_k itself. That divides their variance by d_k twice. Divide by √d_k, and "
        "the variance is near 1."),
    row("dot_product_variance", "half_instead_of_root_in_variance", replace("d_k**0.5", "d_k * 0.5"), HALF),
    row("dot_product_variance", "variance_divided_by_root",
        replace("scaled.var().item()", "dot_products.var().item() / d_k**0.5"),
        "The second number is near √d_k: a root of the variance, or the variance divided by √d_k. Divide the dot "
        "products by √d_k. This divides their variance by d_k."),
    row("dot_product_variance", "never_scaled", replace(" / d_k**0.5", ""),
        "The second number is the same as the first. Divide each dot product by √d_k before you measure again."),
    row("dot_product_variance", "scaled_both_times", replace("return dot_products.var()", "return scaled.var()"),
        "Both numbers are measured after scaling. The first should show how large the dot products are without "
        "scaling."),
    row("dot_product_variance", "scaled_first",
        replace("dot_products.var().item(), scaled.var().item()", "scaled.var().item(), dot_products.var().item()"),
        "The order is wrong: the scaled variance came first. Return the plain variance first, then the scaled one."),
    row("dot_product_variance", "vectors_with_themselves", replace("queries * keys", "queries * queries"),
        "The variance is twice too large: it is the variance of q·q, or of a sum of the entries of both vectors. "
        "Draw the keys separately, and multiply each entry of q by its entry of k."),
    row("dot_product_variance", "uniform_entries", replace("randn(samples", "rand(samples", times=2),
        "`torch.rand` draws uniform numbers. Standard normal numbers, with mean 0 and variance 1, come from "
        "`torch.randn`."),
    row("dot_product_variance", "mean_instead_of_sum", replace("sum(dim=-1)", "mean(dim=-1)"),
        "The dot products are divided by d_k: they are averages, or the vectors have length one. A dot product is "
        "the plain sum of the products of the entries, and this sum grows with d_k."),
    row("dot_product_variance", "products_never_summed", replace(".sum(dim=-1)", ""),
        "This is the variance of single numbers: of entries, or of products of two entries. A dot product sums such "
        "products over the d_k features. Multiply and sum first, then measure."),
    row("dot_product_variance", "summed_over_the_samples", replace("sum(dim=-1)", "sum(dim=0)"),
        "The sum runs over the samples and gives one number for each feature. Sum over the features, the last "
        "dimension, so that each pair has its dot product."),
    row("dot_product_variance", "sum_of_squares", replace(".var().item()", ".var().item() * (samples - 1)", times=2),
        "The squares are added up but not divided by their number. A variance is a mean of squares."),
    row("dot_product_variance", "one_number_alone", replace(", scaled.var().item()", ""),
        "The function returned one number. Return two: the variance of q·k, and the variance of q·k / √d_k."),
    row("dot_product_variance", "theory_instead_of_measurement", begun_with("return float(d_k), 1.0"),
        "The numbers come from the theory, and nothing is drawn. Measure them: draw pairs, and compare with the "
        "theory."),
    row("dot_product_variance", "generator_ignored", replace(", generator=generator", "", times=2),
        "The generator is not used. Pass it on to every draw: `torch.randn(…, generator=generator)`."),
    row("dot_product_variance", "generator_for_the_queries_only",
        replace("keys = torch.randn(samples, d_k, generator=generator)", "keys = torch.randn(samples, d_k)"),
        "Not every number comes from the generator. Pass it on to every draw: `torch.randn(…, generator=generator)`."),
    row("dot_product_variance", "generator_seeded_anew",
        begun_with("if generator:\n        generator.manual_seed(123)"),
        "The draws are the same for every state of the generator, as if the code set its seed first. The caller "
        "decides about the state."),
    row("dot_product_variance", "generator_copied",
        begun_with("generator = generator and torch.Generator().manual_seed(generator.initial_seed())"),
        "The generator decides about the draws but does not advance, as if the code drew from a copy of it. Draw "
        "from the generator that was passed in."),
    row("dot_product_variance", "always_the_same_draws", begun_with("generator = generator or torch.Generator()"),
        "Without a generator every call draws the same numbers, as if the code set a seed or made a generator with a "
        "fixed start. None means torch's global generator in its current state."),
    row("dot_product_variance", "multiplied_by_root_in_variance", replace("/ d_k**0.5", "* d_k**0.5"),
        "The dot products are multiplied by √d_k, so their variance becomes even larger. Divide by √d_k, and the "
        "variance is near 1."),
    row("dot_product_variance", "square_instead_of_root_in_variance", replace("d_k**0.5", "d_k**2"),
        "The dot products are divided by the square of d_k. A square root is the opposite of a square: the power "
        "`0.5`."),
    row("dot_product_variance", "twentieth_root_in_variance", replace("d_k**0.5", "d_k**.05"),
        "The exponent is `.05`, so the divisor is nearly one. A square root is the power `0.5`."),
    row("dot_product_variance", "divided_by_half_of_d_k_in_variance", replace("d_k**0.5", "(d_k / 2)"),
        "The dot products are divided by half of d_k. The half is an exponent: √d_k is d_k to the power of 0.5."),
    row("dot_product_variance", "divided_by_root_of_samples", replace("d_k**0.5", "samples**0.5"),
        "The dot products are divided by the root of the number of samples. A dot product sums over the features, so "
        "divide by √d_k."),
    row("dot_product_variance", "arguments_do_not_fit_in_variance", replace("d_k**0.5", "torch.sqrt(d_k)"), ARGUMENTS),
]
# fmt: on
