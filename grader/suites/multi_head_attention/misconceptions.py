"""Misconceptions of unit 4: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If several exercises have the same mistake, the name says which exercise it is, and
the row of the later exercise refers to the earlier row by its name.
"""

from __future__ import annotations

from grader.suites.attention_mistakes import (
    ARGUMENTS,
    BEFORE_AND_AFTER,
    FIFTH,
    FIXED,
    NO_SOFTMAX,
    ONLY_FUTURE_SEEN,
    PLUS_LARGE,
    SCALED_LATE,
    SOFTMAX_OVER_QUERIES,
    SOFTMAX_TWICE,
    TEN_THOUSAND,
    TWENTIETH,
    VALUES_AS_KEYS,
    VALUES_AS_QUERIES,
    ZEROS_HIDDEN,
)
from grader.testing.misconceptions import Replacements, replace, row

# -- sentences of several rows -----------------------------------------------------------------------------------

DEALT_IN_TURN = (
    "The features are given to the heads in turn, one by one. Head 0 should have the first head_dim features, head 1 "
    "the next, and so on: reshape to (…, num_heads, head_dim), in this order."
)
EXCHANGED = (
    "num_heads and head_dim are swapped: there are num_heads heads, and each has head_dim = d_out / num_heads features."
)
LEFT_TO_RESHAPE = (
    "If num_heads does not divide the features, the error is not a ValueError, perhaps because reshape fails. Check "
    "first, and raise a ValueError that names the two numbers."
)
NO_ERROR = (
    "If num_heads does not divide the features, there is no error: features are lost or made up, or None is returned. "
    "This is the caller's mistake, so raise an error."
)
ALL_REFUSED = (
    "The function raises an error although num_heads divides the features. d_out % num_heads is the remainder: raise "
    "an error only if it is not zero."
)
VIEW_REFUSED = (
    "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if necessary."
)
DETACHED = "No gradient flows back through the numbers, for example because of `.detach()`, `.data` or a list."
CHANGED = (
    "The caller's tensor was changed. A method with an underscore at the end changes the tensor itself; without the "
    "underscore it returns a new view."
)
MIXED_BY_RESHAPE = (
    "The shape is correct, but `reshape` or `view` keeps the order of the numbers, so a head gets features of "
    "different tokens. Swap the two dimensions: transpose(1, 2)."
)
TOKENS_FOR_HEADS = (
    "Heads and tokens are swapped in the `reshape` or `view`, which mixes the tokens. Split only the last dimension: "
    "the tokens stay second."
)
UNSCALED = (
    "The scores are not scaled. With wider heads the dot products become larger. Divided by √head_dim they keep a "
    "variance near 1, so that softmax does not give all the weight to one key."
)
NO_ROOT = (
    "The scores are divided by head_dim itself, or twice by its root, which is the same. Their standard deviation is "
    "√head_dim: divide once by √head_dim to bring it to 1."
)
SQUARE = (
    "The scores are divided by the square of head_dim, so they are nearly zero. A square root is the opposite of a "
    "square: the power `0.5`."
)
MULTIPLIED_BY_HALF = (
    "The scores are multiplied by half of head_dim, so they become larger. They should be divided, and by a root: a "
    "power with the exponent 0.5."
)
DIVIDED_BY_HALF = (
    "The scores are divided by half of head_dim. The half is an exponent: √head_dim is head_dim to the power of 0.5."
)
WEIGHTS_MASKED = (
    "The mask came after softmax, so the weights of the future are minus infinity. Mask the scores, and then apply "
    "softmax, which makes zeros of minus infinity."
)
ALL_ONE = (
    "Every weight is one, also for the future. A softmax over a dimension of size one gives that, for example after "
    "`unsqueeze`. It should run over the keys."
)
WITH_A_SLASH = (
    "The width of a head is a float, because `/` always gives one. Sizes are whole numbers: divide with `//`."
)
NO_ARGUMENT = (
    "The class does not take qkv_bias, so a call with it fails. Add the argument, with the default False, and pass it "
    "on."
)
HALF = (
    "Python evaluates `/` and `*` from left to right: `/ head_dim*0.5` divides by head_dim and then multiplies by 0.5. "
    "A square root is a power, written with `**`."
)
MULTIPLIED = "The scores are multiplied by √head_dim, so large scores become even larger. Divide by √head_dim."
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over a head's features, so it "
    "grows with their number, head_dim."
)
BY_WIDTH = (
    "The scores are divided by √d_out, the width of all heads together. Each dot product sums only head_dim features: "
    "divide by √head_dim."
)
FUTURE_VISIBLE = (
    "Tokens see the future: there is no mask, or its result is not used. `masked_fill` returns a new tensor; only "
    "`masked_fill_`, with the underscore, changes the old one."
)
PAST_HIDDEN = (
    "The mask is inverted: each token sees itself and later tokens. The future lies above the diagonal, in "
    "`triu(diagonal=1)`."
)
DIAGONAL_HIDDEN = (
    "The diagonal is hidden too, so the first token has no key left, and softmax gives nan. A token sees itself: use "
    "`diagonal=1`."
)
DIAGONAL_LOWERED = (
    "The diagonal is hidden too, so the first token has no key left. All its scores are equal, so it gives every token "
    "the same weight, also later ones. A token sees itself: use `diagonal=1`."
)
NEXT_VISIBLE = (
    "The mask begins one position too far to the right, so each token sees the next one, which it should predict. The "
    "future begins at `diagonal=1`."
)
ZERO_BEFORE_SOFTMAX = (
    "Scores of the future are set to zero before softmax. A score of zero still gets weight, because e⁰ = 1. Use minus "
    "infinity."
)
ZERO_AFTER_SOFTMAX = (
    "The future is set to zero after softmax, so the other weights no longer sum to one. Hide it before softmax, with "
    "minus infinity."
)
SOFTMAX_OVER_HEADS = (
    "Softmax runs over dimension 1, the heads, so the heads compete for each key. The keys always lie along the last "
    "dimension."
)
NOT_TRANSPOSED_BACK = (
    "The heads are merged before the dimensions are swapped back, so each row mixes features of several tokens. First "
    "transpose(1, 2), then make the last two dimensions one."
)
ONE_PROJECTION = (
    "One projection is used for queries, keys and values, and the other two are never used. Each role has its own "
    "weights to learn."
)
BY_HEADS = (
    "The scores are divided by the root of the number of heads. A dot product sums over one head's features, so divide "
    "by the root of their number, head_dim."
)
INPUTS_CHANGED = (
    "The caller's inputs were changed. Other code may still need them: write `x = x + …` instead of `x += …`."
)
STACKED = (
    "The heads are a separate dimension in the output. torch.cat joins along an existing dimension, but torch.stack "
    "makes a new one."
)

# -- rows --------------------------------------------------------------------------------------------------------

# The head that MultiHeadAttentionWrapper makes num_heads times, and its output.
HEAD = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
SIDE_BY_SIDE = "torch.cat([head(inputs) for head in self.heads], dim=-1)"
PROJECTED = "head.W_query(inputs), head.W_key(inputs), head.W_value(inputs), None, head.dropout.p * head.training"


CALLS = {
    "MultiHeadAttentionWrapper": ["CausalAttention"],
    "two_dimensional_output": ["MultiHeadAttentionWrapper"],
    "gpt2_small_attention": ["MultiHeadAttention", "MultiHeadAttentionWrapper"],
}

# stack_heads without its errors about widths, and with new tensors as the data of the parameters.
ANY_WIDTH = replace("raise ValueError(f", "_ = (f", 2).replace(".copy_(", ".data = (", 2)


def masked_by(mask: str) -> Replacements:
    """Use this mask in MultiHeadAttention instead of head_weights, which makes one of the right size."""
    masked = f"head_scores(queries, keys).masked_fill_({mask}.triu(1).bool(), -torch.inf)"
    return replace(
        "head_weights(head_scores(queries, keys), self.head_dim)", f"torch.softmax({masked} / self.head_dim**0.5, -1)"
    )


