"""Misconceptions of unit 3: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If a function and the module have the same mistake, the module's name is longer.
"""

from __future__ import annotations

from grader.suites.attention_mistakes import (
    ARGUMENTS,
    BEFORE_AND_AFTER,
    FIFTH,
    FIXED,
    HALF,
    ONLY_FUTURE_SEEN,
    PLUS_LARGE,
    SCALED_LATE,
    SOFTMAX_TWICE,
    SUMS_IN_A_ROW,
    TEN_THOUSAND,
    VALUES_AS_KEYS,
    VALUES_AS_QUERIES,
    ZEROS_HIDDEN,
)
from grader.testing.misconceptions import replace, row

UNSCALED = (
    "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by the square root "
    "of this width they keep a variance near 1, so that softmax does not give all the weight to one key."
)
TWENTIETH_ROOT = (
    "The root is mistyped: the power .05 hardly changes the scores. A square root is the power 0.5, or `math.sqrt`."
)
NO_ROOT = (
    "The scores are divided by the width itself, or twice by its root, which is the same. Their standard deviation is "
    "the square root of the width: divide once by this root to bring it to 1."
)
SQUARE = (
    "The scores are divided by the square of the width, so they are nearly zero. A square root is the opposite of a "
    "square: the power `0.5`."
)
MULTIPLIED_BY_HALF = (
    "The scores are multiplied by half of the width, so they become larger. They should be divided, and by a root: a "
    "power with the exponent 0.5."
)
DIVIDED_BY_HALF = (
    "The scores are divided by half of the width. The half is an exponent: the root is the width to the power of 0.5."
)
WEIGHTS_MASKED = (
    "The future is minus infinity in the result: the mask came after softmax. Mask the scores, and then apply softmax, "
    "which makes zeros of minus infinity."
)
ALL_ONE = (
    "Every weight is one, also for the future. A softmax over a dimension of size one gives that, for example after "
    "`unsqueeze`. It should run over the tokens that can be seen."
)
SELF_LOWERED = (
    "The diagonal is hidden too, so a token does not see itself. The first token sees nothing: all its scores are "
    "equally low, and softmax spreads its weight over the future too."
)
NUMPY = (
    "A tensor that requires gradients cannot become a NumPy array. Use only tensors: PyTorch has the same functions, "
    "such as `torch.where`."
)
NO_BATCH_HERE = (
    "The code uses a third dimension, such as dim 2. Here the argument is a single matrix, (T, T), without a batch. "
    "Count from the end: -1 is always the last dimension."
)
THROWN_AWAY = (
    "The future is still visible, as if nothing hid it. `masked_fill` without an underscore returns a new tensor: use "
    "its result."
)
ZEROS = (
    "The future's scores are set to zero (or multiplied by a mask of zeros and ones). Zero is a normal score: its "
    "exponential is one, so the future has weight. Use minus infinity."
)
UPSIDE_DOWN = (
    "The mask is inverted: the past is hidden and the future is visible. Hide the part above the diagonal, where the "
    "column comes after the row."
)
SELF_HIDDEN = (
    "The diagonal is hidden too, so a token does not see itself. Then the first token sees nothing, and a softmax over "
    "only minus infinities gives NaN."
)
NEXT_SEEN = (
    "The next token is still visible: the mask begins one position too late. The future begins directly to the right "
    "of the diagonal."
)
MASKED_LATE = (
    "The future is set to zero after the softmax, and nothing more. Its scores are still in the sum inside softmax: "
    "the rows do not sum to one, and they change with the future."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each token should sum to one "
    "over the tokens that it sees, which lie along the last dimension."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so all tokens together share one sum. Each token has its own weights: apply "
    "softmax over the last dimension."
)

MASKED_SOFTMAX = "torch.softmax(masked / d_k**0.5, dim=-1)"
MASKED_SOFTMAX_IN_MODULE = "torch.softmax(masked / d_out**0.5, dim=-1)"

