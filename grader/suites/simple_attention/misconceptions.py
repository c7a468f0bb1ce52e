"""Unit 1: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

SHARES = "exponentials / exponentials.sum(dim=dim, keepdim=True)"  # what both softmaxes return

REFUSED_OTHERWISE = (
    "The refusal of different lengths is of another kind than agreed. Callers tell errors by their type, and here "
    "that is ValueError or AssertionError."
)
NO_BEGINNING = (
    "The sum begins with the first product, and where there is none, the code fails. Begin with 0, which is the "
    "result for two empty sequences."
)
NO_TENSORS = (
    "Lists do, and tensors end in an error: they are not let in, or asked what only lists can answer, as in `if not "
    "a`. Whatever has numbers at its places will do; `len(a)` says how many."
)
NO_LISTS = (
    "Only tensors are understood. Lists and tuples do not multiply entry by entry: go through the places of both in a "
    "loop, which suits all of them."
)
MEAN = "The sum was divided by the number of places. That is a mean; a dot product is the sum itself."
COSINE = (
    "The result was divided by the lengths of both vectors. That is the cosine of the angle between them; the dot "
    "product lets a long vector count for more."
)
CUT_OFF_BY_INT = (
    "The fractions were cut off by `int`. The numbers of an embedding are small, and nearly all of them is behind the "
    "point."
)
EATEN_UP = (
    "The caller's lists are eaten up by `pop`, or their entries overwritten. Read the numbers and leave them where "
    "they are: somebody may want them afterwards."
)
A_LIST = (
    "The scores came as a list of numbers. Put them into a tensor, (T,), with which others can compute and through "
    "which gradients flow."
)
STANDARDISED = (
    "The scores were brought to mean zero and deviation one. That is standardising; shares are the scores divided by "
    "their sum."
)
DIM_IGNORED = (
    "The sum always runs along the last dimension, whatever `dim` says. Hand it on: `sum(dim=dim, keepdim=True)`."
)
WHOLE_TENSOR = (
    "The exponentials are divided by the sum of all of them. Each list of scores along `dim` has a sum of its own, so "
    "that each sums to one."
)
KEEPDIM_FORGOTTEN = (
    "The summed dimension is gone, so that the sums do not stand below what they belong to: an error, or worse, other "
    "numbers. `keepdim=True` leaves it there with size one."
)
FIRST_BY_DEFAULT = (
    "Without `dim` the sum runs along the first dimension. The default is the last, `dim=-1`: there the scores of one "
    "query lie."
)
TWO_DIMENSIONS = (
    "The code knows rows and columns, and no third dimension. `sum(dim=dim, keepdim=True)` and division work for any "
    "number of them."
)
LOGARITHMS = "These are the logarithms of the shares. They are useful in a loss; weights are the shares themselves."
SUM_CONSTANT = (
    "Gradients take the sum below the line for a constant: it was detached, or taken out by `.item()`. Each entry is "
    "part of it, and lowers the shares of all others when it grows."
)
CUT_OFF = (
    "Gradients stop at the result, which was computed under `torch.no_grad()` or detached. The scores behind it are "
    "what is to learn."
)
SCALED_BY_THE_TOKENS = (
    "The scores were divided by the number of tokens, or its root. They are the plain dot products here, and a dot "
    "product sums over the features anyway."
)
FEATURES_COMPARED = (
    "Features were compared with features: the scores are (d, d). The first of the two stays as it is, `inputs @ "
    "inputs.T`, so that tokens meet tokens."
)

CALLS = {"simple_self_attention": ["softmax_stable"]}

# fmt: off
ROWS = [
    # dot_product
    row("dot_product", "longer_end_dropped",
        replace("len(a) != len(b)", "False").replace("strict=True", "strict=False"),
        "Where one sequence is longer, its end counts for nothing, in silence: that comes of `zip`, of the smaller of "
        "the two lengths, or of zeros behind the shorter. A dot product of different lengths has no meaning: raise an "
        "error."),
    row("dot_product", "lengths_never_compared",
        replace("len(a) != len(b)", "False")
        .replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("x * y", "a[place] * b[place]"),
        "The loop counts the entries of the first sequence and never asks about the second. Where that is shorter, an "
        "IndexError comes out of the loop, and where it is longer, nothing at all. Compare the lengths first."),
    row("dot_product", "only_a_longer_first_refused", replace("!=", ">").replace("strict=True", "strict=False"),
        "Only one of the two ways in which lengths can differ is refused. The second sequence may be the longer one, "
        "and it may be the shorter one: ask whether they are not equal."),
    row("dot_product", "different_lengths_give_none",
        replace('raise ValueError(f"the lengths differ: {len(a)} and {len(b)}")', "return None"),
        "Different lengths are reported by a result, such as None or 0, instead of an error. A result is easily "
        "computed on with; an error cannot be overlooked."),
    row("dot_product", "lengths_refused_with_another_error", replace("ValueError", "TypeError"), REFUSED_OTHERWISE),
    row("dot_product", "lengths_refused_with_any_exception", replace("ValueError", "Exception"), REFUSED_OTHERWISE),
    row("dot_product", "lengths_refused_with_an_index_error", replace("ValueError", "IndexError"), REFUSED_OTHERWISE),
    row("dot_product", "single_number_stretched",
        replace("    if", "    if len(a) == 1:\n        a = [a[0]] * len(b)\n    if"),
        "A sequence of one number is stretched to the length of the other, as tensors do when they are multiplied. "
        "Every difference of lengths is to be refused, this one too."),
    row("dot_product", "empty_sequences_refused", replace("!= len(b):", "!= len(b) or len(a) == 0:"),
        "Empty sequences are refused. There is nothing to add up, and a sum of nothing is 0; only a difference of "
        "lengths is an error."),
    row("dot_product", "sum_begins_with_the_first_product",
        replace("total = 0", "total = a[0] * b[0]").replace("zip(a, b,", "zip(a[1:], b[1:],"),
        NO_BEGINNING),
    row("dot_product", "products_reduced_without_a_beginning",
        replace("total = 0", "from functools import reduce")
        .replace("for x, y in zip(a, b, strict=True):\n        total = total + x * y\n    return total",
                 "return reduce(lambda total, x: total + x, [x * y for x, y in zip(a, b, strict=True)])"),
        NO_BEGINNING),
    row("dot_product", "none_for_empty_sequences", replace("return total", "return total if len(a) else None"),
        "For empty sequences None comes back. A sum of nothing is 0, and whoever computes on needs a number."),
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
        "The products were not added up. A dot product is one number, the sum of the products at all places."),
    row("dot_product", "returned_inside_the_loop",
        replace("    return total\n", "").replace("total = total +", "return total +"),
        "The result is returned inside the loop, so that only the first product counts. The `return` belongs behind "
        "the loop, as far to the left as its `for`."),
    row("dot_product", "only_the_last_product", replace("total + x * y", "x * y"),
        "Each product replaces the one before, and only the last is left. Add each to the total: `total = total + x * "
        "y`."),
    row("dot_product", "last_place_left_out", replace("zip(a, b,", "zip(a[:-1], b[:-1],"),
        "The last place is left out. `range(n)` ends before n by itself, so there is no one to subtract."),
    row("dot_product", "first_place_left_out", replace("zip(a, b,", "zip(a[1:], b[1:],"),
        "The first place is left out. Places are counted from 0 in Python, so that is where the loop begins."),
    row("dot_product", "added_instead_of_multiplied", replace("x * y", "x + y"),
        "The numbers at each place were added. Multiply them, and add up the products."),
    row("dot_product", "every_number_with_every_other",
        replace("zip(a, b, strict=True)", "((x, y) for x in a for y in b)"),
        "Every number of the first was multiplied with every number of the second. Only those that stand at the same "
        "place belong together: one loop, not one in another."),
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
        "Every product counts as positive. Products below zero are how a dot product says that two vectors disagree."),
    row("dot_product", "fractions_cut_off", replace("x * y", "int(x * y)"), CUT_OFF_BY_INT),
    row("dot_product", "fraction_of_the_sum_cut_off", replace("return total", "return int(total)"), CUT_OFF_BY_INT),
    row("dot_product", "fractions_of_the_numbers_cut_off", replace("x * y", "int(x) * int(y)"), CUT_OFF_BY_INT),
    row("dot_product", "printed_instead_of_returned", replace("    return total\n", ""),
        "The result was printed, and None came back. What others are to compute with has to be returned."),
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

    # attention_scores
    row("attention_scores", "products_of_each_feature", replace("inputs @ query", "query * inputs"),
        "The products were not added up, so there is a row for each token and not a number. A dot product sums over "
        "the features: the last dim."),
    row("attention_scores", "summed_over_the_tokens", replace("inputs @ query", "(query * inputs).sum(dim=0)"),
        "The sum runs over the tokens and leaves one number for each feature. A score belongs to a token, so sum over "
        "its features: `dim=-1`."),
    row("attention_scores", "one_score_for_all", replace("inputs @ query", "(query * inputs).sum()"),
        "The sum runs over everything and leaves a single number. Each token has a score of its own: sum over its "
        "features alone."),
    row("attention_scores", "multiplied_with_the_columns", replace("inputs @ query", "query @ inputs"),
        "`query @ inputs` multiplies the query with columns of the inputs. Tokens are rows, so the inputs stand on the "
        "left, or are transposed."),
    row("attention_scores", "every_token_as_the_query", replace("@ query", "@ inputs.T"),
        "All tokens were scored with all tokens, and the query was not used. Here one token asks: there is one score "
        "for each input."),
    row("attention_scores", "second_input_as_the_query", replace("@ query", "@ inputs[1]"),
        "The query is always one of the inputs, taken from them by its number. The query that was handed in may be any "
        "vector: use that."),
    row("attention_scores", "scaled_already", replace("@ query", "@ query / len(query) ** 0.5"),
        "The scores were divided by the root of the width. That belongs to unit 2; here a score is the plain dot "
        "product."),
    row("attention_scores", "averaged_over_the_features", replace("inputs @ query", "(inputs * query).mean(dim=-1)"),
        "The products were averaged over the features. A dot product is their sum."),
    row("attention_scores", "weights_instead_of_scores",
        replace("inputs @ query", "torch.softmax(inputs @ query, dim=-1)"),
        "Softmax was taken already, so these are weights. Scores come first: plain dot products, of any size and "
        "sign."),
    row("attention_scores", "normalised_already", replace("inputs @ query", "inputs @ query / (inputs @ query).sum()"),
        "The scores were divided by their sum already. Scores are the dot products as they are; shares are made of "
        "them in the next exercise."),
    row("attention_scores", "cosines_as_scores",
        replace("inputs @ query", "torch.cosine_similarity(inputs, query[None], dim=-1)"),
        "The vectors were brought to length one first. That compares directions alone; in a dot product a longer "
        "vector counts for more."),
    row("attention_scores", "distances_as_scores", replace("inputs @ query", "(inputs - query).norm(dim=-1)"),
        "The distances from the query were measured. They are small where two vectors are alike; a dot product is "
        "large there."),
    row("attention_scores", "three_features_only", replace("inputs @ query", "inputs[:, :3] @ query[:3]"),
        "Only the first three features count, as many as the worked example has. Other embeddings are wider: sum over "
        "all of them."),
    row("attention_scores", "six_tokens_only",
        replace("inputs @ query", "torch.stack([inputs[place] @ query for place in range(6)])"),
        "There are always six scores, as many as the worked example has tokens. Read off the inputs how many rows "
        "there are."),
    row("attention_scores", "scores_in_a_column", replace("@ query", "@ query[:, None]"),
        "The scores came as a column, (T, 1). What is asked for has one dimension, (T,), with one score for each "
        "token."),
    row("attention_scores", "list_of_scores", replace("inputs @ query", "[row @ query for row in inputs]"), A_LIST),
    row("attention_scores", "list_of_plain_numbers",
        replace("inputs @ query", "[float(row @ query) for row in inputs]"),
        A_LIST),
    row("attention_scores", "squeezed_too_much", replace("inputs @ query", "(inputs @ query[:, None]).squeeze()"),
        "`squeeze()` drops every dimension of size one, also that of the tokens where there is a single one. Drop the "
        "one that you mean, by its number."),
    row("attention_scores", "scores_in_float32_only", replace("inputs @", "inputs.float() @"),
        "The inputs are made float32, which then do not fit a float64 query. Let the arguments decide about the "
        "dtype."),
    row("attention_scores", "scores_cut_off", replace("inputs @ query", "(inputs @ query).detach()"),
        "Gradients stop at the scores: the numbers were taken out of their tensors, by `.item()`, `.numpy()` or "
        "`torch.tensor([…])`, or computed under `no_grad`. Compute with tensors, and use `torch.stack` to join them."),
    row("attention_scores", "query_cut_off", replace("@ query", "@ query.detach()"),
        "No gradient reaches the query, which was cut off by `.detach()`, `.data` or `.item()`. Later the query has "
        "weights behind it that learn."),
    row("attention_scores", "inputs_multiplied_in_place", replace("inputs @ query", "inputs.mul_(query).sum(dim=-1)"),
        "The caller's inputs were multiplied in place, by `*=` or `mul_`. The next step needs them as they were: `*` "
        "makes a new tensor."),

    # normalize_by_sum
    row("normalize_by_sum", "softmax_instead_of_division",
        replace("scores / scores.sum()", "torch.softmax(scores, dim=-1)"),
        "That is softmax already. Here the scores themselves are divided by their sum; what is wrong with that comes "
        "out in the next exercise."),
    row("normalize_by_sum", "divided_by_the_largest", replace("scores.sum()", "scores.max()"),
        "The scores were divided by the largest of them. Then the largest becomes one; it is their sum that should."),
    row("normalize_by_sum", "divided_by_their_number", replace("scores.sum()", "len(scores)"),
        "The scores were divided by how many there are. That is not yet a share: divide by their sum, and they sum to "
        "one."),
    row("normalize_by_sum", "divided_by_the_euclidean_length", replace("scores.sum()", "scores.norm()"),
        "The scores were divided by the root of the sum of their squares. That gives a vector of length one; shares "
        "sum to one, so divide by the plain sum."),
    row("normalize_by_sum", "divided_by_the_sum_of_sizes", replace("scores.sum()", "scores.abs().sum()"),
        "The sum below the line is that of the sizes, without signs. With scores below zero among them the results "
        "then no longer sum to one."),
    row("normalize_by_sum", "negative_scores_dropped",
        replace("scores / scores.sum()", "scores.clamp(min=0) / scores.clamp(min=0).sum()"),
        "Scores below zero were set to zero. Here they count as they are; what shares below zero mean is a question "
        "for the next exercise."),
    row("normalize_by_sum", "smallest_subtracted_first",
        replace("scores / scores.sum()", "(scores - scores.min()) / (scores - scores.min()).sum()"),
        "The smallest score was subtracted first. The result then tells how far each is above the smallest; divide the "
        "scores as they are."),
    row("normalize_by_sum", "standardised", replace("scores / scores.sum()", "(scores - scores.mean()) / scores.std()"),
        STANDARDISED),
    row("normalize_by_sum", "standardised_by_the_biased_deviation",
        replace("scores / scores.sum()", "(scores - scores.mean()) / scores.std(correction=0)"),
        STANDARDISED),
    row("normalize_by_sum", "not_divided", replace("scores / scores.sum()", "scores.clone()"),
        "The scores came back as they were. Divide them by their sum."),
    row("normalize_by_sum", "sum_alone", replace("scores / scores.sum()", "scores.sum()"),
        "The sum itself came back. It belongs below the line: each score is divided by it."),
    row("normalize_by_sum", "six_scores_only",
        replace("return scores", "return torch.stack([scores[place] for place in range(6)])"),
        "There are always six scores for this code, as many as the worked example has. Take as many as there are."),
    row("normalize_by_sum", "shape_squeezed_away",
        replace("scores / scores.sum()", "(scores / scores.sum()).squeeze()"),
        "`squeeze()` drops the only dimension where there is a single score. The shape stays (T,), also for T = 1."),
    row("normalize_by_sum", "sum_in_float32_only",
        replace("scores.sum()", "torch.dot(torch.ones(len(scores)), scores)"),
        "What is computed with is always float32, and float64 scores do not fit in. Let the scores decide about the "
        "dtype."),
    row("normalize_by_sum", "sum_as_a_constant", replace("sum()", "sum().item()"),
        "The sum was taken out of its tensor by `.item()` or `.detach()`, so gradients take it for a constant. It is "
        "made of the scores: when one of them grows, every share changes."),
    row("normalize_by_sum", "shares_cut_off", replace("scores / scores.sum()", "(scores / scores.sum()).detach()"),
        "Gradients stop at the result, which was computed under `torch.no_grad()` or detached. What made the scores is "
        "to learn through it."),
    row("normalize_by_sum", "divided_in_place", replace("scores / scores.sum()", "scores.div_(scores.sum())"),
        "The caller's scores were divided in place, by `/=` or `div_`. Whoever called still wants them as they were: "
        "`/` makes a new tensor."),

    # softmax_naive
    row("softmax_naive", "exponential_forgotten", replace("torch.exp(x)", "x"),
        "The entries themselves were divided by their sum. The exponential comes first: it makes every share "
        "positive."),
    row("softmax_naive", "sum_forgotten", replace(SHARES, "exponentials"),
        "The exponentials were not divided by their sum, so that they do not sum to one along `dim`."),
    row("softmax_naive", "powers_of_two", replace("torch.exp(x)", "2**x"),
        "The exponentials are powers of two. The base is e: `torch.exp`. With another one every lead counts for less "
        "or for more."),
    row("softmax_naive", "divided_by_the_sum_of_the_entries", replace("exponentials.sum", "x.sum"),
        "The exponentials were divided by the sum of the entries. Below the line stands the sum of the *exponentials*, "
        "and only so the shares sum to one."),
    row("softmax_naive", "exponential_of_the_sum",
        replace("exponentials.sum(dim=dim, keepdim=True)", "torch.exp(x.sum(dim=dim, keepdim=True))"),
        "The exponential was taken of the sum. First each entry has its exponential, then they are summed: the two do "
        "not change places."),
    row("softmax_naive", "divided_by_the_largest_exponential", replace("exponentials.sum", "exponentials.amax"),
        "The exponentials were divided by the largest of them. Then the largest becomes one; it is their sum that "
        "should."),
    row("softmax_naive", "divided_by_the_mean", replace("exponentials.sum", "exponentials.mean"),
        "The exponentials were divided by their mean. The shares then sum to how many there are, and not to one."),
    row("softmax_naive", "taken_twice", replace("torch.exp(x)", "torch.exp(torch.softmax(x, dim))"),
        "Softmax was taken twice. The second one sees only numbers between zero and one, and makes all shares nearly "
        "equal."),
    row("softmax_naive", "sigmoid_of_each", replace(SHARES, "torch.sigmoid(x)"),
        "Each entry was put through a sigmoid on its own. In a softmax the entries compete: what one gains, the others "
        "lose."),
    row("softmax_naive", "hard_maximum", replace(SHARES, "(x == x.amax(dim=dim, keepdim=True)).to(x.dtype)"),
        "The largest entry gets everything. That is a hard maximum; the soft one gives each entry its share."),
    row("softmax_naive", "naive_logarithms", replace(SHARES, "torch.log_softmax(x, dim)"), LOGARITHMS),
    row("softmax_naive", "naive_sum_of_everything", replace("dim=dim, keepdim=True", ""), WHOLE_TENSOR),
    row("softmax_naive", "naive_dim_ignored", replace("dim=dim", "dim=-1"), DIM_IGNORED),
    row("softmax_naive", "always_along_the_first_dimension", replace("dim=dim", "dim=0"),
        "The sum always runs along the first dimension, whatever `dim` says. That is one list of scores for each "
        "column; hand `dim` on to `sum`."),
    row("softmax_naive", "naive_keepdim_forgotten", replace(", keepdim=True", ""), KEEPDIM_FORGOTTEN),
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
        "What is computed with is always float32, and float64 entries do not fit in. Let x decide about the dtype."),
    row("softmax_naive", "naive_sum_as_a_constant", replace(SHARES, f"{SHARES}.detach()"), SUM_CONSTANT),
    row("softmax_naive", "naive_gradients_cut_off", replace("torch.exp(x)", "torch.exp(x.detach())"), CUT_OFF),
    row("softmax_naive", "exponentials_in_place", replace("torch.exp(x)", "x.exp_()"),
        "The exponentials were written over the caller's entries: a method whose name ends in an underscore, such as "
        "`exp_`, works on the tensor itself. `torch.exp(x)` makes a new one."),

    # softmax_stable
    row("softmax_stable", "maximum_not_subtracted", replace("x - largest", "x"),
        "The maximum is not subtracted before the exponential, so large entries become infinite, and infinity over "
        "infinity is not a number. Subtract it, along `dim`: the result is the same, and no exponential exceeds one."),
    row("softmax_stable", "one_maximum_for_all", replace("x.max(dim=dim, keepdim=True).values", "x.max()"),
        "One maximum, that of all entries, is subtracted everywhere. A list of scores far below it then has only "
        "exponentials of zero, and zero over zero is not a number. Each list has a maximum of its own, along `dim`."),
    row("softmax_stable", "largest_size_subtracted", replace("x.max", "x.abs().max"),
        "The largest *size* is subtracted. Where all entries are far below zero that takes them further down, until "
        "every exponential is zero. The maximum, with its sign, is what brings the largest exponent to zero."),
    row("softmax_stable", "mean_subtracted",
        replace("x.max(dim=dim, keepdim=True).values", "x.mean(dim=dim, keepdim=True)"),
        "The mean is subtracted. An entry can still lie far above it, and beside an entry of -inf there is no mean. "
        "The maximum leaves nothing above zero."),
    row("softmax_stable", "minimum_subtracted", replace("x.max", "x.min"),
        "The smallest entry is subtracted, so that all exponents are positive and as large as can be. It is the "
        "largest that has to go to zero."),
    row("softmax_stable", "divided_by_the_maximum", replace("x - largest", "x / largest"),
        "The entries are divided by the largest of them. A share depends on the *differences* of the entries: they "
        "survive when the maximum is subtracted, and not when it divides."),
    row("softmax_stable", "subtracted_after_the_exponential",
        replace("torch.exp(x - largest)", "torch.exp(x) - largest"),
        "The maximum is subtracted from the exponentials. By then they have overflowed, and the shares are others: "
        "subtract it from the entries, before the exponential."),
    row("softmax_stable", "entries_clamped", replace("x - largest", "x.clamp(-80, 80)"),
        "The entries are clamped to what the exponential can take. That makes different entries equal; a shift by the "
        "maximum keeps all their differences."),
    row("softmax_stable", "not_a_number_replaced",
        replace("x - largest", "x").replace(SHARES, f"({SHARES}).nan_to_num()"),
        "What is not a number was replaced afterwards, by `nan_to_num` or the like. By then it is lost which entry was "
        "the larger; subtract the maximum before the exponential."),
    row("softmax_stable", "float64_instead_of_a_maximum", replace("x - largest", "x.double()"),
        "float64 is to save the exponential. It ends at about e to the power of 709, far below 10,000, and the result "
        "comes back as float64. Subtracting the maximum helps in every dtype."),
    row("softmax_stable", "maximum_along_the_last_dimension", replace("max(dim=dim", "max(dim=-1"),
        "The maximum is always taken along the last dimension, and the sum along `dim`. What is subtracted has to be "
        "the same for all entries that share a sum."),
    row("softmax_stable", "maximum_along_the_first_dimension", replace("max(dim=dim", "max(dim=0"),
        "The maximum is always taken along the first dimension, and the sum along `dim`. What is subtracted has to be "
        "the same for all entries that share a sum."),
    row("softmax_stable", "places_beside_the_maximum", replace(".values", ""),
        "`x.max(dim=…)` gives two results, the values and their places, and nothing can be subtracted from both. Take "
        "`.values`, or use `amax`."),
    row("softmax_stable", "stable_keepdim_forgotten", replace("max(dim=dim, keepdim=True)", "max(dim=dim)"),
        "The dimension of the maximum is gone, so that it is not subtracted from the entries it belongs to. "
        "`keepdim=True` leaves it there with size one, in `max` as in `sum`."),
    row("softmax_stable", "stable_sum_of_everything",
        replace("x.max(dim=dim, keepdim=True).values", "x.max()").replace("dim=dim, keepdim=True", ""),
        WHOLE_TENSOR),
    row("softmax_stable", "stable_dim_ignored", replace("dim=dim", "dim=-1", 2), DIM_IGNORED),
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
        "`view` refuses a tensor that lies in memory in another order, such as a transposed one. Work along `dim` on x "
        "as it is, or use `reshape`."),
    row("softmax_stable", "minus_infinity_as_zero",
        replace("    largest", "    x = x.masked_fill(x == -torch.inf, 0)\n    largest"),
        "An entry of -inf was taken for zero, a score like any other. Its exponential is zero: it gets no share at "
        "all."),
    row("softmax_stable", "minus_infinity_multiplied", replace("x - largest", "x - largest + 0 * x"),
        "An entry of -inf makes the whole result something that is not a number. -inf is subtracted from -inf, or "
        "multiplied by zero, on the way; shifted by the finite maximum it just gives zero."),
    row("softmax_stable", "float64_given_back", replace("    largest", "    x = x.double()\n    largest"),
        "The result is float64, whatever x was. Computing in float64 is fine; give the result back in the dtype of x: "
        "`.to(x.dtype)`."),
    row("softmax_stable", "float32_given_back", replace("    largest", "    x = x.float()\n    largest"),
        "The result is float32, also where x is float64. Whoever asks in float64 wants its digits: let x decide about "
        "the dtype."),
    row("softmax_stable", "stable_sum_as_a_constant", replace(SHARES, f"{SHARES}.detach()"), SUM_CONSTANT),
    row("softmax_stable", "maximum_and_sum_as_constants",
        replace(".values", ".values.detach()").replace(SHARES, f"{SHARES}.detach()"),
        SUM_CONSTANT),
    row("softmax_stable", "stable_gradients_cut_off", replace("x - largest", "(x - largest).detach()"), CUT_OFF),
    row("softmax_stable", "maximum_subtracted_in_place", replace("x - largest", "x.sub_(largest)"),
        "The maximum was subtracted from the caller's own entries, by `-=` or `sub_`. They are wanted as they were: `x "
        "- largest` makes a new tensor."),

    # context_vector
    row("context_vector", "weighted_rows_not_added_up", replace("weights @ inputs", "weights[:, None] * inputs"),
        "The weighted inputs were not added up: there is a row for each token. The context is one vector, their sum "
        "over the tokens."),
    row("context_vector", "summed_over_the_features",
        replace("weights @ inputs", "(weights[:, None] * inputs).sum(dim=-1)"),
        "The sum runs over the features and leaves one number for each token. The context has the width of an input: "
        "sum over the tokens, dim 0."),
    row("context_vector", "weights_along_the_features", replace("weights @ inputs", "(weights * inputs).sum(dim=0)"),
        "`weights * inputs` pairs each weight with a feature, or fits nowhere. A weight belongs to a token, which is a "
        "row: make the weights a column, `weights[:, None]`."),
    row("context_vector", "inputs_transposed", replace("@ inputs", "@ inputs.T"),
        "The inputs were transposed, or stand in front of the weights: so a weight would meet a feature. There is a "
        "weight for each row, and (T,) @ (T, d) is right as it stands."),
    row("context_vector", "weighted_rows_averaged",
        replace("weights @ inputs", "(weights[:, None] * inputs).mean(dim=0)"),
        "The weighted inputs were averaged. The weights have made shares of them already: add them up, and divide no "
        "more."),
    row("context_vector", "weights_not_used", replace("weights @ inputs", "inputs.sum(dim=0)"),
        "The inputs were added up without their weights. Each row counts as much as its weight says."),
    row("context_vector", "inputs_averaged", replace("weights @ inputs", "inputs.mean(dim=0)"),
        "The inputs were averaged, so that all count alike. How much each counts is what the weights are for."),
    row("context_vector", "best_token_alone", replace("weights @ inputs", "inputs[weights.argmax()]"),
        "Only the token with the largest weight was taken. Attention mixes: each token adds as much as its weight "
        "says."),
    row("context_vector", "last_row_only", replace("weights @ inputs", "weights[-1] * inputs[-1]"),
        "Each weighted row replaces the one before, and only the last is left. Add each to the context."),
    row("context_vector", "first_token_left_out", replace("weights @ inputs", "weights[1:] @ inputs[1:]"),
        "The first token is left out: the loop begins at 1. Places are counted from 0 in Python."),
    row("context_vector", "weights_softened_again", replace("weights @", "torch.softmax(weights, dim=0) @"),
        "The weights were put through a softmax once more. They are shares already; a second one makes them nearly "
        "equal."),
    row("context_vector", "weights_normalised_again", replace("weights @", "weights / weights.sum() @"),
        "The weights were divided by their sum once more. Take them as they are: whoever made them has seen to their "
        "sum."),
    row("context_vector", "negative_weights_dropped", replace("weights @", "weights.clamp(min=0) @"),
        "Weights below zero were set to zero. They do not come out of a softmax, but where they come, they count as "
        "they are."),
    row("context_vector", "context_in_a_table", replace("weights @", "weights[None] @"),
        "The context came as a table with one row, (1, d). One vector is asked for, (d,)."),
    row("context_vector", "three_features_in_the_context", replace("@ inputs", "@ inputs[:, :3]"),
        "The context always has three features, as in the worked example. Read the width off the inputs: "
        "`inputs.shape[1]`."),
    row("context_vector", "six_tokens_in_the_context",
        replace("weights @ inputs", "torch.stack([weights[place] * inputs[place] for place in range(6)]).sum(dim=0)"),
        "There are always six tokens for this code, as in the worked example. Take as many rows as there are."),
    row("context_vector", "single_token_squeezed",
        replace("weights @ inputs", "(weights[:, None] * inputs).squeeze().sum(dim=0)"),
        "`squeeze()` drops the tokens' dimension where there is a single one, and the sum then runs over something "
        "else. T = 1 is a sequence too."),
    row("context_vector", "single_feature_squeezed", replace("weights @ inputs", "(weights[None] @ inputs).squeeze()"),
        "`squeeze()` drops every dimension of size one, also that of the features where there is a single one. A "
        "context is (d,), for d = 1 too: drop the one that you mean, by its number."),
    row("context_vector", "context_in_float32_only", replace("@ inputs", "@ inputs.float()"),
        "The inputs are made float32, which then do not fit float64 weights. Let the arguments decide about the "
        "dtype."),
    row("context_vector", "weights_cut_off", replace("weights @", "weights.detach() @"),
        "No gradient reaches the weights: they were taken out of their tensor by `.item()`, or detached. Through them "
        "the scores learn what to attend to."),
    row("context_vector", "inputs_cut_off", replace("@ inputs", "@ inputs.detach()"),
        "No gradient reaches the inputs, which were cut off by `.detach()` or `.data`. The embeddings learn through "
        "them."),
    row("context_vector", "context_cut_off", replace("weights @ inputs", "(weights @ inputs).detach()"),
        "Gradients stop at the context, which was computed under `torch.no_grad()` or detached. All that is behind it "
        "is what is to learn."),
    row("context_vector", "inputs_weighted_in_place",
        replace("weights @ inputs", "inputs.mul_(weights[:, None]).sum(dim=0)"),
        "The caller's inputs were multiplied by the weights in place, by `*=` or `mul_`. The next query needs them as "
        "they were: `*` makes a new tensor."),

    # simple_self_attention
    row("simple_self_attention", "softmax_forgotten", replace("softmax_stable(scores, dim=-1)", "scores"),
        "The scores are used as weights as they are. Softmax makes shares of them: positive, and with the sum one for "
        "each token."),
    row("simple_self_attention", "divided_by_the_sum",
        replace("softmax_stable(scores, dim=-1)", "scores / scores.sum(dim=-1, keepdim=True)"),
        "The scores are divided by their sum. With scores of both signs those are no shares: softmax takes "
        "exponentials first."),
    row("simple_self_attention", "scaled_by_the_width", replace("inputs.T", "inputs.T / inputs.shape[-1] ** 0.5"),
        "The scores were divided by the root of the width. Unit 2 has a reason to; here they are the plain dot "
        "products."),
    row("simple_self_attention", "scaled_by_the_tokens", replace("inputs.T", "inputs.T / len(inputs) ** 0.5"),
        SCALED_BY_THE_TOKENS),
    row("simple_self_attention", "divided_by_the_tokens", replace("inputs.T", "inputs.T / len(inputs)"),
        SCALED_BY_THE_TOKENS),
    row("simple_self_attention", "tokens_of_length_one_compared",
        replace("scores = inputs @ inputs.T",
                "directions = inputs / inputs.norm(dim=-1, keepdim=True)\n    scores = directions @ directions.T"),
        "The tokens were brought to length one before they were compared. That looks at directions alone; in a dot "
        "product a longer vector counts for more."),
    row("simple_self_attention", "reshaped_instead_of_transposed",
        replace("inputs.T", "inputs.reshape(inputs.shape[1], inputs.shape[0])"),
        "The inputs were reshaped to (d, T). That cuts the same row of numbers at other places and mixes the tokens; "
        "to turn rows into columns, transpose: `inputs.T`."),
    row("simple_self_attention", "transpose_forgotten", replace("inputs.T", "inputs"),
        "The inputs were multiplied with themselves as they are, and (T, d) @ (T, d) does not fit. To meet the "
        "tokens, which are rows, the second has to be transposed: `inputs @ inputs.T`."),
    row("simple_self_attention", "features_compared",
        replace("inputs @ inputs.T", "inputs.T @ inputs").replace("weights @ inputs", "weights @ inputs.T"),
        FEATURES_COMPARED),
    row("simple_self_attention", "features_compared_and_mixed",
        replace("inputs @ inputs.T", "inputs.T @ inputs").replace("weights @ inputs", "inputs @ weights"),
        FEATURES_COMPARED),
    row("simple_self_attention", "features_compared_and_tokens_mixed",
        replace("inputs @ inputs.T", "inputs.T @ inputs"),
        FEATURES_COMPARED),
    row("simple_self_attention", "later_tokens_hidden",
        replace("(scores,", "(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf),"),
        "The tokens after each token's own place are hidden. That is causal attention, unit 3; here every token sees "
        "every token."),
    row("simple_self_attention", "own_token_hidden",
        replace("(scores,", "(scores.masked_fill(torch.eye(len(scores)).bool(), -torch.inf),"),
        "No token looks at itself. In self-attention it does, as at any other: what it says is part of its own "
        "context."),
    row("simple_self_attention", "softmax_along_the_columns", replace("dim=-1", "dim=0"),
        "Softmax runs along the columns: they sum to one, and the rows do not. The scores are symmetric, but row i "
        "is what token i gives, and the tokens it gives to lie along the last dim."),
    row("simple_self_attention", "softmax_of_everything",
        replace("(scores, dim=-1)", "(scores.flatten(), dim=0).reshape(scores.shape)"),
        "Softmax runs over all scores at once, so that all tokens share one attention between them. Each token has a "
        "whole one to give: softmax over the last dim."),
    row("simple_self_attention", "softmax_twice",
        replace("(scores, dim=-1)", "(softmax_stable(scores, dim=-1), dim=-1)"),
        "Softmax is taken twice. The second one sees only numbers between zero and one, and makes all weights nearly "
        "equal."),
    row("simple_self_attention", "tokens_averaged", replace("inputs @ inputs.T", "0 * inputs @ inputs.T"),
        "Every token gets the same weight, whatever the tokens are. How much one hears of another is for their dot "
        "product to say."),
    row("simple_self_attention", "mixed_by_the_columns", replace("weights @", "weights.T @"),
        "The contexts were made with the columns of the weights. Token i's own weights are row i: `weights @ "
        "inputs`, without a transpose."),
    row("simple_self_attention", "mixed_by_the_scores", replace("weights @", "scores @"),
        "The contexts are made with the scores, and softmax is only given back beside them. It is the weights that "
        "mix the inputs."),
    row("simple_self_attention", "inputs_as_contexts", replace("weights @ inputs", "inputs.clone()"),
        "The inputs themselves came back as contexts. A context is the sum of all inputs, each times its weight."),
    row("simple_self_attention", "scores_in_place_of_weights",
        replace("return contexts, weights", "return contexts, scores"),
        "The second result are the scores. The contexts are right; what is asked for beside them are the weights, "
        "after softmax."),
    row("simple_self_attention", "weights_first", replace("return contexts, weights", "return weights, contexts"),
        "Weights and contexts came the other way round. The order agreed on is contexts first, then weights."),
    row("simple_self_attention", "contexts_alone", replace("return contexts, weights", "return contexts"),
        "The contexts came alone. The weights are asked for as well: `return contexts, weights`."),
    row("simple_self_attention", "one_query_only", replace("inputs.T", "inputs[1]"),
        "Only one token is the query, the second one as in the worked example. In self-attention every token is, and "
        "there is a context for each."),
    row("simple_self_attention", "six_tokens_attend",
        replace("inputs @ inputs.T", "torch.stack([inputs @ inputs[place] for place in range(6)])"),
        "There are always six tokens for this code, as in the worked example. Take as many rows as there are."),
    row("simple_self_attention", "lone_token_squeezed",
        replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "`squeeze()` drops the tokens' dimension where there is a single one. T = 1 is a sequence too: it gives "
        "weights (1, 1) and contexts (1, d)."),
    row("simple_self_attention", "attention_in_float32_only", replace("weights @", "weights.float() @"),
        "The result is filled into tensors of float32, which then do not fit float64 inputs. Let the inputs decide "
        "about the dtype."),
    row("simple_self_attention", "weights_detached", replace("dim=-1)", "dim=-1).detach()"),
        "The weights are cut off from the gradients, by `.detach()` or `.item()`. The scores are where attention "
        "learns what to look at."),
    row("simple_self_attention", "attention_cut_off",
        replace("return contexts, weights", "return contexts.detach(), weights.detach()"),
        "Gradients stop at the results, which were computed under `torch.no_grad()` or detached. The embeddings "
        "behind them are still to learn."),
    row("simple_self_attention", "contexts_over_the_inputs",
        replace("return contexts", "inputs.copy_(contexts)\n    return inputs"),
        "The contexts were written over the caller's inputs. Every token is mixed of the inputs as they were, and "
        "whoever called may want them again: make a new tensor."),
]
# fmt: on