# fmt: off
ROWS = [
    # unroll_heads
    row("unroll_heads", "features_dealt_in_turn",
        replace("num_heads, d_out // num_heads)", "d_out // num_heads, num_heads).transpose(2, 3)"), DEALT_IN_TURN),
    row("unroll_heads", "heads_and_features_exchanged",
        replace("num_heads, d_out // num_heads)", "d_out // num_heads, num_heads)"), EXCHANGED),
    row("unroll_heads", "heads_last", replace("d_out // num_heads)", "d_out // num_heads).transpose(2, 3)"),
        "The heads come last. Each head should have its features next to each other: heads third, features last."),
    row("unroll_heads", "grouped_already", replace("d_out // num_heads)", "d_out // num_heads).transpose(1, 2)"),
        "The heads are already in front of the tokens. That is the next step; here only the last dimension becomes "
        "two."),
    row("unroll_heads", "tokens_taken_for_heads", replace("num_tokens, num_heads", "num_heads, num_tokens"),
        TOKENS_FOR_HEADS),
    row("unroll_heads", "tokens_taken_for_heads_in_a_view",
        replace("reshape(batch, num_tokens, num_heads", "view(batch, num_heads, num_tokens"), TOKENS_FOR_HEADS),
    row("unroll_heads", "check_left_to_reshape", replace("d_out % num_heads", "False"), LEFT_TO_RESHAPE),
    row("unroll_heads", "rest_cut_off",
        replace("d_out % num_heads", "False").replace("x.reshape", "x[..., : d_out // num_heads * num_heads].reshape"),
        NO_ERROR),
    row("unroll_heads", "every_division_refused", replace("d_out % num_heads", "num_heads % d_out"), ALL_REFUSED),
    row("unroll_heads", "tokens_viewed_as_one_row",
        replace("x.reshape(batch", "x.view(batch * num_tokens, num_heads, -1).view(batch"), VIEW_REFUSED),
    row("unroll_heads", "unrolled_without_gradients", replace("x.reshape", "x.detach().reshape"), DETACHED),
    row("unroll_heads", "resized_in_place", replace("x.reshape", "x.resize_"), CHANGED),
    row("unroll_heads", "width_of_a_head_as_a_float", replace("d_out // num_heads)", "d_out / num_heads)"),
        WITH_A_SLASH),
    # group_by_head
    row("group_by_head", "reshaped_instead_of_transposed",
        replace("transpose(1, 2)", "reshape(x.shape[0], x.shape[2], x.shape[1], -1)"), MIXED_BY_RESHAPE),
    row("group_by_head", "viewed_instead_of_transposed",
        replace("transpose(1, 2)", "view(x.shape[0], x.shape[2], x.shape[1], -1)"), MIXED_BY_RESHAPE),
    row("group_by_head", "batch_exchanged_with_heads", replace("transpose(1, 2)", "transpose(0, 2)"),
        "The batch and the heads are swapped. Dimensions are counted from 0, and the batch stays first: transpose(1, "
        "2)."),
    row("group_by_head", "heads_exchanged_with_features", replace("transpose(1, 2)", "transpose(2, 3)"),
        "The last two dimensions are swapped. Swap tokens and heads, the second and the third dimension."),
    row("group_by_head", "tokens_exchanged_with_features", replace("transpose(1, 2)", "transpose(1, 3)"),
        "Tokens and features are swapped. Swap tokens and heads, the second and the third dimension."),
    row("group_by_head", "heads_in_front_of_the_batch", replace("transpose(1, 2)", "permute(2, 0, 1, 3)"),
        "The heads come before the batch. Every sequence has its own heads, so the batch stays first."),
    row("group_by_head", "transpose_thrown_away",
        replace("return x.transpose(1, 2)", "x.transpose(1, 2)\n    return x"),
        "Nothing was moved: the heads are still inside each token. `transpose` returns a new tensor and does not "
        "change the old one, so return its result."),
    row("group_by_head", "heads_and_tokens_in_one_row", replace("transpose(1, 2)", "transpose(1, 2).flatten(1, 2)"),
        "The heads of all tokens are in one long row: (B, H · T, head_dim). The tokens of a head need their own "
        "dimension."),
    row("group_by_head", "features_viewed_as_one_row",
        replace("x.transpose(1, 2)", "torch.stack(x.view(*x.shape[:2], -1).split(x.shape[3], dim=2), dim=1)"),
        VIEW_REFUSED),
    row("group_by_head", "grouped_without_gradients", replace("x.transpose", "x.data.transpose"), DETACHED),
    row("group_by_head", "transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
    # head_scores
    row("head_scores", "scores_scaled_already",
        replace("transpose(-2, -1)", "transpose(-2, -1) / keys.shape[-1] ** 0.5"),
        "The scores are already divided by √head_dim here. They should be plain dot products; the next exercise "
        "scales them once."),
    row("head_scores", "future_hidden_already",
        replace("return queries @ keys.transpose(-2, -1)", "scores = queries @ keys.transpose(-2, -1)\n    "
                "return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"),
        "The future is already hidden here. This exercise computes every score; the next one hides some of them."),
    row("head_scores", "scores_made_weights",
        replace("queries @ keys.transpose(-2, -1)", "torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)"),
        "Softmax is already applied here. A score may be any number; the next exercise turns scores into weights."),
    row("head_scores", "keys_ask_the_queries", replace("queries @ keys.transpose", "keys @ queries.transpose"),
        "Queries and keys are swapped: row i should belong to query i and contain its dot products with every key."),
    row("head_scores", "queries_compared_with_queries",
        replace("keys.transpose(-2, -1)", "queries.transpose(-2, -1) + 0 * keys.sum()"),
        "The queries are compared with themselves, and the keys are not used. Compare each query with the keys."),
    row("head_scores", "wrong_dimensions_transposed", replace("transpose(-2, -1)", "transpose(1, 2)"),
        "The shapes of queries and keys do not match in the product. Swap only the last two dimensions of the keys, "
        "tokens and features, with transpose(-2, -1). Then use `@`, which allows any dimensions in front."),
    row("head_scores", "keys_reshaped_instead_of_transposed",
        replace("transpose(-2, -1)", "reshape(*keys.shape[:2], keys.shape[3], keys.shape[2])"),
        "The keys are reshaped to (…, head_dim, T), not transposed: the shape is correct, but each column contains "
        "features of different keys."),
    row("head_scores", "only_the_own_key", replace("queries @ keys.transpose(-2, -1)", "(queries * keys).sum(dim=-1)"),
        "Each query is compared only with the key at its own position. Compare it with all keys of its head: a "
        "matrix product, with a row of scores for each query."),
    row("head_scores", "multiplied_entry_by_entry", replace("queries @ keys.transpose(-2, -1)", "queries * keys"),
        "`*` multiplies entry by entry. A dot product sums over the features: `@` computes it for every query with "
        "every key."),
    row("head_scores", "heads_summed",
        replace("queries @ keys.transpose(-2, -1)", "(queries @ keys.transpose(-2, -1)).sum(dim=1)"),
        "The scores of all heads are added up to one matrix. Each head has its own scores: its own (T, T) matrix."),
    row("head_scores", "keys_of_all_heads", replace("keys.transpose", "keys.sum(dim=1, keepdim=True).transpose"),
        "A head's queries are compared with the keys of all heads. Heads are independent of each other here: compare "
        "only within the head."),
    row("head_scores", "keys_of_the_first_sequence", replace("keys.transpose", "keys[:1].transpose"),
        "Every sequence is compared with the keys of the first sequence. The elements of a batch are independent of "
        "each other."),
    row("head_scores", "cosines_instead_of_dot_products",
        replace("queries @ keys", "nn.functional.normalize(queries, dim=-1) @ nn.functional.normalize(keys, dim=-1)"),
        "The vectors are scaled to length one before they are compared. But in a dot product the lengths count too."),
    row("head_scores", "heads_viewed_as_a_batch",
        replace("queries @ keys.transpose(-2, -1)",
                "(queries.view(-1, *queries.shape[2:]) @ keys.view(-1, *keys.shape[2:]).mT)"
                ".view(*queries.shape[:3], -1)"), VIEW_REFUSED),
    row("head_scores", "scored_without_gradients", replace("queries @ keys", "queries.detach() @ keys.detach()"),
        DETACHED),
    row("head_scores", "only_queries_learn", replace("keys.transpose", "keys.detach().transpose"),
        "The keys are cut off from the gradients, so only the queries learn. The keys must be able to learn too."),
    row("head_scores", "keys_transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
    row("head_scores", "keys_compared_with_keys", replace("queries @ keys", "keys @ keys"),
        "The keys are compared with themselves, and the queries are not used. Compare each query with the keys."),
    row("head_scores", "features_compared",
        replace("queries @ keys.transpose(-2, -1)", "queries.transpose(-2, -1) @ keys"),
        "Features are compared with features: the scores are (…, head_dim, head_dim). A token looks at tokens, so "
        "transpose only the keys."),
    row("head_scores", "divided_by_head_dim_already",
        replace("transpose(-2, -1)", "transpose(-2, -1) / keys.shape[-1]"),
        "The scores are already divided by head_dim here. They should be plain dot products; the next exercise scales "
        "them once, by a root."),
    # head_weights
    row("head_weights", "scaling_forgotten", replace(" / head_dim**0.5", ""), UNSCALED),
    row("head_weights", "divided_by_head_dim_itself", replace("head_dim**0.5", "head_dim"), NO_ROOT),
    row("head_weights", "half_instead_of_root", replace("head_dim**0.5", "head_dim*0.5"), HALF),
    row("head_weights", "twentieth_root", replace("head_dim**0.5", "head_dim**.05"), TWENTIETH),
    row("head_weights", "multiplied_by_root", replace("masked / ", "masked * "), MULTIPLIED),
    row("head_weights", "scaled_by_number_of_tokens", replace("head_dim**0.5", "num_tokens**0.5"), BY_TOKENS),
    row("head_weights", "scaled_by_all_heads_together", replace("head_dim**0.5", "(scores.shape[1] * head_dim) ** 0.5"),
        BY_WIDTH),
    row("head_weights", "scaled_by_number_of_heads", replace("head_dim**0.5", "scores.shape[1] ** 0.5"), BY_HEADS),
    row("head_weights", "scaled_by_root_of_eight", replace("head_dim**0.5", "8**0.5"), FIXED),
    row("head_weights", "scaled_by_eight", replace("head_dim**0.5", "8"), FIXED),
    row("head_weights", "scaled_after_softmax", replace(" / head_dim**0.5, dim=-1)", ", dim=-1) / head_dim**0.5"),
        SCALED_LATE),
    row("head_weights", "future_visible", replace("masked / ", "scores / "), FUTURE_VISIBLE),
    row("head_weights", "past_hidden", replace("triu(diagonal=1)", "tril(diagonal=-1)"), PAST_HIDDEN),
    row("head_weights", "diagonal_hidden", replace("diagonal=1", "diagonal=0"), DIAGONAL_HIDDEN),
    row("head_weights", "diagonal_lowered", replace("diagonal=1", "diagonal=0").replace("-torch.inf", "-1e9"),
        DIAGONAL_LOWERED),
    row("head_weights", "next_token_visible", replace("diagonal=1", "diagonal=2"), NEXT_VISIBLE),
    row("head_weights", "future_zero_before_softmax", replace("-torch.inf", "0"), ZERO_BEFORE_SOFTMAX),
    row("head_weights", "future_zero_after_softmax",
        replace("masked / ", "scores / ").replace("dim=-1)", "dim=-1).tril()"), ZERO_AFTER_SOFTMAX),
    row("head_weights", "renormalised_after_softmax",
        replace("return torch.softmax(masked / head_dim**0.5, dim=-1)",
                "seen = torch.softmax(scores / head_dim**0.5, dim=-1).tril()\n    "
                "return seen / seen.sum(dim=-1, keepdim=True)"),
        "The future is removed after softmax, and the rows are divided by the rest. If the future has nearly all the "
        "weight, the rest is nearly zero. Hide it before softmax."),
    row("head_weights", "future_lowered_by_too_little",
        replace("scores.masked_fill(future, -torch.inf)", "scores - 1000.0 * future"),
        "The scores of the future are lowered by a fixed amount, so a very large score is still above the others. "
        "Use minus infinity."),
    row("head_weights", "zero_scores_hidden",
        replace("scores.masked_fill(future", "scores.tril().masked_fill(scores.tril() == 0"), ZEROS_HIDDEN),
    row("head_weights", "minus_ten_thousand", replace("-torch.inf", "-1e4"), TEN_THOUSAND),
    row("head_weights", "softmax_over_queries", replace("dim=-1", "dim=-2"), SOFTMAX_OVER_QUERIES),
    row("head_weights", "softmax_over_heads", replace("dim=-1", "dim=1"), SOFTMAX_OVER_HEADS),
    row("head_weights", "softmax_over_heads_of_lowered_scores",
        replace("-torch.inf", "-1e9").replace("dim=-1", "dim=1"), SOFTMAX_OVER_HEADS),
    row("head_weights", "softmax_over_heads_without_nan",
        replace("torch.softmax(masked / head_dim**0.5, dim=-1)",
                "torch.softmax(masked / head_dim**0.5, dim=1).nan_to_num()"), SOFTMAX_OVER_HEADS),
    row("head_weights", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch, so independent sequences compete. The keys lie along the last dimension, -1."),
    row("head_weights", "softmax_forgotten",
        replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "(scores / head_dim**0.5).tril()"), NO_SOFTMAX),
    row("head_weights", "divided_by_sum",
        replace("return torch.softmax(masked / head_dim**0.5, dim=-1)",
                "seen = (scores / head_dim**0.5).tril()\n    return seen / seen.sum(dim=-1, keepdim=True)"),
        "The scores of the past are divided by their sum. Scores may be negative, and their sum may be near zero, so "
        "the results are not valid weights. Softmax takes exponentials first."),
    row("head_weights", "past_averaged", replace("scores.masked_fill", "torch.zeros_like(scores).masked_fill"),
        "Every visible token gets the same weight, whatever the scores are. The scores should decide the weights."),
    row("head_weights", "mask_or_sums_do_not_fit",
        replace("num_tokens, num_tokens", "scores.shape[1], scores.shape[1]"),
        "A tensor does not fit the scores. A mask is (T, T), the same for all heads, with T from the end of the "
        "scores, and holds True and False. The sums of a softmax by hand need `keepdim=True`."),
    row("head_weights", "weighed_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"),
        DETACHED),
    row("head_weights", "scores_masked_in_place", replace("masked_fill(", "masked_fill_("),
        "The caller's scores were changed. `masked_fill_`, `/=` and an assignment to a part of a tensor change the "
        "tensor itself; `masked_fill` and `/` return a new one."),
    row("head_weights", "fifth_power", replace("head_dim**0.5", "head_dim**5"), FIFTH),
    row("head_weights", "square_instead_of_root", replace("head_dim**0.5", "head_dim**2"), SQUARE),
    row("head_weights", "multiplied_by_half", replace("/ head_dim**0.5", "* head_dim * 0.5"), MULTIPLIED_BY_HALF),
    row("head_weights", "divided_by_half", replace("head_dim**0.5", "(head_dim / 2)"), DIVIDED_BY_HALF),
    row("head_weights", "softmax_twice", replace("dim=-1)", "dim=-1).softmax(-1)"), SOFTMAX_TWICE),
    row("head_weights", "softmax_before_and_after_the_mask",
        replace("scores.masked_fill", "torch.softmax(scores / head_dim**0.5, -1).masked_fill")
        .replace("masked / head_dim**0.5", "masked"), BEFORE_AND_AFTER),
    row("head_weights", "weights_masked_with_minus_infinity",
        replace("scores.masked_fill", "torch.softmax(scores / head_dim**0.5, -1).masked_fill")
        .replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "masked"), WEIGHTS_MASKED),
    row("head_weights", "arguments_do_not_fit", replace("head_dim**0.5", "torch.sqrt(head_dim)"), ARGUMENTS),
    row("head_weights", "all_weights_one",
        replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "torch.ones_like(scores) + 0 * scores"), ALL_ONE),
    row("head_weights", "only_the_future_seen", replace("masked_fill(future", "masked_fill(~future"), ONLY_FUTURE_SEEN),
    row("head_weights", "only_the_future_seen_beside_low_numbers",
        replace("masked_fill(future, -torch.inf", "masked_fill(~future, -1e9"), ONLY_FUTURE_SEEN),
    row("head_weights", "large_number_for_the_future", replace("-torch.inf", "1e9"), PLUS_LARGE),
    # split_heads
    row("split_heads", "split_by_reshape_alone", replace("group_by_head(unroll_heads", "(tokens_taken_for_heads"),
        MIXED_BY_RESHAPE),
    row("split_heads", "split_by_view_alone",
        replace("group_by_head(unroll_heads", "(tokens_taken_for_heads_in_a_view"), MIXED_BY_RESHAPE),
    row("split_heads", "unrolled_only", replace("group_by_head", ""),
        "The features are unrolled, but the heads are still inside each token: (B, T, H, head_dim). The second step "
        "is missing: group by head."),
    row("split_heads", "heads_and_features_swapped",
        replace("group_by_head(unroll_heads(x, num_heads))", "unroll_heads(x, num_heads).transpose(2, 3)"),
        "The heads are swapped with the features, and not with the tokens: (B, T, head_dim, H). They are still inside "
        "each token."),
    row("split_heads", "features_dealt_in_turn_in_split", replace("unroll_heads", "features_dealt_in_turn"),
        DEALT_IN_TURN),
    row("split_heads", "heads_and_features_exchanged_in_split", replace("unroll_heads", "heads_and_features_exchanged"),
        EXCHANGED),
    row("split_heads", "heads_split_in_front_of_the_batch", replace("num_heads))", "num_heads)).transpose(0, 1)"),
        "The heads come before the batch. Every sequence has its own heads, so the batch stays first: (B, H, T, "
        "head_dim)."),
    row("split_heads", "features_before_tokens", replace("num_heads))", "num_heads)).transpose(2, 3)"),
        "The features come before the tokens. Each head should look like a sequence: tokens third, features last."),
    row("split_heads", "tokens_shared_out",
        replace("return group_by_head(unroll_heads(x, num_heads))",
                "unroll_heads(x, num_heads)\n    return torch.stack(x.chunk(num_heads, dim=1), dim=1)"),
        "The tokens are split among the heads. Every head sees all tokens; split the features instead."),
    row("split_heads", "check_left_to_reshape_in_split", replace("unroll_heads", "check_left_to_reshape"),
        LEFT_TO_RESHAPE),
    row("split_heads", "rest_cut_off_in_split", replace("unroll_heads", "rest_cut_off"), NO_ERROR),
    row("split_heads", "every_division_refused_in_split", replace("unroll_heads", "every_division_refused"),
        ALL_REFUSED),
    row("split_heads", "tokens_viewed_as_one_row_in_split", replace("unroll_heads", "tokens_viewed_as_one_row"),
        VIEW_REFUSED),
    row("split_heads", "split_without_gradients", replace("unroll_heads", "unrolled_without_gradients"), DETACHED),
    row("split_heads", "resized_in_place_in_split", replace("unroll_heads", "resized_in_place"), CHANGED),
    row("split_heads", "width_of_a_head_as_a_float_in_split",
        replace("unroll_heads", "width_of_a_head_as_a_float"), WITH_A_SLASH),
    # merge_heads
    row("merge_heads", "not_transposed_back",
        replace("tokens_first.flatten(start_dim=2)", "x.reshape(x.shape[0], x.shape[2], -1)"), NOT_TRANSPOSED_BACK),
    row("merge_heads", "merged_by_view_alone",
        replace("tokens_first.flatten(start_dim=2)", "x.view(x.shape[0], x.shape[2], -1)"), NOT_TRANSPOSED_BACK),
    row("merge_heads", "features_shuffled", replace("transpose(1, 2)", "permute(0, 2, 3, 1)"),
        "The heads' features are interleaved: the first of each head, then the second of each. Put the heads next to "
        "each other, each with its features in their order."),
    row("merge_heads", "last_head_first", replace("x.transpose", "x.flip(1).transpose"),
        "The last head comes first. Keep the order of the heads, so that merging reverses splitting."),
    row("merge_heads", "heads_below_each_other", replace("tokens_first.flatten(start_dim=2)", "x.flatten(1, 2)"),
        "The heads are joined one below the other: (B, H · T, head_dim). Join the heads of each token in the last "
        "dimension."),
    row("merge_heads", "heads_added_up", replace("tokens_first.flatten(start_dim=2)", "x.sum(dim=1)"),
        "The heads are added up, so their features are mixed. Merging only puts them next to each other."),
    row("merge_heads", "last_two_kept_apart", replace(".flatten(start_dim=2)", ""),
        "The heads are back inside their tokens, but still a separate dimension: (B, T, H, head_dim). Make the last "
        "two dimensions one."),
    row("merge_heads", "batch_merged_away", replace("flatten(start_dim=2)", "flatten(2).flatten(0, 1)"),
        "The batch is merged too. Sequences stay separate: only heads and features become one dimension."),
    row("merge_heads", "view_without_contiguous", replace("flatten(start_dim=2)", "view(x.shape[0], x.shape[2], -1)"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. Use `reshape`, or "
        "`contiguous()` first."),
    row("merge_heads", "merged_without_gradients", replace("x.transpose", "x.detach().transpose"), DETACHED),
    row("merge_heads", "merged_in_place", replace("transpose(", "transpose_("), CHANGED),
    row("merge_heads", "shape_read_in_another_order",
        replace("tokens_first.flatten(start_dim=2)",
                "tokens_first.reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])"),
        "The shape is read as (B, T, H, head_dim), but x is (B, H, T, head_dim). So heads and tokens are exchanged in "
        "the new shape. Read the sizes in the order of x."),
    # MultiHeadAttentionWrapper
    row("MultiHeadAttentionWrapper", "heads_in_a_plain_list", replace("nn.ModuleList(", "list("),
        "The heads are in a plain list, and nn.Module does not search there: an optimiser does not find their "
        "weights. Use nn.ModuleList."),
    row("MultiHeadAttentionWrapper", "heads_in_a_sequence",
        replace("nn.ModuleList(", "nn.Sequential(*(").replace("range(num_heads)", "range(num_heads))")
        .replace(SIDE_BY_SIDE, "self.heads(inputs)"),
        "nn.Sequential passes the inputs through one head after the other. But each head should get the same inputs: "
        "use nn.ModuleList."),
    row("MultiHeadAttentionWrapper", "one_head_many_times",
        replace(f"{HEAD} for _ in range(num_heads)", f"num_heads * [{HEAD}]"),
        "All heads are the same module, or share their layers, so they always have the same weights. Make a new "
        "module for each head."),
    row("MultiHeadAttentionWrapper", "always_two_heads", replace("range(num_heads)", "range(2)"),
        "There is always the same number of heads, as in the worked example. Use the argument num_heads."),
    row("MultiHeadAttentionWrapper", "d_out_shared_out_among_heads",
        replace("d_out, context", "max(1, d_out // num_heads), context"),
        "Each head has only d_out / num_heads features. In this wrapper every head is d_out wide, and the output is "
        "num_heads times as wide. Splitting d_out comes in the next class."),
    row("MultiHeadAttentionWrapper", "width_of_the_notebook", replace("d_out, context", "2, context"),
        "The width of the heads comes from a variable of the notebook, not from the argument d_out. It works for one "
        "size only."),
    row("MultiHeadAttentionWrapper", "outputs_added_up",
        replace("torch.cat", "torch.stack").replace("dim=-1)", "dim=0).sum(dim=0)"),
        "The heads' outputs are added up. Concatenate them, so that each head has its own features: torch.cat along "
        "the last dimension."),
    row("MultiHeadAttentionWrapper", "outputs_averaged",
        replace("torch.cat", "torch.stack").replace("dim=-1)", "dim=0).mean(dim=0)"),
        "The heads' outputs are averaged. Concatenate them, so that each head has its own features: torch.cat along "
        "the last dimension."),
    row("MultiHeadAttentionWrapper", "outputs_stacked",
        replace("torch.cat", "torch.stack").replace("dim=-1", "dim=-2"), STACKED),
    row("MultiHeadAttentionWrapper", "outputs_stacked_at_the_end", replace("torch.cat", "torch.stack"), STACKED),
    row("MultiHeadAttentionWrapper", "outputs_stacked_in_front",
        replace("torch.cat", "torch.stack").replace("dim=-1", "dim=0"), STACKED),
    row("MultiHeadAttentionWrapper", "joined_along_the_tokens", replace("dim=-1", "dim=1"),
        "The heads' outputs are joined along the tokens, so the sequence becomes longer. Join the features: dim=-1."),
    row("MultiHeadAttentionWrapper", "joined_along_the_batch", replace("dim=-1", "dim=0"),
        "The heads' outputs are joined along the batch, so there are more sequences. Join the features: dim=-1."),
    row("MultiHeadAttentionWrapper", "last_head_first_in_the_wrapper",
        replace("in self.heads]", "in reversed(self.heads)]"),
        "The last head comes first. Keep the order of the list: head 0 first."),
    row("MultiHeadAttentionWrapper", "first_head_asked_each_time",
        replace("[head(inputs) for head", "[self.heads[0](inputs) for _"),
        "The output of the first head is used for all heads. Call every head: head(inputs) for each head in "
        "self.heads."),
    row("MultiHeadAttentionWrapper", "heads_that_see_the_future",
        replace("head(inputs)", f"nn.functional.scaled_dot_product_attention({PROJECTED})"),
        "The heads see the future: they are self-attention without a mask. Use the causal attention of unit 3."),
    row("MultiHeadAttentionWrapper", "bias_not_handed_on", replace(", qkv_bias)", ")"),
        "qkv_bias is not passed on, so no head has a bias even if the caller asks for one. Pass it to every head."),
    row("MultiHeadAttentionWrapper", "bias_in_every_head", replace("qkv_bias: bool = False", "qkv_bias: bool = True"),
        "The heads have a bias even if the caller does not ask for one. Pass qkv_bias on to every head; its default "
        "is False."),
    row("MultiHeadAttentionWrapper", "context_of_the_worked_example", replace("context_length, dropout", "6, dropout"),
        "The heads take fewer tokens than context_length. Pass the argument on to every head, and not the number of "
        "the worked example."),
    row("MultiHeadAttentionWrapper", "dropout_not_handed_on", replace("dropout, qkv_bias", "0.0, qkv_bias"),
        "dropout is not passed on, so nothing is ever dropped. Pass it to every head."),
    row("MultiHeadAttentionWrapper", "outputs_dropped_once_more",
        replace(SIDE_BY_SIDE, f"self.heads[0].dropout({SIDE_BY_SIDE})"),
        "The outputs are dropped too, although the heads have already dropped weights. Pass dropout on to the heads, "
        "and do nothing else."),
    row("MultiHeadAttentionWrapper", "outputs_dropped_after_eval",
        replace(SIDE_BY_SIDE, f"nn.functional.dropout({SIDE_BY_SIDE}, self.heads[0].dropout.p)"),
        "Outputs are dropped after `.eval()` too. `functional.dropout` needs `training=self.training`. The wrapper "
        "itself should drop nothing, because the heads drop their weights."),
    row("MultiHeadAttentionWrapper", "outputs_without_gradients", replace("dim=-1)", "dim=-1).detach()"), DETACHED),
    row("MultiHeadAttentionWrapper", "inputs_detached", replace("head(inputs)", "head(inputs.detach())"),
        "The inputs are cut off from the gradients, so the layers below, such as the embeddings, cannot learn."),
    row("MultiHeadAttentionWrapper", "inputs_made_float32", replace("head(inputs)", "head(inputs.float())"),
        "The inputs are made float32, so they do not match float64 heads. Keep the dtype of the inputs."),
    row("MultiHeadAttentionWrapper", "lonely_token_squeezed", replace("dim=-1)", "dim=-1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single token loses its row."),
    row("MultiHeadAttentionWrapper", "inputs_changed_in_place",
        replace("return torch", "output = torch")
        .replace("dim=-1)", "dim=-1)\n        inputs -= inputs.mean(dim=-1, keepdim=True)\n        return output"),
        INPUTS_CHANGED),
    row("MultiHeadAttentionWrapper", "another_layer_behind_the_heads",
        replace("range(num_heads)\n        )",
                "range(num_heads)\n        )\n        self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)")
        .replace(SIDE_BY_SIDE, f"self.out_proj({SIDE_BY_SIDE})"),
        "The concatenated outputs pass through another layer, such as out_proj. This wrapper only concatenates; the "
        "next class has a last layer."),
    row("MultiHeadAttentionWrapper", "layer_back_to_d_out",
        replace("range(num_heads)\n        )",
                "range(num_heads)\n        )\n        self.out_proj = nn.Linear(num_heads * d_out, d_out)")
        .replace(SIDE_BY_SIDE, f"self.out_proj({SIDE_BY_SIDE})"),
        "Another layer makes the outputs d_out wide. This wrapper only concatenates: its outputs are num_heads times "
        "as wide. The next class has a last layer."),
    row("MultiHeadAttentionWrapper", "no_attribute_heads",
        replace("self.heads", "self.attention_heads", 2),
        "A new wrapper has no attribute `heads`: the list of the heads has another name, or is made only in forward. "
        "Other code uses exactly this name."),
    row("MultiHeadAttentionWrapper", "heads_from_d_out_to_d_out", replace("(d_in, d_out, c", "(d_out, d_out, c"),
        "The heads go from d_out to d_out, so the wrapper works only if d_in and d_out are equal. Each head goes from "
        "d_in to d_out."),
    row("MultiHeadAttentionWrapper", "outputs_in_a_list",
        replace(SIDE_BY_SIDE, "[head(inputs) for head in self.heads]"),
        "The output is a list with an output for each head. Join them to one tensor, along the features."),
    row("MultiHeadAttentionWrapper", "last_head_alone",
        replace(SIDE_BY_SIDE, "[head(inputs) for head in self.heads][-1]"),
        "Only the output of the last head is returned: each output replaces the one before. Collect the outputs in a "
        "list, and concatenate them."),
    row("MultiHeadAttentionWrapper", "no_argument_for_the_bias_in_the_wrapper",
        replace(", qkv_bias: bool = False", "").replace(", qkv_bias)", ")"), NO_ARGUMENT),
    # two_dimensional_output
    row("two_dimensional_output", "two_features_for_each_head", replace("d_in, 1", "d_in, 2"),
        "Each head has two features, so two heads give four. Change d_out, so that two heads together give two "
        "features."),
    row("two_dimensional_output", "one_head_of_two_features",
        replace("d_in, 1", "d_in, 2").replace("heads=2", "heads=1"),
        "The outputs are two-dimensional, but come from a single head. There should be two heads: change another "
        "argument."),
    row("two_dimensional_output", "one_head_of_one_feature", replace("heads=2", "heads=1"),
        "There is one head with one feature. Two heads with one feature each give two."),
    row("two_dimensional_output", "dropout_left_in", replace("dropout=0.0", "dropout=0.1"),
        "The wrapper drops weights in training. It should have no dropout: 0.0."),
    row("two_dimensional_output", "bias_left_in", replace("heads=2", "heads=2, qkv_bias=True"),
        "The heads have biases. The wrapper should have none: keep qkv_bias at False."),
    row("two_dimensional_output", "six_tokens_always", replace("1, context_length", "1, 6"),
        "The wrapper takes fewer tokens than context_length. Pass the argument on, and not the number of the worked "
        "example."),
    row("two_dimensional_output", "three_features_always", replace("d_in, 1", "3, 1"),
        "The width of the inputs is fixed to that of the worked example. Pass on the argument d_in."),
    row("two_dimensional_output", "arguments_exchanged", replace("d_in, 1, context_length", "context_length, 1, d_in"),
        "d_in and context_length are swapped: the wrapper takes (d_in, d_out, context_length, dropout, num_heads)."),
    row("two_dimensional_output", "layer_behind_the_wrapper",
        replace("Multi", "nn.Sequential(Multi").replace("d_in, 1", "d_in, 2")
        .replace("heads=2)", "heads=2), nn.Linear(4, 2, bias=False))"),
        "The result is not the wrapper itself. You need no other class and no layer after the wrapper: change one "
        "argument."),
    row("two_dimensional_output", "outputs_cut_off",
        replace("return MultiHeadAttentionWrapper", "wrapper = bias_not_handed_on").replace("d_in, 1", "d_in, 2")
        .replace("heads=2)", "heads=2)\n    wrapper.register_forward_hook(lambda *given: given[-1][..., :2])\n    "
                             "return wrapper"),
        "The outputs are cut to two features, so a whole head is lost. Make the heads narrower instead."),
    row("two_dimensional_output", "class_instead_of_module",
        replace("(d_in, 1, context_length, dropout=0.0, num_heads=2)", ""),
        "The function returned the class, and not a wrapper. Call the class with its arguments."),
    # MultiHeadAttention
    row("MultiHeadAttention", "scaled_by_d_out", replace("self.head_dim)", "self.out_proj.in_features)"), BY_WIDTH),
    row("MultiHeadAttention", "scaled_by_d_in", replace("self.head_dim)", "inputs.shape[-1])"),
        "The scores are divided by √d_in. The dot products are between projected tokens, within one head: divide by "
        "√head_dim."),
    row("MultiHeadAttention", "scaled_by_number_of_tokens_in_the_module",
        replace("head_weights", "scaled_by_number_of_tokens"), BY_TOKENS),
    row("MultiHeadAttention", "scaled_by_number_of_heads_in_the_module",
        replace("head_weights", "scaled_by_number_of_heads"), BY_HEADS),
    row("MultiHeadAttention", "scaling_forgotten_in_the_module", replace("head_weights", "scaling_forgotten"),
        UNSCALED),
    row("MultiHeadAttention", "divided_by_head_dim_itself_in_the_module",
        replace("head_weights", "divided_by_head_dim_itself"), NO_ROOT),
    row("MultiHeadAttention", "half_instead_of_root_in_the_module", replace("head_weights", "half_instead_of_root"),
        HALF),
    row("MultiHeadAttention", "twentieth_root_in_the_module", replace("head_weights", "twentieth_root"), TWENTIETH),
    row("MultiHeadAttention", "multiplied_by_root_in_the_module", replace("head_weights", "multiplied_by_root"),
        MULTIPLIED),
    row("MultiHeadAttention", "scaled_after_softmax_in_the_module", replace("head_weights", "scaled_after_softmax"),
        SCALED_LATE),
    row("MultiHeadAttention", "future_visible_in_the_module", replace("head_weights", "future_visible"),
        FUTURE_VISIBLE),
    row("MultiHeadAttention", "past_hidden_in_the_module", replace("head_weights", "past_hidden"), PAST_HIDDEN),
    row("MultiHeadAttention", "diagonal_hidden_in_the_module", replace("head_weights", "diagonal_hidden"),
        DIAGONAL_HIDDEN),
    row("MultiHeadAttention", "diagonal_lowered_in_the_module", replace("head_weights", "diagonal_lowered"),
        DIAGONAL_LOWERED),
    row("MultiHeadAttention", "next_token_visible_in_the_module", replace("head_weights", "next_token_visible"),
        NEXT_VISIBLE),
    row("MultiHeadAttention", "future_zero_before_softmax_in_the_module",
        replace("head_weights", "future_zero_before_softmax"), ZERO_BEFORE_SOFTMAX),
    row("MultiHeadAttention", "future_zero_after_softmax_in_the_module",
        replace("head_weights", "future_zero_after_softmax"), ZERO_AFTER_SOFTMAX),
    row("MultiHeadAttention", "mask_not_cut", masked_by("torch.ones(self.context_length, self.context_length)"),
        "The mask is not cut to the number of tokens, so it works only for a text of context_length tokens. Use as "
        "many rows and columns of it as there are tokens."),
    row("MultiHeadAttention", "mask_of_the_worked_example",
        masked_by("torch.ones(6, 6)[: inputs.shape[1], : inputs.shape[1]]"),
        "The mask has the size of the worked example's text, and longer texts do not match. Its size is the argument "
        "context_length, or the current number of tokens."),
    row("MultiHeadAttention", "softmax_over_queries_in_the_module", replace("head_weights", "softmax_over_queries"),
        SOFTMAX_OVER_QUERIES),
    row("MultiHeadAttention", "softmax_over_heads_in_the_module", replace("head_weights", "softmax_over_heads"),
        SOFTMAX_OVER_HEADS),
    row("MultiHeadAttention", "softmax_over_heads_of_lowered_scores_in_the_module",
        replace("head_weights", "softmax_over_heads_of_lowered_scores"), SOFTMAX_OVER_HEADS),
    row("MultiHeadAttention", "softmax_forgotten_in_the_module", replace("head_weights", "softmax_forgotten"),
        NO_SOFTMAX),
    row("MultiHeadAttention", "past_averaged_in_the_module", replace("head_weights", "past_averaged"),
        "Every visible token gets the same weight, whatever queries and keys are. Their dot products should decide "
        "the weights."),
    row("MultiHeadAttention", "split_by_reshape_alone_in_the_module",
        replace("split_heads", "split_by_reshape_alone", 3), MIXED_BY_RESHAPE),
    row("MultiHeadAttention", "features_dealt_in_turn_in_the_module",
        replace("split_heads", "features_dealt_in_turn_in_split", 3).replace("merge_heads", "features_shuffled"),
        DEALT_IN_TURN),
    row("MultiHeadAttention", "heads_and_features_exchanged_in_the_module",
        replace("split_heads", "heads_and_features_exchanged_in_split", 3), EXCHANGED),
    row("MultiHeadAttention", "heads_never_split", replace("self.num_heads)", "1)", 3),
        "The heads are never split: one head sees all features. Each of the num_heads heads should have head_dim "
        "features of the queries, keys and values, and its own weights."),
    row("MultiHeadAttention", "one_head_with_its_own_scale",
        replace("self.num_heads)", "1)", 3).replace("self.head_dim)", "queries.shape[-1])"),
        "The heads are never split: one head sees all features, and its scores are divided by √d_out. Each of the "
        "num_heads heads should have head_dim features and its own weights."),
    row("MultiHeadAttention", "heads_attend_to_each_other",
        replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not in front of the tokens, so the heads of each token attend to each other, and tokens do "
        "not. Transpose to (B, H, T, head_dim) before the scores."),
    row("MultiHeadAttention", "heads_masked_as_tokens",
        masked_by("torch.ones(inputs.shape[1], inputs.shape[1])")
        .replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not in front of the tokens, so the scores are between the heads of a token, and the mask for "
        "tokens does not match. Transpose to (B, H, T, head_dim) before the scores."),
    row("MultiHeadAttention", "heads_not_transposed_back", replace("merge_heads", "not_transposed_back"),
        NOT_TRANSPOSED_BACK),
    row("MultiHeadAttention", "features_shuffled_in_the_module", replace("merge_heads", "features_shuffled"),
        "The heads' features are interleaved before out_proj. Put the heads next to each other, head 0 first."),
    row("MultiHeadAttention", "heads_added_up_in_the_module",
        replace("merge_heads(contexts)", "contexts.sum(dim=1).repeat(1, 1, self.num_heads)"),
        "The heads' contexts are added up and repeated, so their features are mixed. Put the heads next to each "
        "other."),
    row("MultiHeadAttention", "keys_ask_the_queries_in_the_module", replace("queries, keys)", "keys, queries)"),
        "Queries and keys are swapped. The rows of the scores should belong to queries; otherwise the mask hides the "
        "wrong scores."),
    row("MultiHeadAttention", "keys_and_values_swapped",
        replace("queries, keys)", "queries, values)").replace("@ values", "@ keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    row("MultiHeadAttention", "minus_ten_thousand_in_module", replace("head_weights(", "minus_ten_thousand("),
        TEN_THOUSAND),
    row("MultiHeadAttention", "equal_widths_not_projected",
        replace("self.W_value(inputs)",
                "inputs if inputs.shape[-1] == self.W_value.out_features else self.W_value(inputs)"),
        "If d_in and d_out are equal, the heads mix the inputs themselves. Always mix the values, the outputs of "
        "W_value."),
    row("MultiHeadAttention", "keys_handed_over", replace("@ values", "@ keys"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("MultiHeadAttention", "one_projection_in_use",
        replace("queries, keys)", "queries, queries)").replace("@ values", "@ queries"), ONE_PROJECTION),
    row("MultiHeadAttention", "only_values_in_use", replace("queries, keys)", "values, values)"), ONE_PROJECTION),
    row("MultiHeadAttention", "key_projection_unused", replace("queries, keys)", "queries, queries)"),
        "The keys are made but never used: queries are compared with queries. Compare each query with the keys."),
    row("MultiHeadAttention", "one_layer_under_three_names",
        replace("self.out_proj = ", "self.W_key = self.W_value = self.W_query\n        self.out_proj = "),
        "W_query, W_key and W_value are the same layer under three names, so they always have the same weights. Make "
        "three layers."),
    row("MultiHeadAttention", "projections_as_wide_as_one_head",
        replace("d_in, d_out, bias", "d_in, d_out // num_heads, bias", 3)
        .replace("self.num_heads)", "1).repeat(1, self.num_heads, 1, 1)", 3),
        "Queries, keys and values have only head_dim features, and all heads share them. Make d_out features at "
        "once, and then split them: nn.Linear(d_in, d_out)."),
    row("MultiHeadAttention", "out_proj_forgotten",
        replace("self.out_proj = nn.Linear(d_out, d_out)", "").replace("self.out_proj(", "("),
        "There is no out_proj, so the results of the heads are never combined. Add a last layer from d_out to d_out."),
    row("MultiHeadAttention", "out_proj_unused", replace("self.out_proj(", "("),
        "out_proj is made but never used. Apply it to the merged heads, as the last step of forward."),
    row("MultiHeadAttention", "out_proj_without_bias", replace("d_out, d_out)", "d_out, d_out, bias=qkv_bias)"),
        "out_proj has no bias. qkv_bias is only for queries, keys and values. The last layer has a bias, which is "
        "the default of nn.Linear."),
    row("MultiHeadAttention", "out_proj_back_to_d_in", replace("d_out, d_out)", "d_out, d_in)"),
        "out_proj goes back to d_in features. It combines the heads, so it goes from d_out to d_out."),
    row("MultiHeadAttention", "out_proj_applied_twice",
        replace("self.out_proj(merge_heads(contexts))", "self.out_proj(self.out_proj(merge_heads(contexts)))"),
        "out_proj is applied twice. Apply it once to the merged heads: that is the output."),
    row("MultiHeadAttention", "bias_always", replace("bias=qkv_bias", "bias=True", 3),
        "The layers have a bias although none was asked for, because that is the default of nn.Linear. Pass qkv_bias "
        "on: bias=qkv_bias."),
    row("MultiHeadAttention", "bias_never", replace("bias=qkv_bias", "bias=False", 3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    row("MultiHeadAttention", "bias_the_other_way_round", replace("bias=qkv_bias", "bias=not qkv_bias", 3),
        "The layers have a bias if qkv_bias is False, and none if it is True: the value is inverted. Use "
        "bias=qkv_bias."),
    row("MultiHeadAttention", "biases_made_but_unused",
        replace("split_heads(", "split_heads(inputs @ ", 3).replace("(inputs)", ".weight.T", 3),
        "Only the weights of the layers are used, and not their biases. Call the layer, W_query(inputs): it adds its "
        "bias too."),
    row("MultiHeadAttention", "dropout_never_applied", replace("self.dropout(weights)", "weights"),
        "In training every output is as it is after `.eval()`: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    row("MultiHeadAttention", "dropped_after_eval",
        replace("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)"),
        "Weights are dropped after `.eval()` too. `functional.dropout` and an nn.Dropout made in forward do not know "
        "the mode: pass `training=self.training`, or make the layer in `__init__`."),
    row("MultiHeadAttention", "scores_dropped",
        replace("head_scores(queries, keys)", "self.dropout(head_scores(queries, keys))")
        .replace("self.dropout(weights)", "weights"),
        "Dropout acts before softmax: on the scores, or on what queries and keys are made of. A score of zero does not "
        "give a weight of zero. Drop the weights, after softmax."),
    row("MultiHeadAttention", "masked_scores_dropped",
        replace("head_weights(head_scores(queries, keys), self.head_dim)",
                "(head_scores(queries, keys) / self.head_dim**0.5)\n"
                "        future = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(diagonal=1)\n"
                "        weights = torch.softmax(self.dropout(weights.masked_fill(future, -torch.inf)), dim=-1)")
        .replace("self.dropout(weights)", "weights"),
        "Dropout acts on the masked scores, before softmax. A score of zero does not give a weight of zero, and minus "
        "infinity times zero is NaN. Drop the weights, after softmax."),
    row("MultiHeadAttention", "contexts_dropped",
        replace("self.dropout(weights)", "weights")
        .replace("(merge_heads(contexts))", "(self.dropout(merge_heads(contexts)))"),
        "Dropout is applied to the contexts or to the output, so features are lost. Drop the weights instead: then a "
        "token sometimes does not use another token."),
    row("MultiHeadAttention", "kept_weights_not_scaled",
        replace("self.dropout(weights)", "(self.dropout(weights) != 0) * weights"),
        "Weights are dropped, but the kept weights are not scaled. Divide them by 1 - dropout, so that they sum to "
        "one on average."),
    row("MultiHeadAttention", "kept_weights_renormalised",
        replace("self.dropout(weights)", "nn.functional.normalize(self.dropout(weights), p=1, dim=-1)"),
        "After dropout each row is divided by its sum again. Dropout does not do that: the kept weights are divided "
        "by 1 - dropout, and only the average stays the same."),
    row("MultiHeadAttention", "dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "The code uses dropout as the probability of keeping a weight. It is the probability of dropping one, as in "
        "PyTorch."),
    row("MultiHeadAttention", "rows_dropped",
        replace("self.dropout(weights)", "(self.dropout(torch.ones_like(weights[..., :1])) * weights)"),
        "The whole row of a query is dropped or kept at once. Drop each weight independently."),
    row("MultiHeadAttention", "texts_dropped_alike",
        replace("self.dropout(weights)", "(self.dropout(torch.ones_like(weights[:1])) * weights)"),
        "All texts of a batch have the same weights dropped: the draws have no dimension for the batch. Draw for "
        "(B, H, T, T)."),
    row("MultiHeadAttention", "check_left_to_reshape_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "check_left_to_reshape_in_split", 3),
        LEFT_TO_RESHAPE),
    row("MultiHeadAttention", "rest_cut_off_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "rest_cut_off_in_split", 3)
        .replace("(merge_heads(contexts))",
                 "(nn.functional.pad(merge_heads(contexts), (0, self.out_proj.in_features % self.num_heads)))"),
        NO_ERROR),
    row("MultiHeadAttention", "gradients_switched_off", replace("def forward", "@torch.no_grad()\n    def forward"),
        "`torch.no_grad` is for using a trained model. Inside forward it stops all learning."),
    row("MultiHeadAttention", "only_out_proj_learns",
        replace("merge_heads(contexts)", "merge_heads(contexts).detach()"),
        "The heads are cut off from the gradients, for example by `torch.no_grad`, `.detach()` or `.data`, so only "
        "out_proj learns. W_query, W_key and W_value must be able to learn too."),
    row("MultiHeadAttention", "only_values_learn",
        replace("head_scores(queries, keys)", "head_scores(queries, keys).detach()"),
        "Queries and keys are cut off from the gradients, so only the values learn. Queries and keys must be able to "
        "learn too."),
    row("MultiHeadAttention", "made_float32_on_the_way", replace("(inputs)", "(inputs.float())", 3),
        "A part of the computation is float32: a mask, a constant or the inputs. After `.double()` it no longer "
        "matches. Make your own tensors in the dtype of the inputs."),
    row("MultiHeadAttention", "dimensions_squeezed_away",
        replace("(merge_heads(contexts))", "(merge_heads(contexts)).squeeze()"),
        "`squeeze()` removes every dimension of size one: the batch of a single sequence, or the dimension of a "
        "single token."),
    row("MultiHeadAttention", "weights_given_too",
        replace("(merge_heads(contexts))", "(merge_heads(contexts)), weights"),
        "The module returns the weights too. The next layer needs one tensor: return only the output."),
    row("MultiHeadAttention", "inputs_changed_in_place_in_the_module",
        replace("return ", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return "), INPUTS_CHANGED),
    *(row("MultiHeadAttention", f"{name}_in_the_module", replace("head_weights", name), sentence)
      for name, sentence in [
          ("scaled_by_root_of_eight", FIXED), ("scaled_by_eight", FIXED),
          ("fifth_power", FIFTH), ("square_instead_of_root", SQUARE), ("multiplied_by_half", MULTIPLIED_BY_HALF),
          ("divided_by_half", DIVIDED_BY_HALF), ("softmax_twice", SOFTMAX_TWICE),
          ("softmax_before_and_after_the_mask", BEFORE_AND_AFTER),
          ("weights_masked_with_minus_infinity", WEIGHTS_MASKED), ("arguments_do_not_fit", ARGUMENTS),
          ("all_weights_one", ALL_ONE), ("only_the_future_seen", ONLY_FUTURE_SEEN),
          ("only_the_future_seen_beside_low_numbers", ONLY_FUTURE_SEEN), ("large_number_for_the_future", PLUS_LARGE),
          ("zero_scores_hidden", ZEROS_HIDDEN),
      ]),
    row("MultiHeadAttention", "values_as_queries", replace("queries, keys)", "values, keys)"), VALUES_AS_QUERIES),
    row("MultiHeadAttention", "values_as_keys", replace("queries, keys)", "queries, values)"), VALUES_AS_KEYS),
    row("MultiHeadAttention", "query_projection_unused", replace("queries, keys)", "keys, keys)"),
        "The queries are made but never used: keys are compared with keys. Compare each query with the keys."),
    row("MultiHeadAttention", "shapes_or_dtypes_do_not_match",
        replace("head_scores(queries, keys)", "queries @ keys"),
        "The shapes or dtypes do not match in forward. After the projections there are d_out features, not d_in. The "
        "scores need keys with the last two dimensions swapped, and a mask is (T, T), with True and False."),
    row("MultiHeadAttention", "view_of_transposed_contexts",
        replace("merge_heads(contexts)", "contexts.transpose(1, 2).view(*inputs.shape[:2], -1)"),
        "`view` fails after a transpose, because the numbers are no longer contiguous. Use `reshape`, or "
        "`contiguous()` before it."),
    row("MultiHeadAttention", "output_transposed", replace("(merge_heads(contexts))", "(merge_heads(contexts)).mT"),
        "The output is transposed: there is a column for each token. It is (B, T, d_out), with a row for each token."),
    row("MultiHeadAttention", "mixed_by_the_columns", replace("self.dropout(weights)", "self.dropout(weights).mT"),
        "The contexts use the columns of the weights. The weights of a query are its row: do not transpose them before "
        "the product with the values."),
    row("MultiHeadAttention", "weights_returned", replace("self.out_proj(merge_heads(contexts))", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is what out_proj "
        "makes of the merged contexts."),
    row("MultiHeadAttention", "kept_weights_of_another_size",
        replace("merge_heads(contexts)", "self.dropout(merge_heads(contexts))"),
        "In training the kept weights are not divided by 1 - dropout and nothing more. Often the weights, the values, "
        "the contexts or the output are dropped or divided once more. Only the weights pass through dropout, once."),
    row("MultiHeadAttention", "layers_under_other_names",
        replace("W_query", "query", 2).replace("W_key", "key", 2).replace("W_value", "value", 2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
    row("MultiHeadAttention", "out_proj_under_another_name", replace("self.out_proj", "self.W_o", 2),
        "There is a last layer, but it is not called out_proj. Other code uses exactly this name."),
    row("MultiHeadAttention", "layers_from_d_out_to_d_out",
        replace("nn.Linear(d_in, d_out,", "nn.Linear(d_out, d_out,", 3),
        "The layers go from d_out to d_out, so the module works only if d_in and d_out are equal. Tokens come in with "
        "d_in features and leave with d_out."),
    row("MultiHeadAttention", "no_argument_for_the_bias_in_the_module",
        replace(", qkv_bias: bool = False", "").replace("bias=qkv_bias", "bias=False", 3), NO_ARGUMENT),
    # stack_heads
    row("stack_heads", "joined_along_the_inputs",
        replace("[part.weight for part in parts]",
                "[part.weight for part in parts], dim=1).reshape(whole.weight.shape"),
        "The heads are joined along their inputs. nn.Linear has a row for each output feature, so put the heads' "
        "rows one below the other: torch.cat along dim 0."),
    row("stack_heads", "last_head_stacked_first", replace("for part in parts]", "for part in reversed(parts)]", 2),
        "The last head comes first. MultiHeadAttention takes the first head_dim features for head 0, so its rows come "
        "first."),
    row("stack_heads", "rows_shuffled",
        replace("torch.cat(", "torch.stack(", 2).replace("in parts])", "in parts], dim=1).flatten(0, 1)", 2),
        "The heads' rows are interleaved: the first of each head, then the second of each. Keep the rows of each "
        "head together."),
    row("stack_heads", "stacked_transposed",
        replace("whole.weight.copy_(", "whole.weight.data = (")
        .replace("part.weight for part in parts])", "part.weight for part in parts]).T"),
        "The weights are copied transposed. Both sides are nn.Linear and store (features out, features in), so do "
        "not transpose."),
    row("stack_heads", "copying_that_fails",
        replace("[part.weight for part in parts]", "[part.weight for part in parts], dim=1"),
        "The copy fails. Join the heads' rows along dim 0, because nn.Linear has one row for each output feature. "
        "Then the shapes match, and you can copy under torch.no_grad()."),
    row("stack_heads", "first_head_everywhere", replace("in parts]", "in parts[:1] * num_heads]", 2),
        "All heads got the weights of head 0. Each head has its own weights."),
    row("stack_heads", "only_values_stacked",
        replace("        for whole, parts in pairs", "        for whole, parts in pairs[2:]"),
        "Only the values were stacked, and queries and keys did not change. A head has all three layers."),
    row("stack_heads", "queries_stacked_as_keys",
        replace("with torch",
                "attention.W_query, attention.W_key = attention.W_key, attention.W_query\n    with torch"),
        "Queries and keys were swapped in the copy. The scores still compare the two, but their roles are exchanged."),
    row("stack_heads", "opposite_direction",
        replace("whole.weight.copy_(torch.cat([part.weight for part in parts]))",
                "for part, rows in zip(parts, whole.weight.chunk(num_heads)): part.weight.copy_(rows)")
        .replace("whole.bias.copy_(torch.cat([part.bias for part in parts]))",
                 "for part, rows in zip(parts, whole.bias.chunk(num_heads)): part.bias.copy_(rows)"),
        "The weights went from attention to the wrapper. Copy them in the other direction: from the wrapper into "
        "attention."),
    row("stack_heads", "stacked_on_a_copy", replace(".copy_(", ".clone().copy_(", 2),
        "The stacked weights are computed, but attention keeps its own. Copy them into its layers."),
    row("stack_heads", "biases_left_behind", replace("if whole.bias is not None", "if False"),
        "The biases were not copied. If both sides have them, stack them in the same order as the weights."),
    row("stack_heads", "biases_set_to_zero",
        replace("whole.bias.copy_(torch.cat([part.bias for part in parts]))", "whole.bias.zero_()"),
        "The biases are set to zero. attention should have the heads' own biases."),
    row("stack_heads", "key_bias_left_behind",
        replace("if whole.bias is not None", "if whole.bias is not None and whole is not attention.W_key"),
        "The bias of the keys was not copied. It cancels in softmax, but you should copy all weights and biases of a "
        "head."),
    row("stack_heads", "wrapper_robbed_of_its_biases", replace("[part.bias for", "[part.bias.zero_() for"),
        "The heads' biases were silently set to zero, to make the outputs equal. Do not change the wrapper."),
    row("stack_heads", "wrapper_frozen", replace("with torch", "wrapper.requires_grad_(False)\n    with torch"),
        "The wrapper's weights no longer require gradients. Copy under torch.no_grad() instead, so that the wrapper "
        "can still learn."),
    row("stack_heads", "weights_frozen", replace("whole.weight.copy_", "whole.requires_grad_(False).weight.copy_"),
        "The weights no longer require gradients: the outputs are equal, but attention cannot learn. nn.Parameter "
        "requires gradients by default."),
    row("stack_heads", "frozen_weights_put_in_place",
        ANY_WIDTH.replace("whole.weight.data", "whole.requires_grad_(False).weight.data"),
        "New weights replace attention's own. They require no gradients, so attention cannot learn. They may also "
        "have a wrong shape without an error. Copy into the existing parameters."),
    row("stack_heads", "weights_made_plain_tensors",
        replace("whole.weight.copy_(", "del whole.weight\n            whole.weight = ("),
        "The weights became plain tensors. The outputs are equal, but an optimiser does not find the weights. Wrap "
        "them in nn.Parameter, or copy into the existing parameters."),
    row("stack_heads", "tensors_assigned_to_parameters", replace("whole.weight.copy_(", "whole.weight = ("),
        "The code assigns a plain tensor to a parameter, and nn.Module raises an error. Wrap it in nn.Parameter, or "
        "copy it in under torch.no_grad()."),
    row("stack_heads", "out_proj_made_anew",
        replace("with torch", "nn.init.ones_(attention.out_proj.weight)\n    with torch"),
        "out_proj was changed as well. The wrapper has no out_proj: do not change it."),
    row("stack_heads", "any_width_accepted", ANY_WIDTH,
        "Weights of any width replace the old ones, so attention gets a wrong shape. Raise an error if the widths do "
        "not match."),
    row("stack_heads", "d_in_not_looked_at",
        replace("(num_heads * part.out_features, part.in_features) != whole.weight.shape",
                "num_heads * part.out_features != len(whole.weight)")
        .replace(".copy_(", ".data = (", 2),
        "Only the heads' width is compared, and not the width of the inputs. Both must match: d_in, and the width of "
        "each head."),
    row("stack_heads", "bias_of_attention_accepted",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None and whole.bias is None")
        .replace("if whole.bias is not None", "if whole.bias is not None and parts[0].bias is not None"),
        "If only attention has biases, there is no error, and its outputs differ from the wrapper's. Raise an error, "
        "or set these biases to zero."),
    row("stack_heads", "biases_of_the_heads_dropped",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is None and whole.bias is not None"),
        "If only the heads have biases, they are silently lost, and attention gives other outputs. Raise an error if "
        "attention has no biases."),
    row("stack_heads", "every_bias_refused",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None or whole.bias is not None"),
        "Any bias raises an error. If both sides have biases, stack them too."),
    # gpt2_small_attention
    row("gpt2_small_attention", "context_of_the_toy_batch", replace("1024", "6"),
        "The context length of the small worked example was kept. GPT-2 was trained on texts of up to 1,024 tokens."),
    row("gpt2_small_attention", "biases_as_in_gpt2_itself", replace("heads=12", "heads=12, qkv_bias=True"),
        "Queries, keys and values have biases. GPT-2 itself has them, but the rule here, as in the book, is without "
        "them: 2,360,064 parameters and not 2,362,368."),
    row("gpt2_small_attention", "width_of_one_head", replace("768, 768", "768, 64"),
        "d_out is the width of one head, 64. The class itself splits d_out into heads, so d_out is the width of all "
        "heads: 768."),
    row("gpt2_small_attention", "narrow_input", replace("768, 768", "3, 768"),
        "The numbers of input and output features differ. The output of a block is the input of the next one, so "
        "both are 768."),
    row("gpt2_small_attention", "heads_of_a_larger_gpt2", replace("heads=12", "heads=16"),
        "The number of heads is wrong. The smallest GPT-2 has 12, of 64 features each; only the larger ones have "
        "more."),
    row("gpt2_small_attention", "heads_of_the_worked_example", replace("heads=12", "heads=2"),
        "The two heads of the worked example were kept. The smallest GPT-2 has 12."),
    row("gpt2_small_attention", "width_of_a_larger_gpt2",
        replace("768, 768", "1024, 1024").replace("heads=12", "heads=16"),
        "The width is that of the next larger GPT-2, 1,024. The smallest has 768 features."),
    row("gpt2_small_attention", "width_and_context_exchanged",
        replace("768, 768, context_length=1024", "1024, 1024, context_length=768"),
        "Width and context length are swapped: the class takes (d_in, d_out, context_length, dropout, num_heads)."),
    row("gpt2_small_attention", "wrapper_instead", replace("Attention(768, 768", "AttentionWrapper(768, 64"),
        "This is not the MultiHeadAttention of this unit, but perhaps the wrapper, which concatenates whole heads. "
        "MultiHeadAttention splits 768 features into heads."),
]
# fmt: on
