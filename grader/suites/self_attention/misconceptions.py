"""Unit 2: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Slips of the attention itself, as dividing the scores by another number, are rows of
scaled_dot_product_attention, and both modules show the commonest of them too.
"""

from __future__ import annotations

from grader.testing.misconceptions import Change, replace, row

# -- sentences that several share --------------------------------------------------------------------------------

HALF = (
    "`/` and `*` bind alike, from left to right: `/ d_k*0.5` divides by d_k and then takes the half. A square root "
    "is a power, `d_k**0.5`."
)
UNSCALED = (
    "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by √d_k they "
    "keep a variance near 1, and softmax stays gentle."
)
NO_ROOT = "The scores are divided by d_k itself. Their standard deviation is √d_k, so that is what brings it to 1."
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is their "
    "number, d_k, that makes it grow."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. Each query shares its attention among the "
    "keys, and those lie along the last dim."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so that all queries share one attention between them. Each query has a "
    "whole one to give: softmax over the last dim."
)
NO_SOFTMAX = (
    "The scores are used as weights as they are. Softmax makes shares of them: positive, and with the sum one for "
    "each query."
)
SCALED_LATE = (
    "The weights are divided after softmax. They then no longer sum to one; it is the scores, before softmax, that "
    "are too wild."
)
KEYS_HANDED_OVER = (
    "The weights mix the keys. Keys are only there to be compared with queries; what is handed over are the values."
)
ROLES_SWAPPED = (
    "Queries and keys have changed places: row i of the scores belongs to query i and holds its dot products with "
    "every key."
)
AVERAGED = (
    "Every value gets the same weight, whatever the queries and keys are. How much one token hears of another is for "
    "their query and key to say, by their dot product."
)
FUTURE_HIDDEN = (
    "The keys after each query's own place are hidden. That is causal attention, the next unit; here every token "
    "sees every token."
)
ONE_BATCH = (
    "`transpose(1, 2)`, `permute(0, 2, 1)` and `bmm` fit exactly one leading dimension. Count from the end instead: "
    "`transpose(-2, -1)` and `@` fit none, one and many."
)
TORN = (
    "`reshape` and `view` keep the order of the numbers and only break the rows elsewhere, so the keys are torn "
    "apart. `transpose` is what swaps two dimensions."
)
BY_D_IN = "The scores are divided by √d_in. The dot products are between projected tokens, whose width is d_out."
KEYS_UNUSED = (
    "W_key is made but never used: queries are compared with queries. What a token looks for and what it can be found "
    "by are different things."
)
BOTH_RESULTS = "The module gives contexts and weights. The next layer wants one tensor: give the contexts alone."
WEIGHTS_GIVEN = (
    "The module gives the attention weights. They say how much each token matters; the output is what they make of the "
    "values."
)
SQUEEZED = "`squeeze()` drops every dimension of length one, and so a token that is alone loses its row."

# -- changes -----------------------------------------------------------------------------------------------------

SOFTMAX = "torch.softmax(scores, dim=-1)"
FROM_MATRICES = "project_qkv(inputs, self.W_query, self.W_key, self.W_value)"
LAYER = "nn.Linear(d_in, d_out, bias=qkv_bias)"
REFUSAL = 'raise ValueError(f"{name} has a bias that is not zero, and attention_v1 has no place for it")'


def begun_with(line: str) -> Change:
    """A line in front of the first, which makes the queries."""
    return replace("queries =", f"{line}\n    queries =")


def weighed(weights: str) -> Change:
    """A module's own attention, with these weights."""
    return replace(
        "contexts, _ = scaled_dot_product_attention(queries, keys, values)", f"contexts = {weights} @ values"
    )


def moved(statement: str) -> Change:
    """Another way to move the weight of each `layer` to its `matrix`."""
    return replace(
        "getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)",
        f"matrix, layer = getattr(attention_v1, name), getattr(attention_v2, name)\n            {statement}",
    )


