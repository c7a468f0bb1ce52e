"""Misconceptions of unit 1: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

SHARES = "exponentials / exponentials.sum(dim=dim, keepdim=True)"  # the last line of both softmaxes

REFUSED_OTHERWISE = (
    "Different lengths raise an error of the wrong type. Callers recognise errors by their type. Here the type is "
    "ValueError or AssertionError."
)
NO_BEGINNING = (
    "The sum begins with the first product. Empty sequences have no first product, so the code fails. Begin with 0, "
    "which is the result for two empty sequences."
)
NO_TENSORS = (
    "Lists work, but tensors end in an error. Either the code rejects them, or it uses something that works only for "
    "lists, such as `if not a`. `len` works for both."
)
NO_LISTS = (
    "Only tensors work. Lists and tuples cannot be multiplied entry by entry. Loop over the positions of both "
    "sequences: this works for all types."
)
MEAN = "The sum was divided by the number of entries. That is a mean. A dot product is the sum itself."
COSINE = (
    "The result was divided by the lengths of both vectors. That is the cosine of the angle between them. In a dot "
    "product the lengths count too."
)
CUT_OFF_BY_INT = (
    "`int` cut off the fractions. The numbers of an embedding are small, and most of their information is after the "
    "decimal point."
)
EATEN_UP = (
    "The numbers in the caller's lists were changed, as by `pop` or by an assignment to a position. Only read the "
    "numbers: the caller may need them later."
)
A_LIST = (
    "The function returned the scores as a list of numbers. Put them into a tensor, (T,): tensors can be computed "
    "with, and gradients flow through them."
)
STANDARDISED = (
    "The scores were changed to mean zero and standard deviation one. That is standardising. Here each score is "
    "divided by their sum."
)
DIM_IGNORED = (
    "The sum always runs along the last dimension and ignores `dim`. Pass it on: `sum(dim=dim, keepdim=True)`."
)
WHOLE_TENSOR = (
    "The exponentials are divided by the sum of all entries of the tensor. Each list of scores along `dim` has its own "
    "sum, so that each list sums to one."
)
KEEPDIM_FORGOTTEN = (
    "The summed dimension is gone, so the sums do not line up with their entries. This gives an error or wrong "
    "numbers. `keepdim=True` keeps the dimension with size one."
)
PUT_BACK_AT_THE_END = (
    "The dimension of the sum, or of the maximum, is put back at the end, by `unsqueeze(-1)`, but it was taken from "
    "`dim`. With `keepdim=True` it stays where it was."
)
FIRST_BY_DEFAULT = (
    "Without `dim` the sum runs along the first dimension. The default is the last one, `dim=-1`: there the scores of "
    "one query lie."
)
TWO_DIMENSIONS = (
    "The code works for rows and columns, but not for a third dimension. `sum(dim=dim, keepdim=True)` and division "
    "work for any number of dimensions."
)
LOGARITHMS = (
    "These are the logarithms of the weights. They are useful in a loss, but the result should be the weights "
    "themselves."
)
SUM_CONSTANT = (
    "Gradients treat the denominator as a constant: was it detached, or read with `.item()`? Each entry is part of the "
    "sum. If it grows, all other weights become smaller."
)
CUT_OFF = (
    "Gradients stop at the result. Was it computed under `torch.no_grad()`, or detached? The scores before it must be "
    "able to learn."
)
SCALED_BY_THE_TOKENS = (
    "The scores were divided by the number of tokens, or by its root. Here they are plain dot products. A dot product "
    "sums over the features, not over the tokens."
)
FEATURES_COMPARED = (
    "Features were compared with features: the scores are (d, d). Tokens should be compared with tokens, so "
    "transpose only the second factor."
)

CALLS = {"simple_self_attention": ["softmax_stable"]}

# fmt: off
ROWS = [
    # dot_product
    row("dot_product", "longer_end_dropped",
        replace("len(a) != len(b)", "False").replace("strict=True", "strict=False"),
        "If one sequence is longer, the code silently ignores its end. The cause is `zip`, the smaller of the two "
        "lengths, or zeros added to the shorter one. A dot product of different lengths has no meaning: raise an "
        "error."),
    row("dot_product", "lengths_never_compared",
        replace("len(a) != len(b)", "False")
        .replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("x * y", "a[place] * b[place]"),
        "The loop counts the entries of the first sequence and never checks the second. If the second is shorter, "
        "the loop raises an IndexError. If it is longer, nothing happens. Compare the lengths first."),
    row("dot_product", "only_a_longer_first_refused", replace("!=", ">").replace("strict=True", "strict=False"),
        "The code rejects only one of the two cases. The second sequence may be longer, or it may be shorter. Check "
        "whether the lengths are not equal."),
    row("dot_product", "different_lengths_give_none",
        replace('raise ValueError(f"the lengths differ: {len(a)} and {len(b)}")', "return None"),
        "For different lengths the function returns a result, such as None or 0, instead of an error. The caller may "
        "use this result by mistake, but cannot overlook an error."),
    row("dot_product", "lengths_refused_with_another_error", replace("ValueError", "TypeError"), REFUSED_OTHERWISE),
    row("dot_product", "lengths_refused_with_any_exception", replace("ValueError", "Exception"), REFUSED_OTHERWISE),
    row("dot_product", "lengths_refused_with_an_index_error", replace("ValueError", "IndexError"), REFUSED_OTHERWISE),
    row("dot_product", "single_number_stretched",
        replace("    if", "    if len(a) == 1:\n        a = [a[0]] * len(b)\n    if"),
        "A sequence of one number is broadcast to the length of the other one, as tensors do in a product. Different "
        "lengths should always raise an error, here too."),
    row("dot_product", "empty_sequences_refused", replace("!= len(b):", "!= len(b) or len(a) == 0:"),
        "Empty sequences raise an error. But a sum without terms is 0. Only different lengths are an error."),
    row("dot_product", "sum_begins_with_the_first_product",
        replace("total = 0", "total = a[0] * b[0]").replace("zip(a, b,", "zip(a[1:], b[1:],"),
        NO_BEGINNING),
    row("dot_product", "products_reduced_without_a_beginning",
        replace("total = 0", "from functools import reduce")
        .replace("for x, y in zip(a, b, strict=True):\n        total = total + x * y\n    return total",
                 "return reduce(lambda total, x: total + x, [x * y for x, y in zip(a, b, strict=True)])"),
        NO_BEGINNING),
    row("dot_product", "none_for_empty_sequences", replace("return total", "return total if len(a) else None"),
        "For empty sequences the function returns None. A sum without terms is 0, and the caller needs a number."),
    row("dot_product", "truth_of_a_tensor_asked",
        replace("    total = 0", "    if not a:\n        return 0\n    total = 0"),
        NO_TENSORS),
    row("dot_product", "tensors_only", replace("len(a) != len(b)", "a.shape != b.shape"), NO_LISTS),
    row("dot_product", "lists_given_to_torch", replace("return total", "return torch.dot(a, b)"), NO_LISTS),
    row("dot_product", "tensors_refused",
        replace("    if",
                "    if not isinstance(a, list | tuple) or not isinstance(b, list | tuple):\n"
                "        raise TypeError\n    if"),
        NO_TENSORS),
    row("dot_product", "lists_asserted",
        replace("    if", "    assert isinstance(a, list | tuple) and isinstance(b, list | tuple)\n    if"),
        NO_TENSORS),
    row("dot_product", "nothing_but_lists_let_in",
        replace("    if",
                "    if not isinstance(a, list) or not isinstance(b, list):\n        raise ValueError\n    if"),
        NO_TENSORS),
    row("dot_product", "products_not_added_up",
        replace("total = 0", "total = []").replace("total + x * y", "[*total, x * y]"),
        "The products were not added up. A dot product is one number: the sum of the products at all positions."),
    row("dot_product", "returned_inside_the_loop",
        replace("    return total\n", "").replace("total = total +", "return total +"),
        "Only the first product counts, as with a `return` inside the loop. Put the `return` after the loop, with "
        "the same indentation as `for`."),
    row("dot_product", "only_the_last_product", replace("total + x * y", "x * y"),
        "Each product replaces the one before, so only the last one is left. The total so far must stay: add each "
        "product to it."),
    row("dot_product", "last_place_left_out", replace("zip(a, b,", "zip(a[:-1], b[:-1],"),
        "The last position is missing. `range(n)` already ends before n, so do not subtract one."),
    row("dot_product", "first_place_left_out", replace("zip(a, b,", "zip(a[1:], b[1:],"),
        "The first position is missing. Python counts positions from 0, so the loop begins at 0."),
    row("dot_product", "added_instead_of_multiplied", replace("x * y", "x + y"),
        "The numbers at each position were added. Multiply them, and add up the products."),
    row("dot_product", "every_number_with_every_other",
        replace("zip(a, b, strict=True)", "((x, y) for x in a for y in b)"),
        "Every number of the first sequence counts with every number of the second, as in two nested loops or in the "
        "product of both sums. Only numbers at the same position belong together."),
    row("dot_product", "mean_of_the_products", replace("return total", "return total / len(a)"), MEAN),
    row("dot_product", "mean_unless_there_are_none", replace("return total", "return total / len(a) if len(a) else 0"),
        MEAN),
    row("dot_product", "cosine_of_the_angle",
        replace("return total", "return total / (sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5)"),
        COSINE),
    row("dot_product", "cosine_unless_there_is_none",
        replace("return total",
                "return total / (sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5) if len(a) else 0"),
        COSINE),
    row("dot_product", "signs_lost", replace("x * y", "abs(x * y)"),
        "Every product counts as positive. But the sign is important: a negative dot product means that the vectors "
        "point in different directions."),
    row("dot_product", "fractions_cut_off", replace("x * y", "int(x * y)"), CUT_OFF_BY_INT),
    row("dot_product", "fraction_of_the_sum_cut_off", replace("return total", "return int(total)"), CUT_OFF_BY_INT),
    row("dot_product", "fractions_of_the_numbers_cut_off", replace("x * y", "int(x) * int(y)"), CUT_OFF_BY_INT),
    row("dot_product", "result_not_returned", replace("    return total\n", ""),
        "The function returned None. `print` only shows a result: use `return`, so that other code can compute with "
        "it."),
    row("dot_product", "numbers_taken_out",
        replace("for x, y in zip(a, b, strict=True)", "while len(a)").replace("x * y", "a.pop() * b.pop()"),
        EATEN_UP),
    row("dot_product", "numbers_overwritten",
        replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("total = total + x * y", "a[place] *= b[place]\n        total = total + a[place]"),
        EATEN_UP),
    row("dot_product", "numbers_overwritten_but_in_tuples",
        replace("total = 0", "total, a = 0, list(a) if isinstance(a, tuple) else a")
        .replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("total = total + x * y", "a[place] *= b[place]\n        total = total + a[place]"),
        EATEN_UP),
    row("dot_product", "total_begun_anew_in_the_loop",
        replace("    total = 0\n", "").replace("        total = total", "        total = 0\n        total = total"),
        "The total is set to 0 again in each pass of the loop, so only the last product is left. Set it once, before "
        "the loop."),
    row("dot_product", "place_that_does_not_exist",
        replace("x, y in zip(a, b, strict=True)", "place in range(len(a) + 1)").replace("x * y", "a[place] * b[place]"),
        "The code reads a position that does not exist. Positions begin at 0, so the last one is one less than the "
        "length."),

    # attention_scores
    row("attention_scores", "products_of_each_feature", replace("inputs @ query", "query * inputs"),
        "The products were not added up, so each token has a row and not a number. A dot product sums over the "
        "features: the last dimension."),
    row("attention_scores", "summed_over_the_tokens", replace("inputs @ query", "(query * inputs).sum(dim=0)"),
        "The sum runs over the tokens and gives one number for each feature. A score belongs to a token, so sum over "
        "the features: `dim=-1`."),
    row("attention_scores", "one_score_for_all", replace("inputs @ query", "(query * inputs).sum()"),
        "The sum runs over all entries and gives a single number. Each token has its own score: sum only over its "
        "features."),
    row("attention_scores", "multiplied_with_the_columns", replace("inputs @ query", "query @ inputs"),
        "`query @ inputs` multiplies the query with the columns of the inputs. Tokens are rows: put the inputs on "
        "the left, or transpose them."),
    row("attention_scores", "every_token_as_the_query", replace("@ query", "@ inputs.T"),
        "All tokens were scored with all tokens, and the query was not used. Here there is only one query: one score "
        "for each input."),
    row("attention_scores", "second_input_as_the_query", replace("@ query", "@ inputs[1]"),
        "The query is always one of the inputs, chosen by its index. But the argument `query` can be any vector: use "
        "it."),
    row("attention_scores", "scaled_already", replace("@ query", "@ query / len(query) ** 0.5"),
        "The scores were divided by the root of the width. That belongs to unit 2. Here a score is the plain dot "
        "product."),
    row("attention_scores", "averaged_over_the_features", replace("inputs @ query", "(inputs * query).mean(dim=-1)"),
        "The products were averaged over the features. A dot product is their sum."),
    row("attention_scores", "weights_instead_of_scores",
        replace("inputs @ query", "torch.softmax(inputs @ query, dim=-1)"),
        "Softmax was already applied, so these are weights. Scores come first: plain dot products of any size and "
        "sign."),
    row("attention_scores", "normalised_already", replace("inputs @ query", "inputs @ query / (inputs @ query).sum()"),
        "The scores were already divided by their sum. Scores are plain dot products. The next exercise turns them "
        "into weights."),
    row("attention_scores", "cosines_as_scores",
        replace("inputs @ query", "torch.cosine_similarity(inputs, query[None], dim=-1)"),
        "The vectors were first scaled to length one. Then only the direction counts. In a dot product a longer "
        "vector counts more."),
    row("attention_scores", "distances_as_scores", replace("inputs @ query", "(inputs - query).norm(dim=-1)"),
        "The distances from the query were computed. A distance is small for similar vectors, but a dot product is "
        "large for them."),
    row("attention_scores", "three_features_only", replace("inputs @ query", "inputs[:, :3] @ query[:3]"),
        "Only the first three features count, as in the worked example. Other embeddings are wider: sum over all "
        "features."),
    row("attention_scores", "six_tokens_only",
        replace("inputs @ query", "torch.stack([inputs[place] @ query for place in range(6)])"),
        "There are always six scores, as in the worked example. Read the number of rows from the inputs."),
    row("attention_scores", "scores_in_a_column", replace("@ query", "@ query[:, None]"),
        "The scores have the shape of a column, (T, 1). The result should have one dimension, (T,), with one score "
        "for each token."),
    row("attention_scores", "list_of_scores", replace("inputs @ query", "[row @ query for row in inputs]"), A_LIST),
    row("attention_scores", "list_of_plain_numbers",
        replace("inputs @ query", "[float(row @ query) for row in inputs]"),
        A_LIST),
    row("attention_scores", "squeezed_too_much", replace("inputs @ query", "(inputs @ query[:, None]).squeeze()"),
        "`squeeze()` removes every dimension of size one. With a single token it also removes the dimension of the "
        "tokens. Name the dimension that you want to remove."),
    row("attention_scores", "scores_in_float32_only", replace("inputs @", "inputs.float() @"),
        "The inputs are made float32, so they do not match a float64 query. Use the dtype of the arguments."),
    row("attention_scores", "scores_cut_off", replace("inputs @ query", "(inputs @ query).detach()"),
        "Gradients stop at the scores, for example because of `.item()`, `.numpy()`, `torch.tensor([…])` or "
        "`no_grad`. Compute with tensors, and join them with `torch.stack`."),
    row("attention_scores", "query_cut_off", replace("@ query", "@ query.detach()"),
        "No gradient reaches the query: does `.detach()`, `.data` or `.item()` cut it off? In later units the query "
        "is computed with weights that learn."),
    row("attention_scores", "inputs_multiplied_in_place", replace("inputs @ query", "inputs.mul_(query).sum(dim=-1)"),
        "The caller's inputs were multiplied in place, by `*=` or `mul_`. The next step needs the old inputs: `*` "
        "makes a new tensor."),
    row("attention_scores", "last_token_without_a_score",
        replace("inputs @ query", "torch.cat([inputs[:-1] @ query, 0 * inputs[-1:] @ query])"),
        "The last token has a score of zero: the loop ends one token too early. The end of a range is already "
        "excluded."),
    row("attention_scores", "last_score_alone", replace("inputs @ query", "inputs[-1] @ query"),
        "Only the score of the last token is returned, as if each score replaced the one before. Keep all of them, one "
        "for each token."),
    row("attention_scores", "first_score_alone", replace("inputs @ query", "inputs[0] @ query"),
        "Only the score of the first token is returned, as with a `return` inside the loop. Collect a score for each "
        "token first."),
    row("attention_scores", "scores_in_a_row", replace("inputs @ query", "query[None] @ inputs.T"),
        "The scores have the shape of a table with one row, (1, T). The result should have one dimension, (T,)."),

    # normalize_by_sum
    row("normalize_by_sum", "softmax_instead_of_division",
        replace("scores / scores.sum()", "torch.softmax(scores, dim=-1)"),
        "That is already softmax. Here the scores themselves are divided by their sum. The next exercise shows the "
        "problem with that."),
    row("normalize_by_sum", "divided_by_the_largest", replace("scores.sum()", "scores.max()"),
        "The scores were divided by the largest score. Then the largest result is one, but the sum of the results "
        "should be one."),
    row("normalize_by_sum", "divided_by_their_number", replace("scores.sum()", "len(scores)"),
        "The scores were divided by their number. Divide by their sum, so that the results sum to one."),
    row("normalize_by_sum", "divided_by_the_euclidean_length", replace("scores.sum()", "scores.norm()"),
        "The scores were divided by the root of the sum of their squares. That gives a vector of length one. The "
        "results should sum to one: divide by the plain sum."),
    row("normalize_by_sum", "divided_by_the_sum_of_sizes", replace("scores.sum()", "scores.abs().sum()"),
        "The denominator is the sum of the absolute values. If some scores are negative, the results do not sum to "
        "one. Use the sum with signs."),
    row("normalize_by_sum", "negative_scores_dropped",
        replace("scores / scores.sum()", "scores.clamp(min=0) / scores.clamp(min=0).sum()"),
        "Negative scores were set to zero. Here they are used without any change. The next exercise deals with "
        "negative weights."),
    row("normalize_by_sum", "smallest_subtracted_first",
        replace("scores / scores.sum()", "(scores - scores.min()) / (scores - scores.min()).sum()"),
        "The smallest score was subtracted first. Divide the scores without any change."),
    row("normalize_by_sum", "standardised", replace("scores / scores.sum()", "(scores - scores.mean()) / scores.std()"),
        STANDARDISED),
    row("normalize_by_sum", "standardised_by_the_biased_deviation",
        replace("scores / scores.sum()", "(scores - scores.mean()) / scores.std(correction=0)"),
        STANDARDISED),
    row("normalize_by_sum", "not_divided", replace("scores / scores.sum()", "scores.clone()"),
        "The function returned the scores without any change. Divide them by their sum."),
    row("normalize_by_sum", "sum_alone", replace("scores / scores.sum()", "scores.sum()"),
        "The function returned the sum itself. The sum is the denominator: divide each score by it."),
    row("normalize_by_sum", "six_scores_only",
        replace("return scores", "return torch.stack([scores[place] for place in range(6)])"),
        "The code always expects six scores, as in the worked example. Use the number of scores that it gets."),
    row("normalize_by_sum", "shape_squeezed_away",
        replace("scores / scores.sum()", "(scores / scores.sum()).squeeze()"),
        "If there is a single score, `squeeze()` removes the only dimension. The shape stays (T,), also for T = 1."),
    row("normalize_by_sum", "sum_in_float32_only",
        replace("scores.sum()", "torch.dot(torch.ones(len(scores)), scores)"),
        "The code always computes in float32, and float64 scores do not match. Use the dtype of the scores."),
    row("normalize_by_sum", "sum_as_a_constant", replace("sum()", "sum().item()"),
        "Gradients treat the sum as a constant, for example because of `.item()` or `.detach()`. But the sum depends "
        "on the scores: if one score grows, every result changes."),
    row("normalize_by_sum", "shares_cut_off", replace("scores / scores.sum()", "(scores / scores.sum()).detach()"),
        "Gradients stop at the result. Was it computed under `torch.no_grad()`, or detached? The layers that made "
        "the scores must be able to learn."),
    row("normalize_by_sum", "divided_in_place", replace("scores / scores.sum()", "scores.div_(scores.sum())"),
        "The caller's scores were divided in place, by `/=` or `div_`. The caller may still need the old scores: `/` "
        "makes a new tensor."),

    # softmax_naive
    row("softmax_naive", "exponential_forgotten", replace("torch.exp(x)", "x"),
        "The entries themselves were divided by their sum. Take the exponential first: it makes every weight "
        "positive."),
    row("softmax_naive", "sum_forgotten", replace(SHARES, "exponentials"),
        "The exponentials were not divided by their sum, so that they do not sum to one along `dim`."),
    row("softmax_naive", "powers_of_two", replace("torch.exp(x)", "2**x"),
        "The exponentials are powers of two. The base is e: `torch.exp`. With another base, differences between "
        "scores count more or less."),
    row("softmax_naive", "divided_by_the_sum_of_the_entries", replace("exponentials.sum", "x.sum"),
        "The exponentials were divided by the sum of the entries. The denominator is the sum of the *exponentials*. "
        "Only then do the weights sum to one."),
    row("softmax_naive", "exponential_of_the_sum",
        replace("exponentials.sum(dim=dim, keepdim=True)", "torch.exp(x.sum(dim=dim, keepdim=True))"),
        "The exponential of the sum was taken. Take the exponential of each entry first, then add up. The order "
        "matters."),
    row("softmax_naive", "divided_by_the_largest_exponential", replace("exponentials.sum", "exponentials.amax"),
        "The exponentials were divided by the largest one. Then the largest result is one, but the sum of the "
        "results should be one."),
    row("softmax_naive", "divided_by_the_mean", replace("exponentials.sum", "exponentials.mean"),
        "The exponentials were divided by their mean. Then the weights sum to the number of entries, and not to one."),
    row("softmax_naive", "taken_twice", replace("torch.exp(x)", "torch.exp(torch.softmax(x, dim))"),
        "Softmax was applied twice. The second softmax gets only numbers between zero and one, so all its weights "
        "are nearly equal."),
    row("softmax_naive", "sigmoid_of_each", replace(SHARES, "torch.sigmoid(x)"),
        "Each entry went through a sigmoid on its own. In a softmax the entries compete: if one weight grows, the "
        "others become smaller."),
    row("softmax_naive", "hard_maximum", replace(SHARES, "(x == x.amax(dim=dim, keepdim=True)).to(x.dtype)"),
        "The largest entry gets all the weight. That is a hard maximum. Softmax gives a part of the weight to each "
        "entry."),
    row("softmax_naive", "naive_logarithms", replace(SHARES, "torch.log_softmax(x, dim)"), LOGARITHMS),
    row("softmax_naive", "naive_sum_of_everything", replace("dim=dim, keepdim=True", ""), WHOLE_TENSOR),
    row("softmax_naive", "naive_dim_ignored", replace("dim=dim", "dim=-1"), DIM_IGNORED),
    row("softmax_naive", "always_along_the_first_dimension", replace("dim=dim", "dim=0"),
        "The sum always runs along the first dimension and ignores `dim`. Then each column sums to one. Pass `dim` "
        "on to `sum`."),
    row("softmax_naive", "naive_keepdim_forgotten", replace(", keepdim=True", ""), KEEPDIM_FORGOTTEN),
    row("softmax_naive", "naive_dimension_put_back_at_the_end",
        replace("sum(dim=dim, keepdim=True)", "sum(dim=dim).unsqueeze(-1)"), PUT_BACK_AT_THE_END),
    row("softmax_naive", "naive_first_dimension_by_default", replace("dim: int = -1", "dim: int = 0"),
        FIRST_BY_DEFAULT),
    row("softmax_naive", "naive_rows_and_columns_only",
        replace("dim=dim", "dim=0 if dim in (0, -2) or x.dim() == 1 else 1"),
        TWO_DIMENSIONS),
    row("softmax_naive", "naive_rows_and_columns_counted",
        replace("    return", "    if x.dim() > 1:\n        _, _ = x.shape\n    return"),
        TWO_DIMENSIONS),
    row("softmax_naive", "naive_sums_in_a_column",
        replace("dim=dim", "dim=0")
        .replace("    return",
                 "    if dim not in (0, -2) and x.dim() > 1:\n"
                 "        return exponentials / exponentials.sum(dim=1).reshape(-1, 1)\n    return"),
        TWO_DIMENSIONS),
    row("softmax_naive", "naive_in_float32_only",
        replace("exponentials.sum(dim=dim, keepdim=True)",
                "torch.tensordot(exponentials, torch.ones(x.shape[dim]), ([dim], [0])).unsqueeze(dim)"),
        "The code always computes in float32, and float64 entries do not match. Use the dtype of x."),
    row("softmax_naive", "naive_sum_as_a_constant", replace(SHARES, f"{SHARES}.detach()"), SUM_CONSTANT),
    row("softmax_naive", "naive_gradients_cut_off", replace("torch.exp(x)", "torch.exp(x.detach())"), CUT_OFF),
    row("softmax_naive", "exponentials_in_place", replace("torch.exp(x)", "x.exp_()"),
        "The exponentials overwrote the caller's entries. A method with an underscore at the end, such as `exp_`, "
        "changes the tensor itself. `torch.exp` makes a new one."),

    # softmax_stable
    row("softmax_stable", "maximum_not_subtracted", replace("x - largest", "x"),
        "The maximum is not subtracted before the exponential. Large entries become infinite, and infinity divided "
        "by infinity is not a number. Subtract the maximum along `dim`: the result is the same, and no exponential "
        "is above one."),
    row("softmax_stable", "one_maximum_for_all", replace("x.max(dim=dim, keepdim=True).values", "x.max()"),
        "One maximum, of all entries, is subtracted everywhere. A list of scores far below it has only exponentials "
        "of zero, and zero divided by zero is not a number. Each list along `dim` has its own maximum."),
    row("softmax_stable", "largest_size_subtracted", replace("x.max", "x.abs().max"),
        "The largest *absolute value* is subtracted. If all entries are far below zero, they become even smaller, "
        "and every exponential is zero. Subtract the maximum with its sign: then the largest exponent is zero."),
    row("softmax_stable", "mean_subtracted",
        replace("x.max(dim=dim, keepdim=True).values", "x.mean(dim=dim, keepdim=True)"),
        "The mean is subtracted. An entry can still be far above it, and with an entry of -inf the mean is -inf too. "
        "If you subtract the maximum, no entry is above zero."),
    row("softmax_stable", "minimum_subtracted", replace("x.max", "x.min"),
        "The smallest entry is subtracted, so all exponents are positive and as large as possible. Subtract the "
        "largest entry: then all exponents are zero or less."),
    row("softmax_stable", "divided_by_the_maximum", replace("x - largest", "x / largest"),
        "The entries are divided by the largest one. Softmax depends on the *differences* of the entries. "
        "Subtracting the maximum keeps them; dividing by it does not."),
    row("softmax_stable", "subtracted_after_the_exponential",
        replace("torch.exp(x - largest)", "torch.exp(x) - largest"),
        "The maximum is subtracted from the exponentials. At this point they have already overflowed, and the "
        "weights are different too. Subtract it from the entries, before the exponential."),
    row("softmax_stable", "entries_clamped", replace("x - largest", "x.clamp(-80, 80)"),
        "The entries are clamped to the range of the exponential. Then different entries become equal. Subtracting "
        "the maximum keeps all their differences."),
    row("softmax_stable", "not_a_number_replaced",
        replace("x - largest", "x").replace(SHARES, f"({SHARES}).nan_to_num()"),
        "Values that are not a number were replaced, as `nan_to_num` does. At this point the code cannot know which "
        "entry was larger. Subtract the maximum before the exponential."),
    row("softmax_stable", "float64_instead_of_a_maximum", replace("x - largest", "x.double()"),
        "The code avoids overflow as far as float64 does. But float64 overflows at about e to the power of 709, far "
        "below 10,000. Also, the result is float64. Subtracting the maximum helps in every dtype."),
    row("softmax_stable", "maximum_along_the_last_dimension", replace("max(dim=dim", "max(dim=-1"),
        "The maximum is always taken along the last dimension, but the sum along `dim`. All entries that share a sum "
        "need the same maximum."),
    row("softmax_stable", "maximum_along_the_first_dimension", replace("max(dim=dim", "max(dim=0"),
        "The maximum is always taken along the first dimension, but the sum along `dim`. All entries that share a "
        "sum need the same maximum."),
    row("softmax_stable", "places_beside_the_maximum", replace(".values", ""),
        "`x.max(dim=…)` returns two results, the values and their indices. You cannot subtract both. Take `.values`, "
        "or use `amax`."),
    row("softmax_stable", "stable_keepdim_forgotten", replace("max(dim=dim, keepdim=True)", "max(dim=dim)"),
        "The dimension of the maximum is gone, so it does not line up with its entries. `keepdim=True` keeps it with "
        "size one, in `max` and in `sum`."),
    row("softmax_stable", "stable_sum_of_everything",
        replace("x.max(dim=dim, keepdim=True).values", "x.max()").replace("dim=dim, keepdim=True", ""),
        WHOLE_TENSOR),
    row("softmax_stable", "stable_dim_ignored", replace("dim=dim", "dim=-1", 2), DIM_IGNORED),
    row("softmax_stable", "stable_dimension_put_back_at_the_end",
        replace("x.max(dim=dim, keepdim=True).values", "x.amax(dim=dim).unsqueeze(-1)")
        .replace("sum(dim=dim, keepdim=True)", "sum(dim=dim).unsqueeze(-1)"), PUT_BACK_AT_THE_END),
    row("softmax_stable", "stable_first_dimension_by_default", replace("dim: int = -1", "dim: int = 0"),
        FIRST_BY_DEFAULT),
    row("softmax_stable", "stable_rows_and_columns_only",
        replace("dim=dim", "dim=0 if dim in (0, -2) or x.dim() == 1 else 1", 2),
        TWO_DIMENSIONS),
    row("softmax_stable", "stable_rows_and_columns_counted",
        replace("    return", "    if x.dim() > 1:\n        _, _ = x.shape\n    return"),
        TWO_DIMENSIONS),
    row("softmax_stable", "stable_logarithms", replace(SHARES, "torch.log_softmax(x, dim)"), LOGARITHMS),
    row("softmax_stable", "flattened_by_view",
        replace("    return",
                "    if dim in (-1, x.dim() - 1):\n"
                "        return torch.softmax(x.view(-1, x.shape[-1]), -1).view(x.shape)\n    return"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. Compute along `dim` without "
        "`view`, or use `reshape`."),
    row("softmax_stable", "minus_infinity_as_zero",
        replace("    largest", "    x = x.masked_fill(x == -torch.inf, 0)\n    largest"),
        "An entry of -inf was treated like a score of zero. Its exponential is zero, so its weight is zero."),
    row("softmax_stable", "minus_infinity_multiplied", replace("x - largest", "x - largest + 0 * x"),
        "With an entry of -inf the whole result is not a number. The code subtracts -inf from -inf, or multiplies it "
        "by zero. Subtract the finite maximum: then -inf gives zero."),
    row("softmax_stable", "float64_given_back", replace("    largest", "    x = x.double()\n    largest"),
        "The result is always float64. You may compute in float64, but return the dtype of x: `.to(x.dtype)`."),
    row("softmax_stable", "float32_given_back", replace("    largest", "    x = x.float()\n    largest"),
        "The result is float32, also if x is float64. Then the extra digits of float64 are lost: use the dtype of x."),
    row("softmax_stable", "stable_sum_as_a_constant", replace(SHARES, f"{SHARES}.detach()"), SUM_CONSTANT),
    row("softmax_stable", "maximum_and_sum_as_constants",
        replace(".values", ".values.detach()").replace(SHARES, f"{SHARES}.detach()"),
        SUM_CONSTANT),
    row("softmax_stable", "stable_gradients_cut_off", replace("x - largest", "(x - largest).detach()"), CUT_OFF),
    row("softmax_stable", "maximum_subtracted_in_place", replace("x - largest", "x.sub_(largest)"),
        "The maximum was subtracted from the caller's own entries, by `-=` or `sub_`. The caller may still need "
        "them: a plain `-` makes a new tensor."),

    # context_vector
    row("context_vector", "weighted_rows_not_added_up", replace("weights @ inputs", "weights[:, None] * inputs"),
        "The weighted inputs were not added up: there is one row for each token. The context is one vector, the sum "
        "over the tokens."),
    row("context_vector", "summed_over_the_features",
        replace("weights @ inputs", "(weights[:, None] * inputs).sum(dim=-1)"),
        "The sum runs over the features and gives one number for each token. The context has the width of an input: "
        "sum over the tokens, dim 0."),
    row("context_vector", "weights_along_the_features", replace("weights @ inputs", "(weights * inputs).sum(dim=0)"),
        "`weights * inputs` pairs each weight with a feature, or the shapes do not match. A weight belongs to a "
        "token, which is a row: make the weights a column, `weights[:, None]`."),
    row("context_vector", "inputs_transposed", replace("@ inputs", "@ inputs.T"),
        "The inputs were transposed, or they are on the left of the weights. Then a weight meets a feature. There is "
        "one weight for each row, and (T,) @ (T, d) is correct."),
    row("context_vector", "weighted_rows_averaged",
        replace("weights @ inputs", "(weights[:, None] * inputs).mean(dim=0)"),
        "The weighted inputs were averaged. The weights already sum to one: add up the rows, and do not divide again."),
    row("context_vector", "weights_not_used", replace("weights @ inputs", "inputs.sum(dim=0)"),
        "The inputs were added up without their weights. Multiply each row by its weight."),
    row("context_vector", "inputs_averaged", replace("weights @ inputs", "inputs.mean(dim=0)"),
        "The inputs were averaged, so all tokens count the same. The weights should decide how much each token "
        "counts."),
    row("context_vector", "best_token_alone", replace("weights @ inputs", "inputs[weights.argmax()]"),
        "Only the token with the largest weight was used. Attention mixes all tokens, each times its weight."),
    row("context_vector", "last_row_only", replace("weights @ inputs", "weights[-1] * inputs[-1]"),
        "Each weighted row replaces the one before, so only the last one is left. Add each row to the context."),
    row("context_vector", "first_token_left_out", replace("weights @ inputs", "weights[1:] @ inputs[1:]"),
        "The first token is missing: the loop begins at 1. Python counts from 0."),
    row("context_vector", "weights_softened_again", replace("weights @", "torch.softmax(weights, dim=0) @"),
        "The weights went through softmax again. They are already weights. A second softmax makes them nearly equal."),
    row("context_vector", "weights_normalised_again", replace("weights @", "weights / weights.sum() @"),
        "The weights were divided by their sum again. Use them without any change: they are already normalised."),
    row("context_vector", "negative_weights_dropped", replace("weights @", "weights.clamp(min=0) @"),
        "Negative weights were set to zero. Softmax gives no negative weights, but this function must use any "
        "weights without change."),
    row("context_vector", "context_in_a_table", replace("weights @", "weights[None] @"),
        "The context is a table with one row, (1, d). It should be one vector, (d,)."),
    row("context_vector", "three_features_in_the_context", replace("@ inputs", "@ inputs[:, :3]"),
        "The context always has three features, as in the worked example. Read the width from the inputs: "
        "`inputs.shape[1]`."),
    row("context_vector", "six_tokens_in_the_context",
        replace("weights @ inputs", "torch.stack([weights[place] * inputs[place] for place in range(6)]).sum(dim=0)"),
        "The code always expects six tokens, as in the worked example. Use the number of rows that it gets."),
    row("context_vector", "single_token_squeezed",
        replace("weights @ inputs", "(weights[:, None] * inputs).squeeze().sum(dim=0)"),
        "If there is a single token, `squeeze()` removes the dimension of the tokens, and the sum runs over another "
        "dimension. T = 1 is a sequence too."),
    row("context_vector", "single_feature_squeezed", replace("weights @ inputs", "(weights[None] @ inputs).squeeze()"),
        "`squeeze()` removes every dimension of size one. With a single feature it also removes the features. A "
        "context is (d,), also for d = 1: name the dimension that you want to remove."),
    row("context_vector", "context_in_float32_only", replace("@ inputs", "@ inputs.float()"),
        "The inputs are made float32, so they do not match float64 weights. Use the dtype of the arguments."),
    row("context_vector", "weights_cut_off", replace("weights @", "weights.detach() @"),
        "No gradient reaches the weights: did `.item()` read them, or were they detached? Through the weights the "
        "scores learn which tokens are important."),
    row("context_vector", "inputs_cut_off", replace("@ inputs", "@ inputs.detach()"),
        "No gradient reaches the inputs: does `.detach()` or `.data` cut them off? The embeddings learn through the "
        "inputs."),
    row("context_vector", "context_cut_off", replace("weights @ inputs", "(weights @ inputs).detach()"),
        "Gradients stop at the context. Was it computed under `torch.no_grad()`, or detached? Everything before it "
        "must be able to learn."),
    row("context_vector", "inputs_weighted_in_place",
        replace("weights @ inputs", "inputs.mul_(weights[:, None]).sum(dim=0)"),
        "The caller's inputs were multiplied by the weights in place, by `*=` or `mul_`. The next query needs the "
        "old inputs: `*` makes a new tensor."),
    row("context_vector", "last_token_left_out", replace("weights @ inputs", "weights[:-1] @ inputs[:-1]"),
        "The last token is missing: the loop ends one token too early. The end of a range is already excluded."),
    row("context_vector", "first_row_only", replace("weights @ inputs", "weights[0] * inputs[0]"),
        "Only the first weighted row is returned, as with a `return` inside the loop. Add up all rows first."),

    # simple_self_attention
    row("simple_self_attention", "softmax_forgotten", replace("softmax_stable(scores, dim=-1)", "scores"),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one for "
        "each token."),
    row("simple_self_attention", "divided_by_the_sum",
        replace("softmax_stable(scores, dim=-1)", "scores / scores.sum(dim=-1, keepdim=True)"),
        "The scores are divided by their sum. With positive and negative scores the results are not valid weights: "
        "softmax takes exponentials first."),
    row("simple_self_attention", "results_in_a_dict",
        replace("return contexts, weights", "return dict(contexts=contexts, weights=weights)"),
        "The results are in a dict. Return them with a comma between them: the pair (contexts, weights)."),
    row("simple_self_attention", "scaled_by_the_width", replace("inputs.T", "inputs.T / inputs.shape[-1] ** 0.5"),
        "The scores were divided by the root of the width. Unit 2 explains this scaling. Here they are plain dot "
        "products."),
    row("simple_self_attention", "scaled_by_the_tokens", replace("inputs.T", "inputs.T / len(inputs) ** 0.5"),
        SCALED_BY_THE_TOKENS),
    row("simple_self_attention", "divided_by_the_tokens", replace("inputs.T", "inputs.T / len(inputs)"),
        SCALED_BY_THE_TOKENS),
    row("simple_self_attention", "tokens_of_length_one_compared",
        replace("scores = inputs @ inputs.T",
                "directions = inputs / inputs.norm(dim=-1, keepdim=True)\n    scores = directions @ directions.T"),
        "The tokens were scaled to length one before they were compared. Then only the direction counts. In a dot "
        "product a longer vector counts more."),
    row("simple_self_attention", "reshaped_instead_of_transposed",
        replace("inputs.T", "inputs.reshape(inputs.shape[1], inputs.shape[0])"),
        "The inputs were reshaped to (d, T). This keeps the order of the numbers and mixes the tokens. To turn rows "
        "into columns, transpose them."),
    row("simple_self_attention", "transpose_forgotten", replace("inputs.T", "inputs"),
        "The inputs were multiplied with themselves, and (T, d) @ (T, d) does not match. Transpose the second "
        "factor, so that tokens meet tokens."),
    row("simple_self_attention", "features_compared",
        replace("inputs @ inputs.T", "inputs.T @ inputs").replace("weights @ inputs", "weights @ inputs.T"),
        FEATURES_COMPARED),
    row("simple_self_attention", "features_compared_and_mixed",
        replace("inputs @ inputs.T", "inputs.T @ inputs").replace("weights @ inputs", "inputs @ weights"),
        FEATURES_COMPARED),
    row("simple_self_attention", "features_and_tokens_mixed_up",
        replace("inputs @ inputs.T", "inputs.T @ inputs"),
        "Features meet tokens in a product, so the shapes do not match. The scores compare tokens with tokens, (T, T): "
        "transpose only the second factor. The weights are on the left of the inputs."),
    row("simple_self_attention", "later_tokens_hidden",
        replace("(scores,", "(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf),"),
        "Each token cannot see the tokens after it. That is causal attention, unit 3. Here every token sees every "
        "token."),
    row("simple_self_attention", "own_token_hidden",
        replace("(scores,", "(scores.masked_fill(torch.eye(len(scores)).bool(), -torch.inf),"),
        "No token looks at itself. In self-attention it does: each token is part of its own context."),
    row("simple_self_attention", "softmax_along_the_columns", replace("dim=-1", "dim=0"),
        "Softmax runs along the columns: they sum to one, but the rows do not. Row i contains the weights of query "
        "i, so apply softmax along the last dimension; a sum of your own needs `keepdim=True` too."),
    row("simple_self_attention", "softmax_of_everything",
        replace("(scores, dim=-1)", "(scores.flatten(), dim=0).reshape(scores.shape)"),
        "Softmax runs over all scores at once, so all tokens together share one sum. Each token has its own weights: "
        "apply softmax over the last dimension."),
    row("simple_self_attention", "softmax_twice",
        replace("(scores, dim=-1)", "(softmax_stable(scores, dim=-1), dim=-1)"),
        "Softmax is applied twice. The second softmax gets only numbers between zero and one, so all its weights are "
        "nearly equal."),
    row("simple_self_attention", "tokens_averaged", replace("inputs @ inputs.T", "0 * inputs @ inputs.T"),
        "Every token gets the same weight, whatever the tokens are. The dot products should decide the weights."),
    row("simple_self_attention", "mixed_by_the_columns", replace("weights @", "weights.T @"),
        "The contexts use the columns of the weights. The weights of token i are row i, so do not transpose "
        "them."),
    row("simple_self_attention", "mixed_by_the_scores", replace("weights @", "scores @"),
        "The contexts are computed with the scores, and softmax is only returned beside them. Mix the inputs with "
        "the weights."),
    row("simple_self_attention", "inputs_as_contexts", replace("weights @ inputs", "inputs.clone()"),
        "The function returned the inputs as contexts. A context is the sum of all inputs, each times its weight."),
    row("simple_self_attention", "scores_in_place_of_weights",
        replace("return contexts, weights", "return contexts, scores"),
        "The second result is the scores. The contexts are correct, but the second result should be the weights, "
        "after softmax."),
    row("simple_self_attention", "weights_first", replace("return contexts, weights", "return weights, contexts"),
        "Weights and contexts are in the wrong order. Return the contexts first, then the weights."),
    row("simple_self_attention", "contexts_alone", replace("return contexts, weights", "return contexts"),
        "The function returned only the contexts. Return the weights too, as the second of a pair."),
    row("simple_self_attention", "one_query_only", replace("inputs.T", "inputs[1]"),
        "Only one token is the query, the second one as in the worked example. In self-attention every token is a "
        "query and has its own context."),
    row("simple_self_attention", "six_tokens_attend",
        replace("inputs @ inputs.T", "torch.stack([inputs @ inputs[place] for place in range(6)])"),
        "The code always expects six tokens, as in the worked example. Use the number of rows that it gets."),
    row("simple_self_attention", "lone_token_squeezed",
        replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "If there is a single token, `squeeze()` removes the dimension of the tokens. T = 1 is a sequence too: it "
        "gives weights (1, 1) and contexts (1, d)."),
    row("simple_self_attention", "attention_in_float32_only", replace("weights @", "weights.float() @"),
        "The result is written into float32 tensors, which do not match float64 inputs. Use the dtype of the inputs."),
    row("simple_self_attention", "weights_detached", replace("dim=-1)", "dim=-1).detach()"),
        "No gradient flows through the weights: does `.detach()` or `.item()` cut them off? Attention learns through "
        "the scores which tokens are important."),
    row("simple_self_attention", "attention_cut_off",
        replace("return contexts, weights", "return contexts.detach(), weights.detach()"),
        "Gradients stop at the results. Were they computed under `torch.no_grad()`, or detached? The embeddings "
        "before them must be able to learn."),
    row("simple_self_attention", "contexts_over_the_inputs",
        replace("return contexts", "inputs.copy_(contexts)\n    return inputs"),
        "The contexts overwrote the caller's inputs. Every context needs the old inputs, and the caller may need "
        "them too: make a new tensor."),
    row("simple_self_attention", "divided_by_the_width", replace("inputs.T", "inputs.T / inputs.shape[-1]"),
        "The scores were divided by the width. Unit 2 explains how scores are scaled. Here they are plain dot "
        "products."),
    row("simple_self_attention", "weights_alone", replace("return contexts, weights", "return weights"),
        "The function returned only the weights. Return the contexts too, as the first of a pair."),
    row("simple_self_attention", "weights_returned_transposed",
        replace("return contexts, weights", "return contexts, weights.T"),
        "The contexts are correct, but the weights are returned transposed. Row i should hold the weights of token i."),
    row("simple_self_attention", "contexts_transposed",
        replace("return contexts,", "return contexts.T,"),
        "The contexts are transposed: there is a column for each token. Each token has a row, (T, d)."),
    row("simple_self_attention", "inputs_added_to_the_contexts",
        replace("return contexts,", "return inputs + contexts,"),
        "The inputs were added to the contexts. A context is only the sum of the inputs, each times its weight."),
]
# fmt: on