# fmt: off
ROWS = [
    # causal_mask
    row("causal_mask", "past_marked", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The past is marked instead of the future. A row belongs to a query, and the future is to the right of the "
        "diagonal."),
    row("causal_mask", "visible_marked", replace("triu(diagonal=1)", "tril()"),
        "The mask marks what may be seen. It should mark what to hide: True if a token must not look."),
    row("causal_mask", "diagonal_marked_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is marked too, so a token would not see itself, and the first token would see nothing. Mark "
        "only later tokens."),
    row("causal_mask", "next_token_open", replace("diagonal=1", "diagonal=2"),
        "The next token is not marked: the marks begin one position too late. The future begins directly to the "
        "right of the diagonal."),
    row("causal_mask", "all_others_marked",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)",
                "~torch.eye(num_tokens, dtype=torch.bool)"),
        "All other tokens are marked. The past should be visible; mark only later tokens."),
    row("causal_mask", "float_mask", replace("triu(diagonal=1)", "triu(diagonal=1).float()"),
        "The mask contains ones and zeros as floats. `masked_fill` and `torch.where` need True and False: convert it "
        "with `.bool()`."),
    row("causal_mask", "whole_number_mask", replace("triu(diagonal=1)", "triu(diagonal=1).long()"),
        "The mask contains ones and zeros as integers. PyTorch uses integers as indices, not as True and False: "
        "convert it with `.bool()`."),
    row("causal_mask", "minus_infinity_mask",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool)",
                "torch.full((num_tokens, num_tokens), -torch.inf)"),
        "The mask already contains minus infinity, as if it were added to the scores. Here it only says which scores "
        "to hide: True or False."),
    row("causal_mask", "mask_for_the_worked_example", replace("num_tokens, num_tokens", "6, 6"),
        "The mask always has the size of the worked example, six tokens. Texts have different lengths: use "
        "num_tokens."),
    row("causal_mask", "lonely_mask_squeezed", replace("triu(diagonal=1)", "triu(diagonal=1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the mask of a single token is not a matrix."),
    row("causal_mask", "batch_in_front_of_the_mask", replace("triu(diagonal=1)", "triu(diagonal=1)[None]"),
        "The mask has a batch dimension in front. The same mask is used for every text and every head, and PyTorch "
        "broadcasts (T, T) over them."),
    row("causal_mask", "visible_marked_with_floats", replace("triu(diagonal=1)", "tril().float()"),
        "The mask contains ones, as floats, for what may be seen. It should mark what to hide, with True: the part "
        "above the diagonal."),
    row("causal_mask", "visible_marked_with_integers", replace("triu(diagonal=1)", "tril().long()"),
        "The mask contains ones, as integers, for what may be seen. It should mark what to hide, with True: the part "
        "above the diagonal."),
    row("causal_mask", "token_before_marked_too", replace("diagonal=1", "diagonal=-1"),
        "The marks begin below the diagonal: a token and the one before it are marked too. Only what lies above the "
        "diagonal is the future."),
    row("causal_mask", "last_token_never_marked", replace("triu(diagonal=1)", "triu(1) & (torch.arange(num_tokens) < "
                                                          "num_tokens - 1)"),
        "The last token is never marked, so all tokens see it: the loop or the slice ends one position too early. The "
        "end of a range is already excluded."),
    row("causal_mask", "everything_marked", replace(".triu(diagonal=1)", ""),
        "Every token is marked, so no token would see anything. Mark only the tokens after each one."),
    row("causal_mask", "list_of_lists", replace("triu(diagonal=1)", "triu(diagonal=1).tolist()"),
        "The mask is a Python list. `masked_fill` needs a tensor: make one of it."),

    # mask_then_renormalize
    row("mask_then_renormalize", "not_renormalized", replace("past / past.sum(dim=-1, keepdim=True)", "past"),
        "The future is zero, but the rows no longer sum to one. Divide each row by the sum of its remaining weights."),
    row("mask_then_renormalize", "masked_result_thrown_away", replace("past = ", "past = weights\n    "),
        "The future is still there, as if nothing hid it. `masked_fill` without an underscore returns a new tensor: "
        "use its result."),
    row("mask_then_renormalize", "past_removed", replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "triu()"),
        "The mask is inverted: the past is zero, and the future is kept. Set the part above the diagonal to zero."),
    row("mask_then_renormalize", "own_weight_removed",
        replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(-1)"),
        "The diagonal is zero too. A token sees itself, and the first token sees nothing else: its row would be zero "
        "divided by zero."),
    row("mask_then_renormalize", "next_token_weighted",
        replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(1)"),
        "Each row still has a weight for the next token: the mask begins one position too late. The future begins "
        "directly to the right of the diagonal."),
    row("mask_then_renormalize", "columns_renormalized", replace("dim=-1", "dim=0"),
        "The columns sum to one, not the rows. A row contains the weights of one token, and these should sum to one: "
        "sum over the last dimension."),
    row("mask_then_renormalize", "renormalized_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. "
        "Keep the sums as a column, (T, 1)."),
    row("mask_then_renormalize", "everything_renormalized_at_once", replace("sum(dim=-1, keepdim=True)", "sum()"),
        "All weights are divided by one number, the sum of the whole matrix. Each row needs its own sum."),
    row("mask_then_renormalize", "softmax_of_masked_weights",
        replace("past / past.sum(dim=-1, keepdim=True)", "torch.softmax(past, dim=-1)"),
        "The masked weights went through another softmax. This changes their proportions and gives the zeros a "
        "weight again, because the exponential of zero is one. Divide by the sum."),
    row("mask_then_renormalize", "softmax_of_what_is_left",
        replace("), 0)", "), -torch.inf)")
        .replace("past / past.sum(dim=-1, keepdim=True)", "torch.softmax(past, dim=-1)"),
        "The remaining weights went through another softmax. This makes them more equal. Divide by their sum "
        "instead: then they keep their proportions."),
    row("mask_then_renormalize", "minus_infinity_among_weights", replace("), 0)", "), -torch.inf)"),
        "The future is minus infinity. That is correct for scores, before a softmax. But these are already weights: "
        "use zero."),
    row("mask_then_renormalize", "rest_shared_out_equally",
        replace("past / past.sum(dim=-1, keepdim=True)",
                "(past + (1 - past.sum(dim=-1, keepdim=True)) / torch.arange(1, len(past) + 1)[:, None]).tril()"),
        "The weight of the future is given to the other tokens in equal parts. But the weights should keep their "
        "proportions: divide by the sum of the remaining weights."),
    row("mask_then_renormalize", "future_shared_out_equally",
        replace("past / past.sum(dim=-1, keepdim=True)",
                "(weights + weights.triu(1).sum(-1, keepdim=True) / torch.arange(1, len(past) + 1)[:, None]).tril()"),
        "The weight of the future is added up and given to the other tokens in equal parts. But the weights should "
        "keep their proportions: divide by the sum of the remaining weights."),
    row("mask_then_renormalize", "past_averaged",
        replace("weights.masked_fill", "torch.ones_like(weights).masked_fill"),
        "All visible tokens get the same weight: one divided by their number. Keep the weights, and divide them by "
        "their sum."),
    row("mask_then_renormalize", "weights_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's weights were changed. `masked_fill_` with an underscore changes the tensor itself; without it, "
        "it returns a new one."),
    row("mask_then_renormalize", "weights_masked_behind_the_gradients",
        replace("past = weights.masked_fill", "past = weights\n    past.data.masked_fill_"),
        "The caller's weights were changed, for example through `.data` or under `torch.no_grad()`, so the gradients "
        "are wrong too. `masked_fill` without an underscore returns a new tensor."),
    row("mask_then_renormalize", "renormalized_without_gradients",
        replace("weights.masked_fill", "weights.detach().masked_fill"),
        "Gradients stop at the result, for example because of `.detach()`, `.data` or `torch.no_grad()`. Queries and "
        "keys learn only through this result."),
    row("mask_then_renormalize", "sums_without_gradients", replace("keepdim=True)", "keepdim=True).detach()"),
        "The sums are cut off from the gradients, for example by `.detach()` or `.data`. But the sums depend on the "
        "weights too, so gradients must flow through them."),
    row("mask_then_renormalize", "weights_of_the_worked_example", replace("weights.shape[-1]", "6"),
        "The mask always has the size of the worked example, six tokens. Read the number of tokens from the weights."),
    row("mask_then_renormalize", "lonely_weight_squeezed",
        replace("past / past.sum(dim=-1, keepdim=True)", "(past / past.sum(dim=-1, keepdim=True)).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the weights of a single token are not a matrix."),
    row("mask_then_renormalize", "weights_meet_float32",
        replace("past.sum(dim=-1, keepdim=True)", "(past @ torch.ones(len(past), 1))"),
        "The code makes a float32 tensor, which does not match float64 weights. Make it like the weights: "
        "`torch.ones_like`, or `dtype=weights.dtype`."),
    row("mask_then_renormalize", "only_the_future_kept",
        replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "triu(1)"),
        "Only the future is kept, and the rest is zero. Then the last token has no weight at all, and zero is divided "
        "by zero. Set the future to zero."),
    row("mask_then_renormalize", "divided_by_the_sums_before", replace("past.sum", "weights.sum"),
        "The rows are divided by their sums from before the mask. These are one, so nothing changes. Divide by the "
        "sums of what is left."),
    row("mask_then_renormalize", "mask_does_not_fit",
        replace("causal_mask(weights.shape[-1])", "causal_mask(weights.shape[-1]).float()"),
        "The mask does not fit the weights. `masked_fill` needs True and False, `.bool()`, and no ones and zeros. Its "
        "shape should be the same, (T, T)."),
    row("mask_then_renormalize", "third_dimension_expected", replace("dim=-1", "dim=2"), NO_BATCH_HERE),
    row("mask_then_renormalize", "weights_in_numpy",
        replace("past = weights", "past = torch.from_numpy(weights.numpy())"), NUMPY),

    # mask_then_softmax
    row("mask_then_softmax", "future_minus_one", replace("-torch.inf)\n", "-1)\n"),
        "The scores of the future become -1, and softmax gives -1 a weight like any other score. Use minus infinity."),
    row("mask_then_softmax", "half_instead_of_root", replace("**0.5", " * 0.5"), HALF),
    row("mask_then_softmax", "scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    row("mask_then_softmax", "twentieth_root", replace("0.5", "0.05"), TWENTIETH_ROOT),
    row("mask_then_softmax", "divided_by_d_k_itself", replace("**0.5", ""), NO_ROOT),
    row("mask_then_softmax", "scaled_by_number_of_tokens", replace("d_k**0.5", "scores.shape[-1] ** 0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so divide by "
        "the root of the width of queries and keys."),
    row("mask_then_softmax", "multiplied_by_root", replace("/ d_k", "* d_k"),
        "The scores are multiplied by √d_k, so large scores become even larger. Divide by √d_k."),
    row("mask_then_softmax", "scaled_for_the_worked_example", replace("d_k**0.5", "2**0.5"),
        "The divisor is always √2, which is correct only for the width of the worked example. Use the argument d_k."),
    row("mask_then_softmax", "scaled_by_root_of_eight", replace("d_k**0.5", "8**0.5"), FIXED),
    row("mask_then_softmax", "scaled_by_eight", replace("d_k**0.5", "8"), FIXED),
    row("mask_then_softmax", "scaled_after_softmax",
        replace("masked / d_k**0.5, dim=-1)", "masked, dim=-1) / d_k**0.5"), SCALED_LATE),
    row("mask_then_softmax", "masked_scores_thrown_away", replace("masked = ", "masked = scores\n    "), THROWN_AWAY),
    row("mask_then_softmax", "zeros_instead_of_minus_infinity", replace(", -torch.inf)", ", 0)"), ZEROS),
    row("mask_then_softmax", "zero_scores_hidden",
        replace("scores.masked_fill(causal_mask(scores.shape[-1])", "scores.tril().masked_fill(scores.tril() == 0"),
        ZEROS_HIDDEN),
    row("mask_then_softmax", "minus_ten_thousand", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    row("mask_then_softmax", "past_hidden", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    row("mask_then_softmax", "diagonal_hidden_too",
        replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu().bool()"), SELF_HIDDEN),
    row("mask_then_softmax", "next_token_seen",
        replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu(2).bool()"), NEXT_SEEN),
    row("mask_then_softmax", "masked_after_softmax",
        replace("masked / d_k**0.5, dim=-1)", "scores / d_k**0.5, dim=-1).tril()"), MASKED_LATE),
    row("mask_then_softmax", "renormalized_after_softmax",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)",
                "mask_then_renormalize(torch.softmax(scores / d_k**0.5, dim=-1))"),
        "The future is hidden too late: after the softmax, or after the largest score was subtracted. If a score of "
        "the future is very large, all other weights are rounded to zero. Hide it first."),
    row("mask_then_softmax", "softmax_over_queries", replace("dim=-1", "dim=0"), WRONG_DIM),
    row("mask_then_softmax", "softmax_over_everything",
        replace("masked / d_k**0.5, dim=-1)", "(masked / d_k**0.5).flatten(), dim=0).view_as(scores)"), WHOLE_TENSOR),
    row("mask_then_softmax", "softmax_forgotten",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),
        "These are masked scores, not weights. Softmax turns them into weights: positive, zero for the future, and "
        "with the sum one in each row."),
    row("mask_then_softmax", "softmax_forgotten_after_adding",
        replace(".masked_fill(causal_mask(scores.shape[-1]), -torch.inf)",
                " + torch.full_like(scores, -torch.inf).triu(1)")
        .replace("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),
        "Minus infinity was added to the future's scores, and then nothing more. These are not yet weights. Apply "
        "softmax: it makes them positive, zero for the future, and with the sum one in each row."),
    row("mask_then_softmax", "zero_times_infinity",
        replace(".masked_fill(", " + ").replace("), -torch.inf)", ") * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill only the masked entries: `masked_fill`, or `torch.where`."),
    row("mask_then_softmax", "plus_infinity", replace(", -torch.inf)", ", torch.inf)"),
        "The future is set to plus infinity, which gives NaN after softmax. The exponential of minus infinity is "
        "zero: use minus infinity."),
    row("mask_then_softmax", "a_thousand_subtracted",
        replace(".masked_fill(", " - 1000 * ").replace("), -torch.inf)", ")"),
        "A negative number is added to the future's scores, but it is too small: a very large score is still above "
        "the others. Minus infinity is below everything."),
    row("mask_then_softmax", "best_score_takes_all",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)",
                "nn.functional.one_hot(masked.argmax(-1), len(scores)).to(scores.dtype)"),
        "The best score gets the whole weight, and the others get nothing. Softmax is softer than a maximum: every "
        "visible token gets some weight, so gradients reach the scores."),
    row("mask_then_softmax", "scores_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's scores were changed. `masked_fill_` with an underscore changes the tensor itself; without it, "
        "it returns a new one."),
    row("mask_then_softmax", "scores_masked_behind_the_gradients",
        replace("masked = scores.masked_fill", "masked = scores\n    masked.data.masked_fill_"),
        "The caller's scores were changed, for example through `.data` or under `torch.no_grad()`, so that PyTorch "
        "does not notice. `masked_fill` without an underscore returns a new tensor."),
    row("mask_then_softmax", "softmax_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"),
        "Gradients stop at the weights, for example because of `.detach()`, `.data` or `torch.no_grad()`. Queries "
        "and keys learn only through the scores."),
    row("mask_then_softmax", "scores_of_the_worked_example", replace("scores.shape[-1]", "6"),
        "The mask always has the size of the worked example, six tokens. Read the number of tokens from the scores."),
    row("mask_then_softmax", "lonely_score_squeezed", replace("dim=-1)", "dim=-1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the scores of a single token are not a matrix."),
    row("mask_then_softmax", "scores_meet_float32",
        replace("masked = scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf)",
                "masked, seen = torch.full(scores.shape, -torch.inf), ~causal_mask(len(scores))\n"
                "    masked[seen] = scores[seen]"),
        "The code makes a float32 tensor, which does not match float64 scores. Make it like the scores: "
        "`torch.full_like`, or `dtype=scores.dtype`."),
    row("mask_then_softmax", "fifth_power", replace("0.5", "5"), FIFTH),
    row("mask_then_softmax", "square_instead_of_root", replace("0.5", "2"), SQUARE),
    row("mask_then_softmax", "multiplied_by_half_of_d_k", replace("/ d_k**0.5", "* d_k * 0.5"), MULTIPLIED_BY_HALF),
    row("mask_then_softmax", "divided_by_half_of_d_k", replace("d_k**0.5", "(d_k / 2)"), DIVIDED_BY_HALF),
    row("mask_then_softmax", "softmax_twice", replace(MASKED_SOFTMAX, f"{MASKED_SOFTMAX}.softmax(-1)"), SOFTMAX_TWICE),
    row("mask_then_softmax", "softmax_before_and_after_the_mask",
        replace("scores.masked_fill", "torch.softmax(scores / d_k**0.5, dim=-1).masked_fill")
        .replace("masked / d_k**0.5", "masked"), BEFORE_AND_AFTER),
    row("mask_then_softmax", "weights_masked_with_minus_infinity",
        replace("scores.masked_fill", "torch.softmax(scores / d_k**0.5, dim=-1).masked_fill")
        .replace(MASKED_SOFTMAX, "masked"), WEIGHTS_MASKED),
    row("mask_then_softmax", "arguments_do_not_fit", replace("d_k**0.5", "torch.sqrt(d_k)"), ARGUMENTS),
    row("mask_then_softmax", "sums_without_keepdim",
        replace(MASKED_SOFTMAX, "torch.exp(masked / d_k**0.5) / torch.exp(masked / d_k**0.5).sum(dim=-1)"),
        SUMS_IN_A_ROW),
    row("mask_then_softmax", "all_weights_one", replace(MASKED_SOFTMAX, "torch.ones_like(scores) + 0 * scores"),
        ALL_ONE),
    row("mask_then_softmax", "diagonal_lowered",
        replace("causal_mask(scores.shape[-1]), -torch.inf", "torch.ones_like(scores).triu().bool(), -1e9"),
        SELF_LOWERED),
    row("mask_then_softmax", "only_the_future_seen",
        replace("masked_fill(causal_mask", "masked_fill(~causal_mask"), ONLY_FUTURE_SEEN),
    row("mask_then_softmax", "only_the_future_seen_beside_low_numbers",
        replace("masked_fill(causal_mask", "masked_fill(~causal_mask").replace(", -torch.inf)", ", -1e9)"),
        ONLY_FUTURE_SEEN),
    row("mask_then_softmax", "large_number_for_the_future", replace(", -torch.inf)", ", 1e9)"), PLUS_LARGE),
    row("mask_then_softmax", "mask_does_not_fit_the_scores",
        replace("causal_mask(scores.shape[-1])", "causal_mask(scores.shape[-1]).float()"),
        "The mask does not fit the scores. `masked_fill` needs True and False, `.bool()`, and no ones and zeros. Its "
        "shape should be the same, (T, T)."),
    row("mask_then_softmax", "third_dimension_expected_for_scores", replace("dim=-1", "dim=2"), NO_BATCH_HERE),
    row("mask_then_softmax", "scores_in_numpy",
        replace("masked = scores", "masked = torch.from_numpy(scores.numpy())"), NUMPY),

    # attention_dropout
    row("attention_dropout", "share_of_p_kept", replace(">= p", "< p"),
        "The comparison is inverted: a fraction of p is kept. But p is the probability of dropping: keep a weight if "
        "`torch.rand` is at least p."),
    row("attention_dropout", "p_taken_for_keeping", replace(">= p", "< p").replace("(1 - p)", "p"),
        "The code uses p as the probability of keeping a weight, in the draws and in the division. It is the "
        "probability of dropping one."),
    row("attention_dropout", "survivors_not_scaled", replace(" / (1 - p)", ""),
        "The kept weights are not scaled. On average a context would be smaller in training than later: divide them "
        "by 1 - p."),
    row("attention_dropout", "survivors_multiplied", replace("/ (1 - p)", "* (1 - p)"),
        "The kept weights are multiplied by 1 - p and become even smaller. They must replace the dropped weights: "
        "divide."),
    row("attention_dropout", "survivors_divided_by_p", replace("(1 - p)", "p"),
        "The kept weights are divided by p. A fraction of 1 - p is kept: divide by 1 - p."),
    row("attention_dropout", "rows_renormalized", replace("(1 - p)", "(weights * keep).sum(-1, keepdim=True)"),
        "The rows are divided by their sum again. Dropout does not do that: every kept weight is divided by the same "
        "1 - p, and the sum is one only on average."),
    row("attention_dropout", "divided_by_the_share_kept", replace("(1 - p)", "keep.double().mean()"),
        "The weights are divided by the fraction that was kept in this draw. Always divide by the probability 1 - p: "
        "then the average is correct."),
    row("attention_dropout", "mask_instead_of_weights", replace("weights * keep", "keep"),
        "The function returned only the scaled mask. Multiply the weights by it."),
    row("attention_dropout", "nothing_dropped", replace("weights * keep / (1 - p)", "weights * 1"),
        "Nothing is dropped. This function is always for training; `forward` decides whether to call it."),
    row("attention_dropout", "smallest_dropped",
        replace("torch.rand(weights.shape, generator=generator) >= p",
                "weights >= torch.quantile(weights.flatten().double(), p)"),
        "The smallest weights are dropped. Then the same tokens are kept every time, and the network still relies on "
        "them. Choose the dropped weights at random."),
    row("attention_dropout", "whole_rows", replace("weights.shape", "(*weights.shape[:-1], 1)"),
        "Whole rows are kept or dropped: there is one draw for a row. Then a token sees everything or nothing. Draw "
        "for each weight, with the shape of the weights."),
    row("attention_dropout", "whole_columns",
        replace("weights.shape", "(*weights.shape[:-2], 1, weights.shape[-1])[-weights.dim():]"),
        "Whole columns are kept or dropped: there is one draw for a token, for all rows. Draw for each weight, with "
        "the shape of the weights."),
    row("attention_dropout", "one_draw_for_all", replace("weights.shape", "1"),
        "There is one draw for all weights, so all of them or none are dropped. Draw for each weight: `torch.rand` "
        "with the shape of the weights."),
    row("attention_dropout", "exact_share_dropped",
        replace("torch.rand(weights.shape, generator=generator) >= p",
                "torch.randperm(weights.numel(), generator=generator).view_as(weights) >= round(p * weights.numel())"),
        "Exactly a fraction of p is dropped each time. But each weight should be kept or dropped independently, so "
        "the number of dropped weights should vary."),
    row("attention_dropout", "exact_share_of_each_row",
        replace("generator=generator) >= p",
                "generator=generator).argsort(-1).argsort(-1) >= round(p * weights.shape[-1])"),
        "Exactly a fraction of p is dropped in every row. But each weight should be kept or dropped independently: a "
        "row may keep all of its weights, or none."),
    row("attention_dropout", "same_for_the_whole_batch", replace("weights.shape", "weights.shape[-2:]"),
        "All elements of a batch have the same weights dropped: the draws have the shape of one (T, T) matrix. Use "
        "the whole shape of the weights."),
    row("attention_dropout", "only_square_matrices", replace("weights.shape", "len(weights), len(weights)"),
        "The draws always make a square matrix. `torch.rand(weights.shape)` works for every shape."),
    row("attention_dropout", "normal_draws", replace("torch.rand(", "torch.randn("),
        "The wrong random function is used. `torch.randn` draws normal numbers, which are below p with a probability "
        "that is not p. `torch.rand` draws uniform numbers between 0 and 1."),
    row("attention_dropout", "zero_refused", replace("0 <= p", "0 < p"),
        "p = 0 raises an error. It is a valid probability: nothing is dropped. A model without dropout uses it."),
    row("attention_dropout", "any_p_accepted", replace("not 0 <= p < 1", "False"),
        "An invalid p raises no error, or is silently moved into the range. Such a p is the caller's mistake: raise "
        "an error for every p outside [0, 1)."),
    row("attention_dropout", "negative_p_accepted", replace("not 0 <= p < 1", "p >= 1"),
        "A negative p raises no error. It is not a probability: raise an error, as for a p that is too large."),
    row("attention_dropout", "one_accepted", replace("p < 1", "p <= 1"),
        "p = 1 raises no error. Everything would be dropped, and the rest would be divided by zero. Raise an error "
        "for p = 1 too."),
    row("attention_dropout", "large_p_accepted", replace("not 0 <= p < 1", "p < 0"),
        "Only a negative p raises an error. With p above 1 nothing can be kept, and p = 1 divides by zero: raise an "
        "error for both."),
    row("attention_dropout", "refused_with_another_error", replace("ValueError", "RuntimeError"),
        "The error has the wrong type. Callers recognise errors by their type. Here the type is ValueError or "
        "AssertionError."),
    row("attention_dropout", "ready_made_dropout",
        replace("if not", "return nn.functional.dropout(weights, p)\n    if not"),
        "The generator is not used, and p = 1 raises no error, as with torch's own dropout. Draw with `torch.rand(…, "
        "generator=generator)`, and raise an error for p = 1."),
    row("attention_dropout", "generator_ignored", replace(", generator=generator", ""),
        "The generator is not used. Pass it on to the draw: `torch.rand(…, generator=generator)`. Torch's own dropout, "
        "`random` and numpy take none."),
    row("attention_dropout", "generator_seeded_anew",
        replace("=generator)", "=generator.manual_seed(123) if generator else None)"),
        "The draws are the same for every state of the generator, as if the code set its seed first. The caller "
        "decides about the state."),
    row("attention_dropout", "generator_copied",
        replace("=generator)", "=torch.Generator().manual_seed(generator.initial_seed()) if generator else None)"),
        "The generator decides about the draws but does not advance, as if the code drew from a copy of it. Draw "
        "from the generator that was passed in."),
    row("attention_dropout", "generator_of_seeds",
        replace("keep = torch.rand(weights.shape, generator=generator)",
                "if generator:\n"
                "        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))\n"
                "    keep = torch.rand(weights.shape)"),
        "The generator decides about the draws, but torch's global state changes too, as if the generator only drew "
        "a seed for it. Pass the generator on to the draw."),
    row("attention_dropout", "always_the_same_draws", replace("=generator)", "=generator or torch.Generator())"),
        "Without a generator every call drops the same weights, as if the code set a seed or made a generator with a "
        "fixed start. None means torch's global generator in its current state."),
    row("attention_dropout", "the_same_seed_in_every_call", replace("=generator)", "=torch.Generator())"),
        "Every call drops the same weights, with or without a generator, as if the code set a seed or made a "
        "generator with a fixed start. Draw from the given generator, and without one from torch's global generator."),
    row("attention_dropout", "global_state_put_back",
        replace("keep =", "with torch.random.fork_rng(devices=[]):\n        keep ="),
        "The global state does not advance, as if the code restored it after the draw: the next call drops the same "
        "weights again. Each draw should advance the state."),
    row("attention_dropout", "generator_from_the_system",
        replace("keep =", "import random\n\n    if generator is None:\n"
                "        generator = torch.Generator().manual_seed(random.SystemRandom().getrandbits(62))\n    keep ="),
        "Without a generator torch.manual_seed does not fix the draws, as if they came from the clock or the system, "
        "so nobody can repeat a training run. None means torch's global generator."),
    row("attention_dropout", "dropout_without_gradients", replace("weights * keep", "weights.detach() * keep"),
        "Gradients stop at the result, for example because of `.detach()`, `.data` or `torch.no_grad()`. Dropout is "
        "for training: the kept weights must be able to learn."),
    row("attention_dropout", "weights_dropped_in_place",
        replace("return weights * keep / (1 - p)", "weights *= keep / (1 - p)\n    return weights"),
        "The caller's weights were changed: `*=` and assigning to entries change the tensor itself. Write `weights = "
        "weights * …`."),
    row("attention_dropout", "weights_dropped_behind_the_gradients",
        replace("return weights * keep / (1 - p)", "weights.data *= keep / (1 - p)\n    return weights"),
        "The caller's weights were changed, for example through `.data` or under `torch.no_grad()`, so the gradients "
        "are wrong too. Write `weights = weights * …`, which makes a new tensor."),
    row("attention_dropout", "weights_copied_into_float32",
        replace("return weights * keep / (1 - p)",
                "copy = torch.zeros(weights.shape)\n    copy[keep] = weights[keep] / (1 - p)\n    return copy"),
        "The weights are copied into a float32 tensor, which does not match float64 weights. Make it like the "
        "weights: `torch.zeros_like`."),
    row("attention_dropout", "survivors_scaled_twice", replace("/ (1 - p)", "/ (1 - p) ** 2"),
        "The kept weights are divided by 1 - p twice. Once is enough: then the average stays the same."),
    row("attention_dropout", "ready_made_dropout_scaled_again",
        replace("torch.rand(weights.shape, generator=generator) >= p", "nn.functional.dropout(weights, p)")
        .replace("weights * keep", "keep"),
        "The kept weights are divided by 1 - p twice, and the generator is not used. torch's own dropout already "
        "divides, and it cannot draw from a given generator: write the few lines yourself."),
    row("attention_dropout", "half_dropped_for_every_p", replace(">= p", ">= 0.5"),
        "Half of the weights are dropped, whatever p is. Compare the draws with p: a weight is dropped with this "
        "probability."),
    row("attention_dropout", "no_argument_for_the_generator",
        replace(", generator: torch.Generator | None = None", "").replace(", generator=generator", ""),
        "The function does not take a generator, so a call with one fails. Add the argument, with the default None, "
        "and pass it on to the draw."),
    row("attention_dropout", "global_seed_in_every_call", replace("keep =", "torch.manual_seed(123)\n    keep ="),
        "Without a generator every call drops the same weights, and the caller's random state is lost, as if each "
        "call set torch's global seed. Do not set a seed here."),
    row("attention_dropout", "columns_of_the_whole_batch", replace("weights.shape", "weights.shape[-1]"),
        "Whole columns are kept or dropped: there is one draw for a token, for all rows and matrices. Draw for each "
        "weight, with the shape of the weights."),

    # CausalAttention: scores
    row("CausalAttention", "half_instead_of_root_in_module", replace("**0.5", " * 0.5"), HALF),
    row("CausalAttention", "scaling_forgotten_in_module", replace(" / d_out**0.5", ""), UNSCALED),
    row("CausalAttention", "twentieth_root_in_module", replace("0.5", "0.05"), TWENTIETH_ROOT),
    row("CausalAttention", "divided_by_width_itself_in_module", replace("**0.5", ""), NO_ROOT),
    row("CausalAttention", "scaled_by_number_of_tokens_in_module", replace("d_out**0.5", "num_tokens**0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so divide by "
        "the root of the width of queries and keys, d_out."),
    row("CausalAttention", "scaled_by_context_length", replace("d_out**0.5", "len(self.mask) ** 0.5"),
        "The scores are divided by the root of context_length. A dot product sums over features and does not depend "
        "on the length of a text. Divide by the root of the number of features, d_out."),
    row("CausalAttention", "scaled_by_d_in", replace("d_out**0.5", "self.W_query.in_features**0.5"),
        "The scores are divided by √d_in. The dot products are between projected tokens, and their width is d_out."),
    row("CausalAttention", "scaled_for_the_worked_example_in_module", replace("d_out**0.5", "2**0.5"),
        "The divisor is a fixed number, √2, which is correct only for the worked example. Use the class's own "
        "arguments: d_out, or the width of the keys."),
    row("CausalAttention", "scaled_by_root_of_eight_in_module", replace("d_out**0.5", "8**0.5"), FIXED),
    row("CausalAttention", "scaled_by_eight_in_module", replace("d_out**0.5", "8"), FIXED),
    row("CausalAttention", "scaled_after_softmax_in_module",
        replace("masked / d_out**0.5, dim=-1)", "masked, dim=-1) / d_out**0.5"), SCALED_LATE),
    row("CausalAttention", "fifth_power_in_module", replace("0.5", "5"), FIFTH),
    row("CausalAttention", "square_instead_of_root_in_module", replace("0.5", "2"), SQUARE),
    row("CausalAttention", "multiplied_by_root_in_module", replace("/ d_out", "* d_out"),
        "The scores are multiplied by the root of the width, so large scores become even larger. Divide by this root."),
    row("CausalAttention", "multiplied_by_half_in_module", replace("/ d_out**0.5", "* d_out * 0.5"),
        MULTIPLIED_BY_HALF),
    row("CausalAttention", "divided_by_half_in_module", replace("d_out**0.5", "(d_out / 2)"), DIVIDED_BY_HALF),
    row("CausalAttention", "arguments_do_not_fit_in_module", replace("d_out**0.5", "torch.sqrt(d_out)"), ARGUMENTS),
    row("CausalAttention", "keys_not_transposed", replace("keys.transpose(-2, -1)", "keys"),
        "The keys are not transposed, so features and tokens do not match in the product. Swap the last two dimensions "
        "of the keys, tokens and features."),
    row("CausalAttention", "batch_turned_round", replace("keys.transpose(-2, -1)", "keys.T"),
        "With a batch, `.T` reverses all dimensions, so the batch comes last. Swap only the last two dimensions of the "
        "keys, tokens and features."),
    row("CausalAttention", "batch_turned_round_or_float_mask",
        replace("causal_mask(context_length)", "causal_mask(context_length).float()"),
        "Every call ends in an error. In `queries @ keys.T`, `.T` also moves the batch: use `keys.transpose(-2, "
        "-1)`. `masked_fill` does not take a float mask: use `.bool()`. Otherwise print the shapes and dtypes of the "
        "two tensors in that line."),
    row("CausalAttention", "keys_reshaped",
        replace("transpose(-2, -1)", "reshape(len(keys), keys.shape[2], keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),

    # CausalAttention: the mask
    row("CausalAttention", "masked_scores_thrown_away_in_module", replace("masked = ", "masked = scores\n        "),
        THROWN_AWAY),
    row("CausalAttention", "zeros_instead_of_minus_infinity_in_module", replace(", -torch.inf)", ", 0)"), ZEROS),
    row("CausalAttention", "zero_scores_hidden_in_module",
        replace("scores.masked_fill(self.mask[:num_tokens, :num_tokens]",
                "scores.tril().masked_fill(scores.tril() == 0"),
        ZEROS_HIDDEN),
    row("CausalAttention", "minus_ten_thousand_in_module", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    row("CausalAttention", "past_hidden_in_module", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    row("CausalAttention", "diagonal_hidden_too_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu().bool()"), SELF_HIDDEN),
    row("CausalAttention", "next_token_seen_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu(2).bool()"), NEXT_SEEN),
    row("CausalAttention", "masked_after_softmax_in_module",
        replace("masked / d_out**0.5, dim=-1)", "scores / d_out**0.5, dim=-1).tril()"), MASKED_LATE),
    row("CausalAttention", "zero_times_infinity_in_module",
        replace(".masked_fill(", " + ").replace(", -torch.inf)", " * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, "
        "or the mask hides everything. Fill only the future's entries: `masked_fill`, or `torch.where`."),
    row("CausalAttention", "mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly context_length tokens work. That is the longest text allowed. Read T, the number of "
        "tokens, from the inputs, and use the upper left corner of the mask, of shape (T, T)."),
    row("CausalAttention", "wrong_corner_of_the_mask", replace("[:num_tokens, ", "[-num_tokens:, "),
        "The code uses the wrong corner of the mask for shorter texts: the last rows or columns belong to other "
        "tokens. A text starts at the first token, so use the upper left corner."),
    row("CausalAttention", "mask_for_the_worked_example_in_module",
        replace("causal_mask(context_length)", "causal_mask(6)"),
        "The mask always has the size of the worked example, six tokens. Use the argument context_length."),
    row("CausalAttention", "mask_as_a_parameter",
        replace('self.register_buffer("mask", causal_mask(context_length), persistent=False)',
                "self.mask = nn.Parameter(causal_mask(context_length).float())")
        .replace(":num_tokens],", ":num_tokens].bool(),"),
        "The mask is an nn.Parameter, so an optimiser would change it. It should not learn: store it with "
        "`register_buffer`, or make it in `forward`."),
    row("CausalAttention", "past_averaged_in_module", replace("= scores.", "= (0 * scores)."),
        "The past is averaged: every visible token has the same weight, whatever the queries and keys are. The dot "
        "products should decide the weights."),
    row("CausalAttention", "only_one_token_back",
        replace(", -torch.inf)", " | torch.ones_like(scores).tril(-2).bool(), -torch.inf)"),
        "Each token sees at most the token before it. The whole past should be visible, back to the start of the "
        "text."),
    row("CausalAttention", "diagonal_lowered_in_module",
        replace("self.mask[:num_tokens, :num_tokens], -torch.inf", "torch.ones_like(scores).triu().bool(), -1e9"),
        SELF_LOWERED),
    row("CausalAttention", "only_the_future_seen_in_module", replace("self.mask[", "~self.mask["), ONLY_FUTURE_SEEN),
    row("CausalAttention", "only_the_future_seen_beside_low_numbers_in_module",
        replace("self.mask[", "~self.mask[").replace(", -torch.inf)", ", -1e9)"), ONLY_FUTURE_SEEN),
    row("CausalAttention", "large_number_for_the_future_in_module", replace(", -torch.inf)", ", 1e9)"), PLUS_LARGE),
    row("CausalAttention", "weights_masked_with_minus_infinity_in_module",
        replace("scores.masked_fill", "torch.softmax(scores / d_out**0.5, dim=-1).masked_fill")
        .replace(MASKED_SOFTMAX_IN_MODULE, "masked"),
        "The mask came after softmax, so the weights of the future are minus infinity. Mask the scores, and then apply "
        "softmax, which makes zeros of minus infinity."),
    row("CausalAttention", "mask_of_the_width", replace("causal_mask(context_length)", "causal_mask(d_out)"),
        "The mask is as large as the number of features, d_out. It hides tokens from tokens: its size is "
        "context_length."),

    # CausalAttention: softmax
    row("CausalAttention", "softmax_over_queries_in_module", replace("dim=-1", "dim=1"), WRONG_DIM),
    row("CausalAttention", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), but texts of a batch are independent. The tokens lie along the last "
        "dimension, -1."),
    row("CausalAttention", "softmax_over_everything_in_module",
        replace("masked / d_out**0.5, dim=-1)", "(masked / d_out**0.5).flatten(), dim=0).view_as(scores)"),
        WHOLE_TENSOR),
    row("CausalAttention", "softmax_forgotten_in_module",
        replace("torch.softmax(masked / d_out**0.5, dim=-1)", "masked / d_out**0.5"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first: it makes them positive, and zero for the future."),
    row("CausalAttention", "softmax_twice_in_module",
        replace(MASKED_SOFTMAX_IN_MODULE, f"{MASKED_SOFTMAX_IN_MODULE}.softmax(-1)"), SOFTMAX_TWICE),
    row("CausalAttention", "softmax_before_and_after_the_mask_in_module",
        replace("scores.masked_fill", "torch.softmax(scores / d_out**0.5, dim=-1).masked_fill")
        .replace("masked / d_out**0.5", "masked"), BEFORE_AND_AFTER),
    row("CausalAttention", "sums_without_keepdim_in_module",
        replace(MASKED_SOFTMAX_IN_MODULE,
                "torch.exp(masked / d_out**0.5) / torch.exp(masked / d_out**0.5).sum(dim=-1)"),
        SUMS_IN_A_ROW),
    row("CausalAttention", "all_weights_one_in_module",
        replace(MASKED_SOFTMAX_IN_MODULE, "torch.ones_like(scores)"), ALL_ONE),

    # CausalAttention: the batch and the tokens
    row("CausalAttention", "one_text_without_a_batch", replace("shape[-2:]", "shape"),
        "The code expects inputs without a batch, or with one dimension more. The inputs are (B, T, d_in), and the "
        "number of tokens is the second dimension."),
    row("CausalAttention", "batch_of_one_only",
        replace("W_query(inputs)", "W_query(inputs.reshape(1, *inputs.shape[1:]))"),
        "Batches of several texts end in an error: the batch is squeezed away, or its size is used as the number of "
        "tokens, which is inputs.shape[1]. Keep the batch as the first dimension; matrix products and softmax work "
        "with it."),
    row("CausalAttention", "weights_of_the_first_text", replace("dim=-1)", "dim=-1)[:1].expand_as(scores)"),
        "Every text of the batch gets the weights of the first text. Each text has its own scores."),
    row("CausalAttention", "batch_as_one_long_text",
        replace("queries = self", "shape, inputs = inputs.shape, inputs.flatten(0, 1)[None]\n        queries = self")
        .replace("self.mask[:num_tokens, :num_tokens]", "causal_mask(num_tokens)")
        .replace("weights @ values", "(weights @ values).view(*shape[:2], -1)"),
        "The texts of a batch are joined to one long text, so later texts see the earlier ones. Texts of a batch "
        "never look at each other."),
    row("CausalAttention", "batch_held_to_context_length", replace("inputs.shape[1] >", "inputs.shape[0] >"),
        "A batch with more texts than context_length raises an error. context_length limits the tokens of a text, "
        "the second dimension of the inputs. A batch may have any number of texts."),
    row("CausalAttention", "single_token_refused",
        replace("queries = self",
                "if inputs.shape[1] < 2:\n            raise ValueError('there is no past')\n        queries = self"),
        "A single token raises an error or gives a wrong output. But it is a text: it sees itself, and its output is "
        "its own value."),
    row("CausalAttention", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    row("CausalAttention", "view_of_the_inputs",
        replace("W_query(inputs)", "W_query(inputs.view(-1, inputs.shape[-1])).view(*inputs.shape[:2], -1)"),
        "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if "
        "necessary. Even better: nn.Linear works with any leading dimensions."),

    # CausalAttention: dropout
    row("CausalAttention", "dropout_never_applied", replace("self.dropout(", "("),
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    row("CausalAttention", "dropout_in_eval_mode_too", replace("self.dropout(", "nn.Dropout(self.dropout.p)("),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode: pass `training=self.training`. An "
        "nn.Dropout made in `forward` is always in training: make it in `__init__`."),
    row("CausalAttention", "always_half_dropped_in_eval_mode_too", replace("self.dropout(", "nn.functional.dropout("),
        "Half of the weights are dropped, in eval mode too: `F.dropout` knows neither `dropout` nor the mode. Pass "
        "both on, or use the nn.Dropout made in `__init__`."),
    row("CausalAttention", "dropout_in_eval_mode_only",
        replace("self.dropout(", "nn.Dropout(self.dropout.p).train(not self.training)("),
        "Weights are dropped in eval mode and not in training: the check of the mode is inverted. Dropout is only "
        "for training."),
    row("CausalAttention", "always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout()"),
        "Half of the weights are dropped and `dropout` is ignored: 0.5 is the default of PyTorch. Pass `dropout` on."),
    row("CausalAttention", "dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "The code uses `dropout` as the probability of keeping a weight. In nn.Dropout, and in this course, it is "
        "the probability of dropping one."),
    row("CausalAttention", "dropout_before_softmax",
        replace("self.dropout(", "(").replace("masked / d_out**0.5", "self.dropout(masked / d_out**0.5)"),
        "Dropout acts on the scores, before softmax. A score of zero does not give a weight of zero, and minus "
        "infinity times zero is NaN. Drop the weights, after softmax."),
    row("CausalAttention", "dropout_before_the_mask",
        replace("self.dropout(", "(").replace("= scores.", "= self.dropout(scores)."),
        "In training the weights change, but none becomes zero: dropout acts before the softmax, on the scores or on "
        "queries or keys. A score of zero does not give a weight of zero. Drop the weights, after softmax."),
    row("CausalAttention", "dropout_on_the_values",
        replace("self.dropout(", "(").replace("@ values", "@ self.dropout(values)"),
        "Dropout acts on the values. Then a dropped feature is missing for every query that looks there. Drop the "
        "weights instead."),
    row("CausalAttention", "dropout_on_the_outputs",
        replace("self.dropout(", "(").replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts on the outputs. A transformer does that too, later. But here the weights are dropped, before "
        "they are multiplied with the values."),
    row("CausalAttention", "dropout_on_weights_and_outputs",
        replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts twice, on the weights and again on the values or the outputs. In this module only the weights "
        "are dropped."),
    row("CausalAttention", "weights_dropped_twice",
        replace(MASKED_SOFTMAX_IN_MODULE, f"self.dropout({MASKED_SOFTMAX_IN_MODULE})"),
        "The weights pass through dropout twice, so more of them are dropped than `dropout` says. Once is enough."),
    row("CausalAttention", "survivors_scaled_twice_in_module",
        replace("weights @ values", "weights / (1 - self.dropout.p if self.training else 1) @ values"),
        "The kept weights are divided by 1 - dropout twice: nn.Dropout already does it. Use its result without any "
        "change."),
    row("CausalAttention", "survivors_scaled_again_in_both_modes",
        replace("weights @ values", "weights / (1 - self.dropout.p) @ values"),
        "The weights are divided by 1 - dropout once more, in eval mode too. nn.Dropout already does it, and only in "
        "training. Use its result without any change."),
    row("CausalAttention", "always_a_tenth_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.1)"),
        "A tenth of the weights is dropped, and the argument `dropout` is ignored. Pass it on to nn.Dropout."),
    row("CausalAttention", "dropout_on_the_inputs",
        replace("self.dropout(", "(").replace("queries =", "inputs = self.dropout(inputs)\n        queries ="),
        "Dropout acts on the inputs, so queries, keys and values all change. Here only the attention weights are "
        "dropped."),
    row("CausalAttention", "rows_renormalized_after_dropout",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True) @ values"),
        "After dropout the rows are divided by their sum again. They should sum to one only on average: divide the "
        "kept weights by 1 - dropout, and do nothing else."),
    row("CausalAttention", "rows_renormalized_with_care",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ values"),
        "After dropout the rows are divided by their sum again, except those that lost everything. They should sum "
        "to one only on average: divide the kept weights by 1 - dropout, and do nothing else."),
    row("CausalAttention", "survivors_not_scaled_in_module",
        replace("weights @ values", "weights * (1 - self.dropout.p if self.training else 1) @ values"),
        "Weights are dropped, but the kept weights are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    row("CausalAttention", "dropped_once_and_for_all",
        replace("self.dropout(", "(")
        .replace("Dropout(dropout)",
                 "Dropout(dropout)\n        self.kept = self.dropout(torch.ones(4, context_length, context_length))")
        .replace("return weights",
                 "kept = self.kept[:len(weights), :num_tokens, :num_tokens] if self.training else 1\n"
                 "        return weights * kept"),
        "Every call drops the same weights: they are drawn once, when the module is made, or the code sets a seed. "
        "Draw again in each call and set no seed, so that the network cannot rely on a single token."),
    row("CausalAttention", "texts_dropped_alike",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[:1])) @ values"),
        "All texts of a batch have the same weights dropped: the draws have the shape (T, T). Draw for (B, T, T)."),
    row("CausalAttention", "whole_tokens_dropped",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[:, :1])) @ values"),
        "Whole tokens are dropped: there is one draw for each token, for all queries. Draw for each weight."),
    row("CausalAttention", "whole_rows_dropped",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[..., :1])) @ values"),
        "Whole rows of weights are dropped: a token sees all of its past or nothing. Draw for each weight, as "
        "nn.Dropout does. nn.Dropout1d and similar modules drop whole rows."),

    # CausalAttention: layers
    row("CausalAttention", "matrices_instead_of_layers",
        replace("nn.Linear(d_in, d_out, bias=qkv_bias)", "nn.Parameter(torch.rand(d_in, d_out))", 3)
        .replace("= self.W_", "= inputs @ self.W_", 3).replace("(inputs)", "", 3),
        "The three are matrices made by hand, as in the first version of self-attention. Here each should be an "
        "nn.Linear, which has its own weight."),
    row("CausalAttention", "layers_the_other_way_round",
        replace("nn.Linear(d_in, d_out, ", "nn.Linear(d_out, d_in, ", 3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_in, d_out)."),
    row("CausalAttention", "layers_of_the_worked_example", replace("nn.Linear(d_in, d_out, ", "nn.Linear(3, 2, ", 3),
        "The layers have the sizes of the worked example, three and two. Use the class's own arguments, d_in and "
        "d_out. Otherwise it works only for these sizes."),
    row("CausalAttention", "layers_under_other_names",
        replace("W_query", "W_q", 2).replace("W_key", "W_k", 2).replace("W_value", "W_v", 2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
    row("CausalAttention", "layers_from_d_out_to_d_out",
        replace("nn.Linear(d_in, d_out, ", "nn.Linear(d_out, d_out, ", 3),
        "The layers go from d_out to d_out, so the module works only if d_in and d_out are equal. Tokens come in with "
        "d_in features and leave with d_out."),
    row("CausalAttention", "layers_from_d_in_to_d_in", replace("nn.Linear(d_in, d_out, ", "nn.Linear(d_in, d_in, ", 3),
        "The layers go from d_in to d_in, so the contexts are d_in wide. Tokens come in with d_in features and leave "
        "with d_out."),
    row("CausalAttention", "another_layer_at_the_end",
        replace("self.dropout = nn", "self.out_proj = nn.Linear(d_out, d_out)\n        self.dropout = nn")
        .replace("weights @ values", "self.out_proj(weights @ values)"),
        "The contexts pass through another layer, such as out_proj. This module has only three layers: return the "
        "contexts."),
    row("CausalAttention", "no_argument_for_the_bias",
        replace(", qkv_bias: bool = False", "").replace("bias=qkv_bias", "bias=False", 3),
        "The class does not take qkv_bias, so a call with it fails. Add the argument, with the default False, and pass "
        "it on to the three layers."),
    row("CausalAttention", "bias_always", replace(", bias=qkv_bias", "", 3),
        "The layers always have a bias, because that is the default of nn.Linear. Pass qkv_bias on: bias=qkv_bias."),
    row("CausalAttention", "bias_never", replace("bias=qkv_bias", "bias=False", 3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    row("CausalAttention", "bias_in_W_query_only",
        replace("W_key = nn.Linear(d_in, d_out, bias=qkv_bias)", "W_key = nn.Linear(d_in, d_out, bias=False)")
        .replace("W_value = nn.Linear(d_in, d_out, bias=qkv_bias)", "W_value = nn.Linear(d_in, d_out, bias=False)"),
        "Only W_query gets a bias. The q, the k and the v in qkv_bias mean all three layers."),
    row("CausalAttention", "biases_made_but_unused",
        replace("= self.W_", "= inputs @ self.W_", 3).replace("(inputs)", ".weight.T", 3),
        "Only the weights of the layers are used, and not their biases. Call the layer, W_query(inputs): it adds its "
        "bias too."),
    row("CausalAttention", "one_layer_in_use", replace("W_key(", "W_query(").replace("W_value(", "W_query("),
        "W_query is used for queries, keys and values, and the other two layers are never used. Each role has its "
        "own weights to learn."),
    row("CausalAttention", "keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    row("CausalAttention", "key_layer_unused", replace("W_key(", "W_query("),
        "W_key is made but never used: queries are compared with queries. Compare each query with the keys, inputs @ "
        "W_key."),
    row("CausalAttention", "keys_ask_each_other", replace("queries @ keys", "keys @ keys"),
        "The queries are made but never used: keys are compared with keys. Compare each query with every key."),
    row("CausalAttention", "values_as_queries", replace("queries @ keys", "values @ keys"), VALUES_AS_QUERIES),
    row("CausalAttention", "values_as_keys", replace("queries @ keys", "queries @ values"), VALUES_AS_KEYS),
    row("CausalAttention", "inputs_compared", replace("queries @ keys", "inputs @ inputs"),
        "The inputs are compared with each other, as in unit 1. Here the dot products are between queries and keys, "
        "which are made from the inputs."),
    row("CausalAttention", "keys_and_values_swapped",
        replace("queries @ keys", "queries @ values").replace("weights @ values", "weights @ keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    row("CausalAttention", "contexts_transposed", replace("weights @ values", "(weights @ values).mT"),
        "The contexts are transposed: there is a column for each token. Each token has a row, which the product of "
        "weights and values already gives."),
    row("CausalAttention", "mixed_by_the_columns", replace("weights @ values", "weights.mT @ values"),
        "The contexts use the columns of the weights. The weights of a token are its row: do not transpose them before "
        "the product with the values."),
    row("CausalAttention", "keys_handed_over", replace("W_value(", "W_key("),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("CausalAttention", "value_layer_unused", replace("self.W_value(inputs)", "inputs"),
        "W_value is made but never used: the weights mix the inputs themselves. Mix the values, W_value(inputs)."),
    row("CausalAttention", "equal_widths_not_projected",
        replace("self.W_value(inputs)", "inputs if inputs.shape == queries.shape else self.W_value(inputs)"),
        "If d_in and d_out are equal, the weights mix the inputs themselves. Always mix the values, W_value(inputs)."),
    row("CausalAttention", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The module returns contexts and weights. The next layer needs one tensor: return only the contexts."),
    row("CausalAttention", "weights_instead_of_contexts", replace("weights @ values", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is the sum of "
        "the values, each times its weight."),

    # CausalAttention: gradients, dtypes, arguments
    row("CausalAttention", "gradients_switched_off", replace("(inputs)", "(inputs).detach()", 3),
        "No gradient flows through: does `.detach()`, `.data` or `torch.no_grad()` cut off the outputs, or the "
        "outputs of the layers? So nothing below them can learn."),
    row("CausalAttention", "only_values_learn", replace("dim=-1)", "dim=-1).detach()"),
        "No gradient flows through the weights that are multiplied with the values, so only the values learn. "
        "Queries and keys must be able to learn too."),
    row("CausalAttention", "inputs_made_float32", replace("(inputs)", "(inputs.float())", 3),
        "The inputs or a tensor of your own are made float32 and do not match float64. Keep the dtype of the inputs, "
        "and make your own tensors like them."),
    row("CausalAttention", "inputs_changed_in_place",
        replace("return weights", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
]
# fmt: on