# fmt: off
ROWS = [
    # project_qkv
    row("project_qkv", "queries_and_keys_swapped", replace("return queries, keys,", "return keys, queries,"),
        "Queries and keys have changed places. They look alike, but the first result is what each token looks for and "
        "the second is what it can be found by."),
    row("project_qkv", "keys_and_values_swapped",
        replace("return queries, keys, values", "return queries, values, keys"),
        "Keys and values have changed places. A key is only compared with queries; the value is what a token hands "
        "over once it is found."),
    row("project_qkv", "values_first", replace("return queries, keys, values", "return values, keys, queries"),
        "The three came back in reverse, values first. The order agreed on is queries, keys, values, as in Q, K, V."),
    row("project_qkv", "one_matrix_for_all", replace("@ W_key", "@ W_query").replace("@ W_value", "@ W_query"),
        "All three projections use the same matrix. Looking for something, being found and handing over are three "
        "jobs, and each has its own weights to learn."),
    row("project_qkv", "keys_made_with_W_query", replace("@ W_key", "@ W_query"),
        "The keys were made with W_query. What a token can be found by has weights of its own: keys = inputs @ W_key."),
    row("project_qkv", "values_made_with_W_key", replace("@ W_value", "@ W_key"),
        "The values were made with W_key. What a token hands over has weights of its own: values = inputs @ W_value."),
    row("project_qkv", "inputs_given_as_values", replace("inputs @ W_value", "inputs"),
        "The inputs themselves were given as values. That was unit 1; now a third matrix decides what each token hands "
        "over."),
    row("project_qkv", "matrices_transposed", begun_with("W_query, W_key, W_value = W_query.T, W_key.T, W_value.T"),
        "The matrices were transposed. They are (d_in, d_out) already, so inputs (T, d_in) meet them as they are; only "
        "nn.Linear keeps its weights the other way round."),
    row("project_qkv", "tokens_in_columns",
        replace("return queries, keys, values", "return queries.T, keys.T, values.T"),
        "The results have one column for each token: (d_out, T). Tokens are rows throughout this course, so the inputs "
        "stand on the left of the product."),
    row("project_qkv", "multiplied_entry_by_entry", replace("inputs @", "inputs *", times=3),
        "`*` multiplies entry by entry. A projection sums over the features of a token, and that is the matrix product "
        "`@`."),
    row("project_qkv", "queries_scaled_here", replace("return queries,", "return queries / queries.shape[-1] ** 0.5,"),
        "The queries are divided by √d_out here already. The projections are plain products; the scores are scaled in "
        "the next exercise, once."),
    row("project_qkv", "inputs_made_float32", replace("inputs @", "inputs.float() @", times=3),
        "The inputs are made float32, which then do not fit float64 matrices. Use the dtype of the arguments."),
    row("project_qkv", "gradients_switched_off",
        replace("return queries, keys, values", "return queries.detach(), keys.detach(), values.detach()"),
        "Gradients stop at the results. `torch.no_grad()` and `.detach()` are for using a model that has learnt; here "
        "the matrices are still to learn."),
    row("project_qkv", "inputs_detached", replace("inputs @", "inputs.detach() @", times=3),
        "The inputs are cut off from the gradients by `.detach()` or `.data`. The layers below, the embeddings among "
        "them, learn only through the inputs."),
    row("project_qkv", "matrices_detached",
        begun_with("W_query, W_key, W_value = W_query.detach(), W_key.detach(), W_value.detach()"),
        "The matrices are cut off from the gradients, by `.detach()`, by `.data` or by an nn.Parameter made of them, "
        "so they would stay what they are for ever."),
    row("project_qkv", "inputs_transposed_in_place",
        begun_with("inputs.t_()").replace("inputs @", "inputs.T @", times=3),
        "The caller's inputs were changed. A method whose name ends in an underscore, such as `t_`, works on the "
        "tensor itself; `.T` gives a view and leaves it alone."),
    # scaled_dot_product_attention
    row("scaled_dot_product_attention", "half_instead_of_root", replace("d_k**0.5", "d_k * 0.5"), HALF),
    row("scaled_dot_product_attention", "divided_by_half_of_d_k", replace("d_k**0.5", "(d_k * 0.5)"),
        "The scores are divided by half of d_k. The half belongs into the exponent: √d_k is d_k to the power of a "
        "half."),
    row("scaled_dot_product_attention", "twentieth_root", replace("d_k**0.5", "d_k**.05"),
        "The exponent is `.05`, a twentieth, and nearly nothing is divided. A square root is the power of a half, "
        "`0.5`."),
    row("scaled_dot_product_attention", "fifth_power", replace("d_k**0.5", "d_k**5"),
        "The exponent is `5`, so the scores all but vanish and every key gets the same weight. A square root is the "
        "power of a half, `0.5`."),
    row("scaled_dot_product_attention", "scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    row("scaled_dot_product_attention", "divided_by_d_k_itself", replace("d_k**0.5", "d_k"), NO_ROOT),
    row("scaled_dot_product_attention", "multiplied_by_root", replace("/ d_k**0.5", "* d_k**0.5"),
        "The scores are multiplied by √d_k, which makes wild scores wilder. Divide by it."),
    row("scaled_dot_product_attention", "scaled_by_number_of_tokens", replace("queries.shape[-1]", "keys.shape[-2]"),
        BY_TOKENS),
    row("scaled_dot_product_attention", "scaled_by_number_of_queries",
        replace("queries.shape[-1]", "queries.shape[-2]"), BY_TOKENS),
    row("scaled_dot_product_attention", "scaled_by_first_dimension", replace("queries.shape[-1]", "keys.shape[0]"),
        "The divisor comes from the first dimension, which is the tokens, or the batch where there is one. d_k is the "
        "last: `keys.shape[-1]`."),
    row("scaled_dot_product_attention", "scaled_by_width_of_values", replace("queries.shape[-1]", "values.shape[-1]"),
        "The divisor is the root of d_v, the width of the values. The dot products are between queries and keys, so it "
        "is their width, d_k, that counts."),
    row("scaled_dot_product_attention", "scaled_for_the_worked_example", replace("queries.shape[-1]", "2"),
        "The divisor is always √2, which is right only for the width of the worked example. Read d_k off the "
        "arguments."),
    row("scaled_dot_product_attention", "scaled_after_softmax",
        replace(" / d_k**0.5", "").replace(SOFTMAX, f"{SOFTMAX} / d_k**0.5"), SCALED_LATE),
    row("scaled_dot_product_attention", "softmax_over_queries", replace("dim=-1", "dim=-2"), WRONG_DIM),
    row("scaled_dot_product_attention", "softmax_over_dimension_0", replace("dim=-1", "dim=0"),
        "Softmax runs over dimension 0: over the queries, or over a batch whose elements should not know of each "
        "other. The keys lie along the last dim, -1, however many come before."),
    row("scaled_dot_product_attention", "softmax_over_dimension_1", replace("dim=-1", "dim=1"),
        "Softmax runs over dimension 1, which are the keys only as long as there is no batch. Counted from the end "
        "they are always the last: dim=-1."),
    row("scaled_dot_product_attention", "softmax_over_everything",
        replace(SOFTMAX, "torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)"), WHOLE_TENSOR),
    row("scaled_dot_product_attention", "softmax_forgotten", replace(SOFTMAX, "scores"), NO_SOFTMAX),
    row("scaled_dot_product_attention", "divided_by_sum", replace(SOFTMAX, "scores / scores.sum(dim=-1, keepdim=True)"),
        "The scores are divided by their sum. Scores may be negative, and their sum near zero, so shares made that way "
        "can be anything; softmax takes exponentials first."),
    row("scaled_dot_product_attention", "softmax_twice", replace(SOFTMAX, f"{SOFTMAX}.softmax(dim=-1)"),
        "Softmax is applied twice. The second softmax gets only numbers between zero and one, so all its weights are "
        "nearly equal."),
    row("scaled_dot_product_attention", "scores_returned_as_weights",
        replace("return contexts, weights", "return contexts, scores"),
        "The contexts are right, but what comes back beside them are the scores. The weights are what softmax makes of "
        "the scores."),
    row("scaled_dot_product_attention", "only_two_dimensions", replace("keys.transpose(-2, -1)", "keys.T"),
        "This fits matrices alone. With a batch in front, `.T` turns all dimensions round and `mm` refuses; "
        "`transpose(-2, -1)` and `@` work on the last two and leave the rest."),
    row("scaled_dot_product_attention", "exactly_one_leading_dimension",
        replace("transpose(-2, -1)", "transpose(1, 2)"), ONE_BATCH),
    row("scaled_dot_product_attention", "exactly_three_dimensions",
        replace("queries @ keys.transpose(-2, -1)", "torch.einsum('bqd,bkd->bqk', queries, keys)"), ONE_BATCH),
    row("scaled_dot_product_attention", "at_most_one_leading_dimension",
        replace("keys.transpose(-2, -1)", "(keys.T if keys.dim() == 2 else keys.transpose(1, 2))"),
        "Two and three dimensions each have a case of their own, and four have none. Counted from the end, "
        "`transpose(-2, -1)`, one line fits them all."),
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
        "`view` asks that the numbers lie in memory in the order of the dimensions, which a transposed tensor's do "
        "not. `reshape` copies where it must; better still, matmul needs neither."),
    row("scaled_dot_product_attention", "keys_handed_over", replace("weights @ values", "weights @ keys"),
        KEYS_HANDED_OVER),
    row("scaled_dot_product_attention", "keys_ask_the_queries",
        replace("queries @ keys.transpose", "keys @ queries.transpose"), ROLES_SWAPPED),
    row("scaled_dot_product_attention", "queries_ask_each_other",
        replace("queries @ keys.transpose", "queries @ queries.transpose"),
        "The queries are compared with one another. A query is matched with keys: queries @ keys, transposed."),
    row("scaled_dot_product_attention", "keys_handed_over_where_they_fit",
        replace("weights @ values", "weights @ (keys if keys.shape == values.shape else values)"),
        "Where keys and values have the same shape, the weights mix the keys. Keys are only there to be compared with "
        "queries; what is mixed are the values, whatever their width is."),
    row("scaled_dot_product_attention", "values_averaged",
        replace("softmax(scores", "softmax(torch.zeros_like(scores)"), AVERAGED),
    row("scaled_dot_product_attention", "best_key_takes_all",
        replace(SOFTMAX, "nn.functional.one_hot(scores.argmax(dim=-1), keys.shape[-2]).to(values.dtype)"),
        "Each query takes the value of its best key and nothing of the others. Softmax is softer than a maximum: every "
        "key has its share, and so the scores can learn."),
    row("scaled_dot_product_attention", "future_hidden",
        replace("softmax(scores", "softmax(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"),
        FUTURE_HIDDEN),
    row("scaled_dot_product_attention", "one_length_for_both",
        replace("d_k =", "keys, values = (one[..., : queries.shape[-2], :] for one in (keys, values))\n    d_k ="),
        "There are only as many keys looked at as there are queries. The two counts differ when one text attends to "
        "another, so each needs its own."),
    row("scaled_dot_product_attention", "lonely_query_squeezed",
        replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "`squeeze()` drops every dimension of length one, and so a query that is alone loses its row. Name the "
        "dimension, or leave it."),
    row("scaled_dot_product_attention", "always_float32",
        replace("d_k =", "queries, keys, values = queries.float(), keys.float(), values.float()\n    d_k ="),
        "Everything is computed in float32, whatever came in. Who hands in float64 wants its precision back: let the "
        "arguments decide."),
    row("scaled_dot_product_attention", "always_float64",
        replace("d_k =", "queries, keys, values = queries.double(), keys.double(), values.double()\n    d_k ="),
        "Computing in float64 is fine, but the result stays float64. Cast it back to the dtype of the arguments."),
    row("scaled_dot_product_attention", "no_gradients",
        replace("return contexts, weights", "return contexts.detach(), weights.detach()"),
        "Gradients stop at the results. `torch.no_grad()` and `.detach()` are for using a model that has learnt; "
        "attention must pass them on to all that lies below."),
    row("scaled_dot_product_attention", "weights_detached", replace(SOFTMAX, f"{SOFTMAX}.detach()"),
        "The weights are cut off from the gradients before they meet the values. Queries and keys learn only through "
        "them."),
    row("scaled_dot_product_attention", "weights_returned_detached",
        replace("return contexts, weights", "return contexts, weights.detach()"),
        "The contexts pass gradients on, but the weights come back detached. Whoever takes them may want to learn "
        "through them too."),
    row("scaled_dot_product_attention", "queries_scaled_in_place",
        replace(" / d_k**0.5", "").replace("scores =", "queries /= d_k**0.5\n    scores ="),
        "The caller's queries were changed: `/=` and `mul_` work on the tensor itself. Write `queries = queries / …`, "
        "or divide the scores."),
    row("scaled_dot_product_attention", "weights_first",
        replace("return contexts, weights", "return weights, contexts"),
        "The weights came first. The pair agreed on is (contexts, weights)."),
    row("scaled_dot_product_attention", "contexts_alone", replace("return contexts, weights", "return contexts"),
        "Only the contexts came back. Return the weights as well: (contexts, weights)."),
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
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(0)"), WRONG_DIM),
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
        "The module has no parameters: an optimiser, `state_dict()` and `.double()` pass by plain tensors, and "
        "whatever stands in a Python list. Make each matrix an nn.Parameter, and an attribute of its own."),
    row("SelfAttention_v1", "matrices_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "There are parameters, but not W_query, W_key and W_value: they have other names, stand in a list, or are one "
        "wide matrix. Others reach the weights by the names that were agreed on."),
    row("SelfAttention_v1", "matrices_the_other_way_round",
        replace("rand(d_in, d_out)", "rand(d_out, d_in)", times=3)
        .replace("self.W_query, self.W_key, self.W_value", "self.W_query.T, self.W_key.T, self.W_value.T"),
        "The matrices are (d_out, d_in), as nn.Linear keeps them. Made by hand they are (d_in, d_out), and inputs @ W "
        "needs no transpose."),
    row("SelfAttention_v1", "layers_in_the_first_version",
        replace("nn.Parameter(torch.rand(d_in, d_out))", "nn.Linear(d_in, d_out, bias=False)", times=3)
        .replace(FROM_MATRICES, "self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)"),
        "The three are linear layers, which is the second version. The first one keeps plain matrices, each an "
        "nn.Parameter."),
    row("SelfAttention_v1", "frozen_matrices",
        replace("rand(d_in, d_out)", "rand(d_in, d_out), requires_grad=False", times=3),
        "The parameters are there but do not require gradients, so no training will move them. nn.Parameter requires "
        "them unless it is told not to."),
    row("SelfAttention_v1", "matrices_drawn_in_forward",
        replace(FROM_MATRICES, "project_qkv(inputs, *(torch.rand_like(self.W_query) for _ in range(3)))"),
        "Two calls with the same inputs give different outputs: something is drawn in `forward`, the matrices perhaps. "
        "What is learnt in one call must be there in the next, so draw in `__init__`, once."),
    row("SelfAttention_v1", "one_matrix_in_use", replace("self.W_key, self.W_value)", "self.W_query, self.W_query)"),
        "One matrix serves queries, keys and values, and the other two are made but never used. Each role has its own "
        "weights to learn."),
    row("SelfAttention_v1", "key_matrix_unused", replace("self.W_key, self.W_value)", "self.W_query, self.W_value)"),
        KEYS_UNUSED),
    row("SelfAttention_v1", "value_matrix_unused",
        replace("attention(queries, keys, values)", "attention(queries, keys, inputs)"),
        "W_value is made but never used: the weights mix the inputs themselves. What is mixed are the values, "
        "inputs @ W_value."),
    row("SelfAttention_v1", "both_results_in_v1", replace("contexts, _ =", "contexts ="), BOTH_RESULTS),
    row("SelfAttention_v1", "weights_instead_of_contexts_in_v1", replace("contexts, _ =", "_, contexts ="),
        WEIGHTS_GIVEN),
    row("SelfAttention_v1", "matrices_detached_in_v1",
        replace("self.W_query, self.W_key, self.W_value", "self.W_query.data, self.W_key.data, self.W_value.data"),
        "`.data` (or `.detach()`) takes the numbers out of the parameters and leaves the gradients behind. Use the "
        "parameters themselves."),
    row("SelfAttention_v1", "gradients_switched_off_in_v1", replace("return contexts", "return contexts.detach()"),
        "Nothing can learn through this forward: `torch.no_grad()`, `.detach()` and `.data` forget how the output came "
        "about."),
    row("SelfAttention_v1", "inputs_made_float32_in_v1", replace("project_qkv(inputs,", "project_qkv(inputs.float(),"),
        "The inputs are made float32, which then do not fit parameters that are float64. Let the inputs keep their "
        "dtype."),
    row("SelfAttention_v1", "lonely_token_squeezed_in_v1", replace("return contexts", "return contexts.squeeze()"),
        SQUEEZED),
    row("SelfAttention_v1", "inputs_transposed_in_place_in_v1",
        replace("project_qkv(inputs,", "project_qkv(inputs.t_().T,"),
        "The caller's inputs were changed. A method whose name ends in an underscore, such as `t_`, works on the "
        "tensor itself."),
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
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(0)"), WRONG_DIM),
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
        "The three are matrices made by hand, which is the first version. Here each is an nn.Linear, which brings its "
        "own weight."),
    row("SelfAttention_v2", "layers_in_a_list",
        replace(LAYER, f"[{LAYER}]", times=3).replace("(inputs)", "[0](inputs)", times=3),
        "The module has no parameters: in a plain list or dict it does not look for layers, and plain tensors are "
        "none. Assign each nn.Linear to an attribute of its own, W_query, W_key and W_value."),
    row("SelfAttention_v2", "layers_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "There are parameters, but no layers W_query, W_key and W_value: they have other names, stand in an "
        "nn.ModuleList, or are one wide layer. Others reach the weights by the names that were agreed on."),
    row("SelfAttention_v2", "one_layer_under_three_names",
        replace(f"self.W_key = {LAYER}", "self.W_key = self.W_query")
        .replace(f"self.W_value = {LAYER}", "self.W_value = self.W_query"),
        "W_query, W_key and W_value are one and the same layer under three names, so they can only learn the same. "
        "Make three."),
    row("SelfAttention_v2", "layers_the_other_way_round",
        replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_in", times=3),
        "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_in, d_out). It turns its weight "
        "round by itself."),
    row("SelfAttention_v2", "bias_always", replace("bias=qkv_bias", "bias=True", times=3),
        "The layers have a bias whether asked for or not, for that is what nn.Linear does by itself. Pass qkv_bias on: "
        "bias=qkv_bias."),
    row("SelfAttention_v2", "bias_never", replace("bias=qkv_bias", "bias=False", times=3),
        "The layers never have a bias. qkv_bias is the caller's choice, so pass it on: bias=qkv_bias."),
    row("SelfAttention_v2", "bias_the_other_way_round", replace("bias=qkv_bias", "bias=not qkv_bias", times=3),
        "The bias is there when it is not asked for, and gone when it is: qkv_bias is turned into its opposite."),
    row("SelfAttention_v2", "bias_in_W_query_only",
        replace(f"self.W_key = {LAYER}", "self.W_key = nn.Linear(d_in, d_out, bias=False)")
        .replace(f"self.W_value = {LAYER}", "self.W_value = nn.Linear(d_in, d_out, bias=False)"),
        "Only W_query gets its bias. The q, the k and the v in qkv_bias mean all three layers."),
    row("SelfAttention_v2", "biases_made_but_unused",
        replace("self.W_query(inputs)", "inputs @ self.W_query.weight.T")
        .replace("self.W_key(inputs)", "inputs @ self.W_key.weight.T")
        .replace("self.W_value(inputs)", "inputs @ self.W_value.weight.T"),
        "Only the layers' weights are used, and their biases are left lying. Call the layer, W_query(inputs), and it "
        "adds its bias too."),
    row("SelfAttention_v2", "one_layer_in_use",
        replace("self.W_key(inputs)", "self.W_query(inputs)").replace("self.W_value(inputs)", "self.W_query(inputs)"),
        "W_query serves as all three layers, and the other two are made but never used. Each role has its own weights "
        "to learn."),
    row("SelfAttention_v2", "key_layer_unused", replace("self.W_key(inputs)", "self.W_query(inputs)"), KEYS_UNUSED),
    row("SelfAttention_v2", "value_layer_unused", replace("self.W_value(inputs)", "inputs"),
        "W_value is made but never used: the weights mix the inputs themselves. What is mixed are the values, "
        "W_value(inputs)."),
    row("SelfAttention_v2", "both_results_in_v2", replace("contexts, _ =", "contexts ="), BOTH_RESULTS),
    row("SelfAttention_v2", "weights_instead_of_contexts_in_v2", replace("contexts, _ =", "_, contexts ="),
        WEIGHTS_GIVEN),
    row("SelfAttention_v2", "gradients_switched_off_in_v2", replace("return contexts", "return contexts.detach()"),
        "The gradients are cut off, by `torch.no_grad()`, `.detach()` or `.data`, so neither the layers nor anything "
        "below them can learn."),
    row("SelfAttention_v2", "only_values_learn",
        replace("attention(queries, keys,", "attention(queries.detach(), keys.detach(),"),
        "Queries and keys are cut off from the gradients, so that only the values learn. What to look for is to be "
        "learnt as well."),
    row("SelfAttention_v2", "inputs_made_float32_in_v2", replace("(inputs)", "(inputs.float())", times=3),
        "The inputs are made float32, which then do not fit layers that are float64. Let the inputs keep their dtype."),
    row("SelfAttention_v2", "lonely_token_squeezed_in_v2", replace("return contexts", "return contexts.squeeze()"),
        SQUEEZED),
    row("SelfAttention_v2", "inputs_changed_in_place",
        replace("return contexts", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return contexts"),
        "The caller's inputs were changed. What comes in may be needed elsewhere, so work on a copy, and write "
        "`x = x - …` rather than `x -= …`."),
    # transfer_weights
    row("transfer_weights", "not_transposed", replace("weight.T", "weight"),
        "The weights are copied as they are. nn.Linear keeps its weight as (d_out, d_in) and multiplies by its "
        "transpose; the first version keeps (d_in, d_out)."),
    row("transfer_weights", "handed_over_without_transposing", moved("matrix.data = layer.weight.data.clone()"),
        "The weights are handed over as they are, (d_out, d_in), and no error says so. The first version computes "
        "inputs @ W, so it needs them transposed."),
    row("transfer_weights", "transposed_only_where_shapes_differ",
        moved("matrix.data = layer.weight.clone() if layer.weight.shape == matrix.shape else layer.weight.T"),
        "The weights are transposed only where the shapes differ. A square matrix is no less the wrong way round; it "
        "is only that its shape does not tell."),
    row("transfer_weights", "reshaped_to_fit", moved("matrix.copy_(layer.weight.reshape(matrix.shape))"),
        "`reshape` and `view` make the shapes fit but keep the order of the numbers, so each weight lands elsewhere. "
        "Transpose: `.T`."),
    row("transfer_weights", "opposite_direction", moved("layer.weight.copy_(matrix.T)"),
        "The weights went from attention_v1 to attention_v2. It is the second whose weights are wanted in the first."),
    row("transfer_weights", "weights_of_fresh_layers",
        moved("matrix.data = nn.Linear(*matrix.shape, bias=False).weight.data.T"),
        "The weights that arrive are random: they come from layers made on the spot, or from random inputs. Take them "
        "from the layers of the attention_v2 that was handed in."),
    row("transfer_weights", "activations_as_weights",
        moved("setattr(attention_v1, name, nn.Parameter(layer(torch.ones(len(matrix), len(matrix)))))"),
        "What a layer gives for some inputs is an activation: it is another for every text. What moves is the layer's "
        "weight."),
    row("transfer_weights", "worked_on_a_copy", moved("matrix = layer.weight.T"),
        "attention_v1 keeps its own weights: nothing was written to it, or only to a copy or a new name. Change the "
        "module that was handed in."),
    row("transfer_weights", "forward_borrowed",
        moved("object.__setattr__(attention_v1, 'forward', attention_v2.forward)"),
        "attention_v1 now calls attention_v2's forward, and its own weights are what they were. Moving the weights "
        "means that it could do without the other."),
    row("transfer_weights", "parameters_replaced_by_tensors",
        moved("delattr(attention_v1, name)\n            setattr(attention_v1, name, layer.weight.detach().T)"),
        "The weights became plain tensors: the outputs agree, but no optimiser will find them any more. Wrap them in "
        "nn.Parameter, or copy into the parameters that are there."),
    row("transfer_weights", "tensor_assigned_to_a_parameter", moved("setattr(attention_v1, name, layer.weight.T)"),
        "What is assigned where a parameter stands is none: a plain tensor, or a whole layer. nn.Module refuses that. "
        "Wrap the transposed weight in nn.Parameter, or copy it in without recording gradients."),
    row("transfer_weights", "copied_while_gradients_are_recorded", replace("torch.no_grad()", "torch.enable_grad()"),
        "An error of torch's stops the transfer. If it speaks of a leaf variable, copy under `torch.no_grad()`: a "
        "transfer is no step to be learnt through. If it speaks of keys, `state_dict()` calls W_query.weight what is "
        "W_query here."),
    row("transfer_weights", "frozen_afterwards", moved("matrix.copy_(layer.weight.T).requires_grad_(False)"),
        "The weights arrive, but they no longer require gradients, so attention_v1 could not learn on. A transfer is a "
        "beginning, not an end."),
    row("transfer_weights", "source_transposed", moved("matrix.data = layer.weight.data = layer.weight.data.T"),
        "The weights of attention_v2 itself were turned round on the way. The source of a transfer stays as it was."),
    row("transfer_weights", "weights_exchanged",
        moved("matrix.data, layer.weight.data = layer.weight.data.T, matrix.data.T"),
        "The two modules exchanged their weights. attention_v2 is the source, and stays as it was."),
    row("transfer_weights", "source_biases_zeroed", replace(REFUSAL, "bias.data.zero_()"),
        "The bias in attention_v2 is set to zero, so that the outputs agree. That changes the caller's module behind "
        "their back; say that it cannot be done, with an error."),
    row("transfer_weights", "source_biases_removed",
        replace("bias = getattr(attention_v2, name).bias", "bias = getattr(attention_v2, name).bias = None"),
        "Biases are taken off attention_v2's layers. Even a bias of zeros belongs to it, and the source of a transfer "
        "stays as it was."),
    row("transfer_weights", "biases_ignored", replace(REFUSAL, "pass"),
        "Biases are passed over in silence. The first version has no place for them, and its outputs would be others: "
        "a bias that is not zero is an error."),
    row("transfer_weights", "zero_biases_refused", replace(" and bias.any()", ""),
        "Any bias is refused, even one of zeros. Zeros change nothing, so look at the numbers and not only whether "
        "there is a bias."),
    row("transfer_weights", "only_the_query_bias_checked", replace("names:\n        bias", "names[:1]:\n        bias"),
        "Only the bias of W_query is looked at. Each of the three layers has one of its own."),
    row("transfer_weights", "key_bias_thought_harmless", replace("names:\n        bias", "names[::2]:\n        bias"),
        "A bias in W_key passes. In the softmax it would indeed cancel, but attention_v1 would still lack a number "
        "that attention_v2 has; the rule here is that every non-zero bias is refused."),
    row("transfer_weights", "value_bias_forgotten", replace("names:\n        bias", "names[:2]:\n        bias"),
        "A bias in W_value passes. It is added to every context, so it changes the outputs most plainly of all three."),
    row("transfer_weights", "bias_judged_by_its_sum", replace("bias.any()", "bias.sum() != 0"),
        "A bias is held to be zero where its numbers only cancel, or where just some of them are zero. Ask whether any "
        "one of them is not: `bias.any()`."),
    row("transfer_weights", "refused_with_another_error", replace("ValueError", "RuntimeError"),
        "The refusal is of another kind than agreed. Callers tell errors by their type, and here that is ValueError or "
        "AssertionError."),
    row("transfer_weights", "value_weights_forgotten", replace("names:\n            #", "names[:2]:\n            #"),
        "W_query and W_key arrive, W_value does not. All three matrices make the outputs."),
    row("transfer_weights", "query_weights_everywhere",
        replace("getattr(attention_v2, name).weight", "attention_v2.W_query.weight"),
        "All three matrices of attention_v1 got the weights of W_query. Each takes those of its own name."),
    # dot_product_variance
    row("dot_product_variance", "standard_deviations", replace(".var()", ".std()", times=2),
        "These are standard deviations. The variance is their square, and it is the variance that grows like d_k."),
    row("dot_product_variance", "samples_ignored", replace("randn(samples", "randn(6000", times=2),
        "The same number of pairs is drawn whatever the caller asks for. An estimate over `samples` pairs is the "
        "better, and the slower, the more of them there are."),
    row("dot_product_variance", "divided_by_d_k", replace("d_k**0.5", "d_k"),
        "The dot products are divided by d_k itself, and that is too much: their variance is then divided by d_k "
        "twice. By √d_k it comes to 1."),
    row("dot_product_variance", "half_instead_of_root_in_variance", replace("d_k**0.5", "d_k * 0.5"), HALF),
    row("dot_product_variance", "variance_divided_by_root",
        replace("scaled.var().item()", "dot_products.var().item() / d_k**0.5"),
        "The second number is near √d_k: a root of the variance, or the variance divided by it. It is the dot products "
        "that are divided by √d_k, and what divides a number divides its variance by the square."),
    row("dot_product_variance", "never_scaled", replace(" / d_k**0.5", ""),
        "The second number is the first once more. Divide each dot product by √d_k before you measure again."),
    row("dot_product_variance", "scaled_both_times", replace("return dot_products.var()", "return scaled.var()"),
        "Both numbers are measured after scaling. The first is meant to show how wild the dot products are without "
        "it."),
    row("dot_product_variance", "scaled_first",
        replace("dot_products.var().item(), scaled.var().item()", "scaled.var().item(), dot_products.var().item()"),
        "The scaled variance came first. The order is: plain, then scaled."),
    row("dot_product_variance", "vectors_with_themselves", replace("queries * keys", "queries * queries"),
        "The variance is twice too large: that of q·q, or of a sum of both vectors' entries. Draw the keys on their "
        "own, and multiply each entry of q by its entry of k."),
    row("dot_product_variance", "uniform_entries", replace("randn(samples", "rand(samples", times=2),
        "The entries are drawn uniformly by `torch.rand`. Standard normal ones, with mean 0 and variance 1, come from "
        "`torch.randn`."),
    row("dot_product_variance", "mean_instead_of_sum", replace("sum(dim=-1)", "mean(dim=-1)"),
        "The dot products come out divided by d_k: averaged, or made of vectors of length one. A dot product sums the "
        "products of the entries as they are, and it is the sum that grows with d_k."),
    row("dot_product_variance", "products_never_summed", replace(".sum(dim=-1)", ""),
        "This is the variance of single numbers: entries, or products of two. A dot product is the sum of such "
        "products over the d_k features: multiply and sum first, then measure."),
    row("dot_product_variance", "summed_over_the_samples", replace("sum(dim=-1)", "sum(dim=0)"),
        "The sum runs over the samples and leaves one number for each feature. Sum over the features, the last dim, so "
        "that each pair has its dot product."),
    row("dot_product_variance", "sum_of_squares", replace(".var().item()", ".var().item() * (samples - 1)", times=2),
        "The squares are summed but not divided by how many there are. A variance is a mean of squares."),
    row("dot_product_variance", "one_number_alone", replace(", scaled.var().item()", ""),
        "One number came back. Two are asked for: the variance of q·k, and that of q·k / √d_k."),
    row("dot_product_variance", "theory_instead_of_measurement", begun_with("return float(d_k), 1.0"),
        "The numbers of the theory are given, and nothing is drawn. Measure them: draw pairs, and see how near the "
        "theory comes."),
    row("dot_product_variance", "generator_ignored", replace(", generator=generator", "", times=2),
        "The generator is taken but not used. Hand it on to every draw: `torch.randn(…, generator=generator)`."),
    row("dot_product_variance", "generator_for_the_queries_only",
        replace("keys = torch.randn(samples, d_k, generator=generator)", "keys = torch.randn(samples, d_k)"),
        "Only the queries come from the generator, the keys from torch's global one. Hand it on to every draw."),
    row("dot_product_variance", "generator_seeded_anew",
        begun_with("if generator:\n        generator.manual_seed(123)"),
        "The generator is set to a seed of your own before drawing, so whatever state it came with is lost. The caller "
        "decides about the state."),
    row("dot_product_variance", "generator_copied",
        begun_with("generator = generator and torch.Generator().manual_seed(generator.initial_seed())"),
        "A second generator is made from the seed or the state of the first, which itself stays where it was. Draw "
        "from the one that was handed in, and it moves on."),
    row("dot_product_variance", "always_the_same_draws", begun_with("generator = generator or torch.Generator()"),
        "Without a generator every call draws the same: a seed is set inside, or a generator made that always begins "
        "alike. Whoever calls decides about the seed; None means torch's global generator as it stands."),
]
# fmt: on
