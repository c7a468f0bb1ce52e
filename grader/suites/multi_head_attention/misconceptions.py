"""Unit 4: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is known of several exercises, the name says of which this is, and the
row of the later exercise calls the earlier row by its name.
"""

from __future__ import annotations

from grader.testing.misconceptions import Change, replace, row

# -- sentences that several misconceptions share -----------------------------------------------------------------

DEALT_IN_TURN = (
    "The features are dealt out to the heads in turn, like cards. Head 0 has the first head_dim features, head 1 the "
    "next, and so on: reshape to (…, num_heads, head_dim), in this order."
)
EXCHANGED = (
    "num_heads and head_dim have changed places: there are num_heads heads, and each has head_dim = d_out / num_heads "
    "features."
)
LEFT_TO_RESHAPE = (
    "Heads that do not divide the features end in another error than ValueError, perhaps because reshape stumbles over "
    "them. Look first, and raise a ValueError that says in words what does not fit."
)
NO_ERROR = (
    "Heads that do not divide the features go through: features are lost or made up, or nothing comes back. Whoever "
    "calls has made a mistake, and only an error tells them."
)
ALL_REFUSED = (
    "Heads are refused that divide the features well. d_out % num_heads is what is left over: raise only where it is "
    "not zero."
)
VIEW_REFUSED = (
    "`view` needs numbers that lie in memory in the right order, and after a transpose they do not. `reshape` copies "
    "where it has to."
)
DETACHED = (
    "The numbers are taken out of the graph, by `.detach()`, `.data` or a list, so no gradient finds its way back "
    "through them."
)
CHANGED = (
    "The caller's tensor was changed. A method whose name ends in an underscore works on the tensor itself; the one "
    "without gives a view and leaves it alone."
)
MIXED_BY_RESHAPE = (
    "The shape is right, but `reshape` or `view` cuts the numbers anew in the order in which they lie, so a head gets "
    "features of different tokens. Exchange the two dimensions: transpose(1, 2)."
)
TOKENS_FOR_HEADS = (
    "Heads and tokens have changed places in the `reshape` or `view`, which mixes the tokens. Only the last dimension "
    "is taken apart: the tokens stay second."
)
UNSCALED = (
    "The scores are not scaled. The wider a head, the wilder its dot products; divided by √head_dim they keep a "
    "variance near 1, and softmax stays gentle."
)
NO_ROOT = (
    "The scores are divided by head_dim itself. Their standard deviation is √head_dim, so that is what brings it to 1."
)
HALF = (
    "`/` and `*` bind alike, from left to right: `/ head_dim*0.5` divides by head_dim and then takes the half. A "
    "square root is a power, `head_dim**0.5`."
)
TWENTIETH = "The exponent is `.05`, so the divisor is nearly one. A square root is the power `0.5`."
MULTIPLIED = "The scores are multiplied by √head_dim, which makes wild scores wilder. Divide by it."
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over a head's features, so it is "
    "their number, head_dim, that makes it grow."
)
BY_WIDTH = (
    "The scores are divided by √d_out, the width of all heads together. Each dot product has only head_dim features in "
    "it: divide by √head_dim."
)
SCALED_LATE = "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."
FUTURE_VISIBLE = (
    "Tokens see the future: the mask is missing, or its result is thrown away. `masked_fill` gives a new tensor; only "
    "`masked_fill_`, with the underscore, changes the old one."
)
PAST_HIDDEN = (
    "The mask is upside down: each token sees itself and what comes later. The future lies above the diagonal, in "
    "`triu(diagonal=1)`."
)
DIAGONAL_HIDDEN = (
    "The diagonal is hidden, too, so the first token has no key left, and softmax gives nan. A token sees itself: "
    "begin one above, `diagonal=1`."
)
DIAGONAL_LOWERED = (
    "The diagonal is hidden, too, so the first token has no key left, and all its scores are the same: it hears every "
    "token alike, those of the future, too. A token sees itself: begin one above, `diagonal=1`."
)
NEXT_VISIBLE = (
    "The mask begins one place too far to the right, so each token sees the next one, which it is to predict. The "
    "future begins at `diagonal=1`."
)
ZERO_BEFORE_SOFTMAX = (
    "Scores of the future are set to zero before softmax. A score of zero still gets a share, e⁰ = 1; only minus "
    "infinity gets none."
)
ZERO_AFTER_SOFTMAX = (
    "The future is set to zero after softmax, and what is left no longer sums to one. Hide it before softmax, with "
    "minus infinity."
)
SOFTMAX_OVER_QUERIES = (
    "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each query should sum to one "
    "over the keys, which lie along the last dimension."
)
SOFTMAX_OVER_HEADS = (
    "Softmax runs over dimension 1, which is the heads, so they compete for each key. The keys lie along the last dim, "
    "however many come before."
)
NO_SOFTMAX = (
    "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one for each "
    "query."
)
NOT_TRANSPOSED_BACK = (
    "The heads are not brought back into their tokens before the merge, so each row mixes features of several tokens. "
    "First transpose(1, 2), then make the last two dimensions one."
)
ONE_PROJECTION = (
    "One projection serves as queries, keys and values, and the other two are made but never used. Each role has its "
    "own weights to learn."
)
BY_HEADS = (
    "The scores are divided by the root of the number of heads. A dot product sums over one head's features, so it is "
    "their number, head_dim, that makes it grow."
)
INPUTS_CHANGED = (
    "The caller's inputs were changed. What comes in may be needed elsewhere: write `x = x + …` rather than `x += …`."
)
STACKED = (
    "The heads have a dimension of their own in the output. torch.cat joins along a dimension that is there, "
    "torch.stack makes a new one."
)

# -- rows --------------------------------------------------------------------------------------------------------

# What MultiHeadAttentionWrapper makes num_heads of, and what it gives.
HEAD = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
SIDE_BY_SIDE = "torch.cat([head(inputs) for head in self.heads], dim=-1)"
PROJECTED = "head.W_query(inputs), head.W_key(inputs), head.W_value(inputs), None, head.dropout.p * head.training"

TEN_THOUSAND = (
    "The future is hidden by a number such as -10,000. Other scores may be as low, and then the future has weight. "
    "Minus infinity, or a number as low as -1e9, is below all scores."
)

CALLS = {
    "MultiHeadAttentionWrapper": ["CausalAttention"],
    "two_dimensional_output": ["MultiHeadAttentionWrapper"],
    "gpt2_small_attention": ["MultiHeadAttention", "MultiHeadAttentionWrapper"],
}

# stack_heads without its errors about widths, and with new numbers that take the place of those that were there.
ANY_WIDTH = replace("raise ValueError(f", "_ = (f", 2).replace(".copy_(", ".data = (", 2)


def masked_by(mask: str) -> Change:
    """MultiHeadAttention with this mask instead of the one that head_weights makes to measure."""
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
        "The heads come last. Each head should have its features side by side: heads third, features last."),
    row("unroll_heads", "grouped_already", replace("d_out // num_heads)", "d_out // num_heads).transpose(1, 2)"),
        "The heads are brought in front of the tokens already. That is the next step; here only the last dimension "
        "becomes two."),
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
    # group_by_head
    row("group_by_head", "reshaped_instead_of_transposed",
        replace("transpose(1, 2)", "reshape(x.shape[0], x.shape[2], x.shape[1], -1)"), MIXED_BY_RESHAPE),
    row("group_by_head", "viewed_instead_of_transposed",
        replace("transpose(1, 2)", "view(x.shape[0], x.shape[2], x.shape[1], -1)"), MIXED_BY_RESHAPE),
    row("group_by_head", "batch_exchanged_with_heads", replace("transpose(1, 2)", "transpose(0, 2)"),
        "The batch has changed places with the heads. Dimensions are counted from 0, and the batch stays in front: "
        "transpose(1, 2)."),
    row("group_by_head", "heads_exchanged_with_features", replace("transpose(1, 2)", "transpose(2, 3)"),
        "The last two dimensions have changed places. It is tokens and heads, the second and the third, that should."),
    row("group_by_head", "tokens_exchanged_with_features", replace("transpose(1, 2)", "transpose(1, 3)"),
        "Tokens and features have changed places. It is tokens and heads, the second and the third dimension, that "
        "should."),
    row("group_by_head", "heads_in_front_of_the_batch", replace("transpose(1, 2)", "permute(2, 0, 1, 3)"),
        "The heads stand in front of the batch. Every sequence has its own heads, so the batch stays first."),
    row("group_by_head", "transpose_thrown_away",
        replace("return x.transpose(1, 2)", "x.transpose(1, 2)\n    return x"),
        "Nothing has moved: the heads are still inside each token. `transpose` gives its result and leaves the tensor "
        "as it was, so return what it gives."),
    row("group_by_head", "heads_and_tokens_in_one_row", replace("transpose(1, 2)", "transpose(1, 2).flatten(1, 2)"),
        "The heads of all tokens are in one long row: (B, H · T, head_dim). A head's tokens need a dimension of their "
        "own."),
    row("group_by_head", "features_viewed_as_one_row",
        replace("x.transpose(1, 2)", "torch.stack(x.view(*x.shape[:2], -1).split(x.shape[3], dim=2), dim=1)"),
        VIEW_REFUSED),
    row("group_by_head", "grouped_without_gradients", replace("x.transpose", "x.data.transpose"), DETACHED),
    row("group_by_head", "transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
    # head_scores
    row("head_scores", "scores_scaled_already",
        replace("transpose(-2, -1)", "transpose(-2, -1) / keys.shape[-1] ** 0.5"),
        "The scores are divided by √head_dim here already. Here they are plain dot products; the next exercise scales "
        "them, once."),
    row("head_scores", "future_hidden_already",
        replace("return queries @ keys.transpose(-2, -1)", "scores = queries @ keys.transpose(-2, -1)\n    "
                "return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"),
        "The future is hidden here already. This exercise gives every score; which of them count is for the next one "
        "to say."),
    row("head_scores", "scores_made_weights",
        replace("queries @ keys.transpose(-2, -1)", "torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)"),
        "Softmax is taken here already. A score may be any number; the next exercise makes weights of them."),
    row("head_scores", "keys_ask_the_queries", replace("queries @ keys.transpose", "keys @ queries.transpose"),
        "Queries and keys have changed places: row i belongs to query i and holds its dot products with every key."),
    row("head_scores", "queries_compared_with_queries",
        replace("keys.transpose(-2, -1)", "queries.transpose(-2, -1) + 0 * keys.sum()"),
        "The queries are compared with themselves, and the keys have no part in the scores."),
    row("head_scores", "wrong_dimensions_transposed", replace("transpose(-2, -1)", "transpose(1, 2)"),
        "The product of queries and keys does not fit. Turn only a head's own matrix of keys, tokens by features, "
        "with transpose(-2, -1), and take `@`, which allows any dimensions in front."),
    row("head_scores", "keys_reshaped_instead_of_transposed",
        replace("transpose(-2, -1)", "reshape(*keys.shape[:2], keys.shape[3], keys.shape[2])"),
        "The keys are reshaped to (…, head_dim, T), not transposed: the shape fits, but each column holds features of "
        "different keys."),
    row("head_scores", "only_the_own_key", replace("queries @ keys.transpose(-2, -1)", "(queries * keys).sum(dim=-1)"),
        "Each query meets only the key at its own place. It should meet all keys of its head: a matrix product, with "
        "a row of scores for each query."),
    row("head_scores", "multiplied_entry_by_entry", replace("queries @ keys.transpose(-2, -1)", "queries * keys"),
        "`*` multiplies entry by entry. A dot product sums over the features, and `@` takes it of every query with "
        "every key."),
    row("head_scores", "heads_summed",
        replace("queries @ keys.transpose(-2, -1)", "(queries @ keys.transpose(-2, -1)).sum(dim=1)"),
        "The scores of all heads are summed into one matrix. Each head has an opinion of its own, and a (T, T) matrix "
        "of its own."),
    row("head_scores", "keys_of_all_heads", replace("keys.transpose", "keys.sum(dim=1, keepdim=True).transpose"),
        "A head's queries are compared with the keys of all heads. Heads do not talk to each other here: compare "
        "within the head."),
    row("head_scores", "keys_of_the_first_sequence", replace("keys.transpose", "keys[:1].transpose"),
        "Every sequence is compared with the keys of the first one. The elements of a batch are independent of each "
        "other."),
    row("head_scores", "cosines_instead_of_dot_products",
        replace("queries @ keys", "nn.functional.normalize(queries, dim=-1) @ nn.functional.normalize(keys, dim=-1)"),
        "The vectors are made to have length one before they are compared. A dot product counts their lengths, too: a "
        "long key is easier to find."),
    row("head_scores", "heads_viewed_as_a_batch",
        replace("queries @ keys.transpose(-2, -1)",
                "(queries.view(-1, *queries.shape[2:]) @ keys.view(-1, *keys.shape[2:]).mT)"
                ".view(*queries.shape[:3], -1)"), VIEW_REFUSED),
    row("head_scores", "scored_without_gradients", replace("queries @ keys", "queries.detach() @ keys.detach()"),
        DETACHED),
    row("head_scores", "only_queries_learn", replace("keys.transpose", "keys.detach().transpose"),
        "The keys are cut off from the gradients, so only the queries can learn. What a token can be found by is to "
        "be learnt as well."),
    row("head_scores", "keys_transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
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
        "The future is cut away after softmax, and the rows divided by what is left. Where the future has nearly all "
        "the weight, next to nothing is left to divide by: hide it before softmax."),
    row("head_weights", "future_lowered_by_too_little",
        replace("scores.masked_fill(future, -torch.inf)", "scores - 1000.0 * future"),
        "The future is lowered by a fixed amount, which a score that is far above the others survives. Minus infinity "
        "lets none survive."),
    row("head_weights", "minus_ten_thousand", replace("-torch.inf", "-1e4"), TEN_THOUSAND),
    row("head_weights", "softmax_over_queries", replace("dim=-1", "dim=-2"), SOFTMAX_OVER_QUERIES),
    row("head_weights", "softmax_over_heads", replace("dim=-1", "dim=1"), SOFTMAX_OVER_HEADS),
    row("head_weights", "softmax_over_heads_of_lowered_scores",
        replace("-torch.inf", "-1e9").replace("dim=-1", "dim=1"), SOFTMAX_OVER_HEADS),
    row("head_weights", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch, so sequences compete that should not know of each other. The keys lie along the "
        "last dim, -1."),
    row("head_weights", "softmax_forgotten",
        replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "(scores / head_dim**0.5).tril()"), NO_SOFTMAX),
    row("head_weights", "divided_by_sum",
        replace("return torch.softmax(masked / head_dim**0.5, dim=-1)",
                "seen = (scores / head_dim**0.5).tril()\n    return seen / seen.sum(dim=-1, keepdim=True)"),
        "The scores of the past are divided by their sum. Scores may be negative, and their sum near zero, so shares "
        "made that way can be anything; softmax takes exponentials first."),
    row("head_weights", "past_averaged", replace("scores.masked_fill", "torch.zeros_like(scores).masked_fill"),
        "Every token of the past gets the same weight, whatever the scores are. How much one token hears of another "
        "is for the scores to say."),
    row("head_weights", "mask_as_large_as_the_heads",
        replace("num_tokens, num_tokens", "scores.shape[1], scores.shape[1]"),
        "The mask's size does not fit the scores. It says for each query which keys it may see, so it is (T, T), and "
        "all heads share it: T is the last dimension of the scores."),
    row("head_weights", "weighed_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"),
        DETACHED),
    row("head_weights", "scores_masked_in_place", replace("masked_fill(", "masked_fill_("),
        "The caller's scores were changed. `masked_fill_` with its underscore, `/=` and an assignment to a part of a "
        "tensor work on the tensor itself; `masked_fill` and `/` give a new one."),
    # split_heads
    row("split_heads", "split_by_reshape_alone", replace("group_by_head(unroll_heads", "(tokens_taken_for_heads"),
        MIXED_BY_RESHAPE),
    row("split_heads", "split_by_view_alone",
        replace("group_by_head(unroll_heads", "(tokens_taken_for_heads_in_a_view"), MIXED_BY_RESHAPE),
    row("split_heads", "unrolled_only", replace("group_by_head", ""),
        "The features are unrolled, but the heads are still inside each token: (B, T, H, head_dim). The second step, "
        "bringing each head's tokens together, is missing."),
    row("split_heads", "features_dealt_in_turn_in_split", replace("unroll_heads", "features_dealt_in_turn"),
        DEALT_IN_TURN),
    row("split_heads", "heads_and_features_exchanged_in_split", replace("unroll_heads", "heads_and_features_exchanged"),
        EXCHANGED),
    row("split_heads", "heads_split_in_front_of_the_batch", replace("num_heads))", "num_heads)).transpose(0, 1)"),
        "The heads stand in front of the batch. Every sequence has its own heads, so the batch stays first: (B, H, T, "
        "head_dim)."),
    row("split_heads", "features_before_tokens", replace("num_heads))", "num_heads)).transpose(2, 3)"),
        "The features stand before the tokens. Each head should look like a sequence of its own: tokens third, "
        "features last."),
    row("split_heads", "tokens_shared_out",
        replace("return group_by_head(unroll_heads(x, num_heads))",
                "unroll_heads(x, num_heads)\n    return torch.stack(x.chunk(num_heads, dim=1), dim=1)"),
        "The tokens are shared out among the heads. Every head sees all tokens; it is the features that are shared "
        "out."),
    row("split_heads", "check_left_to_reshape_in_split", replace("unroll_heads", "check_left_to_reshape"),
        LEFT_TO_RESHAPE),
    row("split_heads", "rest_cut_off_in_split", replace("unroll_heads", "rest_cut_off"), NO_ERROR),
    row("split_heads", "every_division_refused_in_split", replace("unroll_heads", "every_division_refused"),
        ALL_REFUSED),
    row("split_heads", "tokens_viewed_as_one_row_in_split", replace("unroll_heads", "tokens_viewed_as_one_row"),
        VIEW_REFUSED),
    row("split_heads", "split_without_gradients", replace("unroll_heads", "unrolled_without_gradients"), DETACHED),
    row("split_heads", "resized_in_place_in_split", replace("unroll_heads", "resized_in_place"), CHANGED),
    # merge_heads
    row("merge_heads", "not_transposed_back",
        replace("tokens_first.flatten(start_dim=2)", "x.reshape(x.shape[0], x.shape[2], -1)"), NOT_TRANSPOSED_BACK),
    row("merge_heads", "merged_by_view_alone",
        replace("tokens_first.flatten(start_dim=2)", "x.view(x.shape[0], x.shape[2], -1)"), NOT_TRANSPOSED_BACK),
    row("merge_heads", "features_shuffled", replace("transpose(1, 2)", "permute(0, 2, 3, 1)"),
        "The heads' features are shuffled together: the first of each head, then the second of each. The heads should "
        "stand side by side, each with its features in their order."),
    row("merge_heads", "last_head_first", replace("x.transpose", "x.flip(1).transpose"),
        "The last head comes first. Heads keep their order, or what was split would come back changed."),
    row("merge_heads", "heads_below_each_other", replace("tokens_first.flatten(start_dim=2)", "x.flatten(1, 2)"),
        "The heads are joined one below the other: (B, H · T, head_dim). Each token wants its heads side by side, in "
        "the last dimension."),
    row("merge_heads", "heads_added_up", replace("tokens_first.flatten(start_dim=2)", "x.sum(dim=1)"),
        "The heads are added up, so nobody can tell any more which of them said what. Merging only puts them side by "
        "side."),
    row("merge_heads", "last_two_kept_apart", replace(".flatten(start_dim=2)", ""),
        "The heads are back inside their tokens, but still a dimension of their own: (B, T, H, head_dim). The last "
        "two should become one."),
    row("merge_heads", "batch_merged_away", replace("flatten(start_dim=2)", "flatten(2).flatten(0, 1)"),
        "The batch is merged away, too. Sequences stay apart: only heads and features become one dimension."),
    row("merge_heads", "view_without_contiguous", replace("flatten(start_dim=2)", "view(x.shape[0], x.shape[2], -1)"),
        "`view` cannot make one dimension of two that do not lie side by side in memory, and after a transpose they "
        "mostly do not. Use `reshape`, or `contiguous()` first."),
    row("merge_heads", "merged_without_gradients", replace("x.transpose", "x.detach().transpose"), DETACHED),
    row("merge_heads", "merged_in_place", replace("transpose(", "transpose_("), CHANGED),
    # MultiHeadAttentionWrapper
    row("MultiHeadAttentionWrapper", "heads_in_a_plain_list", replace("nn.ModuleList(", "list("),
        "The heads stand in a plain list, where a module does not look for its parts: no optimiser finds their "
        "weights. That is what nn.ModuleList is for."),
    row("MultiHeadAttentionWrapper", "heads_in_a_sequence",
        replace("nn.ModuleList(", "nn.Sequential(*(").replace("range(num_heads)", "range(num_heads))")
        .replace(SIDE_BY_SIDE, "self.heads(inputs)"),
        "nn.Sequential passes the inputs through one head after the other. The heads stand side by side, each with "
        "the same inputs: nn.ModuleList."),
    row("MultiHeadAttentionWrapper", "one_head_many_times",
        replace(f"{HEAD} for _ in range(num_heads)", f"num_heads * [{HEAD}]"),
        "All heads are one and the same module, or share their layers, so they can only learn the same. Make a new "
        "one for each head."),
    row("MultiHeadAttentionWrapper", "always_two_heads", replace("range(num_heads)", "range(2)"),
        "There is always the same number of heads, that of the worked example. How many there are is the caller's "
        "choice: num_heads."),
    row("MultiHeadAttentionWrapper", "d_out_shared_out_among_heads",
        replace("d_out, context", "max(1, d_out // num_heads), context"),
        "Each head has only d_out / num_heads features. In this wrapper every head is d_out wide, and the output is "
        "num_heads times as wide; sharing out d_out is the next class."),
    row("MultiHeadAttentionWrapper", "width_of_the_notebook", replace("d_out, context", "2, context"),
        "The heads are as wide as a variable of the notebook says, and not as the argument d_out. It works for one "
        "size only."),
    row("MultiHeadAttentionWrapper", "outputs_added_up",
        replace("torch.cat", "torch.stack").replace("dim=-1)", "dim=0).sum(dim=0)"),
        "The heads' outputs are added up. Side by side, each head keeps room of its own: torch.cat along the last "
        "dim."),
    row("MultiHeadAttentionWrapper", "outputs_averaged",
        replace("torch.cat", "torch.stack").replace("dim=-1)", "dim=0).mean(dim=0)"),
        "The heads' outputs are averaged. Side by side, each head keeps room of its own: torch.cat along the last "
        "dim."),
    row("MultiHeadAttentionWrapper", "outputs_stacked",
        replace("torch.cat", "torch.stack").replace("dim=-1", "dim=-2"), STACKED),
    row("MultiHeadAttentionWrapper", "outputs_stacked_at_the_end", replace("torch.cat", "torch.stack"), STACKED),
    row("MultiHeadAttentionWrapper", "outputs_stacked_in_front",
        replace("torch.cat", "torch.stack").replace("dim=-1", "dim=0"), STACKED),
    row("MultiHeadAttentionWrapper", "joined_along_the_tokens", replace("dim=-1", "dim=1"),
        "The heads' outputs are joined along the tokens, so the sequence seems to be longer. It is the features that "
        "stand side by side: dim=-1."),
    row("MultiHeadAttentionWrapper", "joined_along_the_batch", replace("dim=-1", "dim=0"),
        "The heads' outputs are joined along the batch, so there seem to be more sequences. It is the features that "
        "stand side by side: dim=-1."),
    row("MultiHeadAttentionWrapper", "last_head_first_in_the_wrapper",
        replace("in self.heads]", "in reversed(self.heads)]"),
        "The last head comes first. The order agreed on is that of the list: head 0 on the left."),
    row("MultiHeadAttentionWrapper", "first_head_asked_each_time",
        replace("[head(inputs) for head", "[self.heads[0](inputs) for _"),
        "The first head's output stands there for all heads. Every head is to be asked: head(inputs) for each head "
        "in self.heads."),
    row("MultiHeadAttentionWrapper", "heads_that_see_the_future",
        replace("head(inputs)", f"nn.functional.scaled_dot_product_attention({PROJECTED})"),
        "The heads see the future: they are self-attention without a mask. Take the causal attention of the unit "
        "before."),
    row("MultiHeadAttentionWrapper", "bias_not_handed_on", replace(", qkv_bias)", ")"),
        "qkv_bias is taken but not handed on, so no head has a bias even where the caller wants one. Pass it to "
        "every head."),
    row("MultiHeadAttentionWrapper", "bias_in_every_head", replace("qkv_bias: bool = False", "qkv_bias: bool = True"),
        "The heads have a bias even where the caller wants none. Hand qkv_bias on to every head, and let it be False "
        "by default."),
    row("MultiHeadAttentionWrapper", "context_of_the_worked_example", replace("context_length, dropout", "6, dropout"),
        "The heads take fewer tokens than context_length. Hand the argument on to every head as it is, and not the "
        "worked example's number."),
    row("MultiHeadAttentionWrapper", "dropout_not_handed_on", replace("dropout, qkv_bias", "0.0, qkv_bias"),
        "dropout is taken but not handed on, so nothing is ever dropped. Pass it to every head."),
    row("MultiHeadAttentionWrapper", "outputs_dropped_once_more",
        replace(SIDE_BY_SIDE, f"self.heads[0].dropout({SIDE_BY_SIDE})"),
        "The outputs are dropped once more, after the heads have dropped weights already. Hand dropout on to the "
        "heads, and leave it to them."),
    row("MultiHeadAttentionWrapper", "outputs_dropped_after_eval",
        replace(SIDE_BY_SIDE, f"nn.functional.dropout({SIDE_BY_SIDE}, self.heads[0].dropout.p)"),
        "Outputs are dropped after `.eval()`, too. `functional.dropout` drops unless it is told "
        "`training=self.training`; in the wrapper it has no place, for the heads drop their weights."),
    row("MultiHeadAttentionWrapper", "outputs_without_gradients", replace("dim=-1)", "dim=-1).detach()"), DETACHED),
    row("MultiHeadAttentionWrapper", "inputs_detached", replace("head(inputs)", "head(inputs.detach())"),
        "The inputs are cut off from the gradients, so the layers below, the embeddings among them, cannot learn."),
    row("MultiHeadAttentionWrapper", "inputs_made_float32", replace("head(inputs)", "head(inputs.float())"),
        "The inputs are made float32, which then do not fit heads that are float64. Let the inputs keep their dtype."),
    row("MultiHeadAttentionWrapper", "lonely_token_squeezed", replace("dim=-1)", "dim=-1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single token loses its row."),
    row("MultiHeadAttentionWrapper", "inputs_changed_in_place",
        replace("return torch", "output = torch")
        .replace("dim=-1)", "dim=-1)\n        inputs -= inputs.mean(dim=-1, keepdim=True)\n        return output"),
        INPUTS_CHANGED),
    # two_dimensional_output
    row("two_dimensional_output", "two_features_for_each_head", replace("d_in, 1", "d_in, 2"),
        "Each head has two features, so two heads side by side give four. It is d_out that changes: how wide must a "
        "head be, if two of them are to give two features together? That width is its d_out."),
    row("two_dimensional_output", "one_head_of_two_features",
        replace("d_in, 1", "d_in, 2").replace("heads=2", "heads=1"),
        "The outputs are two-dimensional, but come from a single head. There are to be two, side by side: one "
        "argument changes, and not this one."),
    row("two_dimensional_output", "one_head_of_one_feature", replace("heads=2", "heads=1"),
        "There is one head with one feature. Two heads with one feature each stand side by side and give two."),
    row("two_dimensional_output", "dropout_left_in", replace("dropout=0.0", "dropout=0.1"),
        "The wrapper drops weights in training. It was asked for without dropout: 0.0."),
    row("two_dimensional_output", "bias_left_in", replace("heads=2", "heads=2, qkv_bias=True"),
        "The heads have biases. The wrapper was asked for without: leave qkv_bias at False."),
    row("two_dimensional_output", "six_tokens_always", replace("1, context_length", "1, 6"),
        "The wrapper takes fewer tokens than context_length. Hand the argument on as it is, and not the worked "
        "example's number."),
    row("two_dimensional_output", "three_features_always", replace("d_in, 1", "3, 1"),
        "The wrapper takes inputs as wide as the worked example's. Hand on the argument d_in."),
    row("two_dimensional_output", "arguments_exchanged", replace("d_in, 1, context_length", "context_length, 1, d_in"),
        "d_in and context_length have changed places: the wrapper takes (d_in, d_out, context_length, dropout, "
        "num_heads)."),
    row("two_dimensional_output", "layer_behind_the_wrapper",
        replace("Multi", "nn.Sequential(Multi").replace("d_in, 1", "d_in, 2")
        .replace("heads=2)", "heads=2), nn.Linear(4, 2, bias=False))"),
        "What it gives is not the wrapper itself. It takes no other class, and no layer behind the wrapper: one "
        "argument changes."),
    row("two_dimensional_output", "outputs_cut_off",
        replace("return MultiHeadAttentionWrapper", "wrapper = bias_not_handed_on").replace("d_in, 1", "d_in, 2")
        .replace("heads=2)", "heads=2)\n    wrapper.register_forward_hook(lambda *given: given[-1][..., :2])\n    "
                             "return wrapper"),
        "The outputs are cut down to two features, and a whole head is lost. Make the heads narrower instead, so "
        "that all that they give fits."),
    row("two_dimensional_output", "class_instead_of_module",
        replace("(d_in, 1, context_length, dropout=0.0, num_heads=2)", ""),
        "The class came back, and not a wrapper made by it. Call it with its arguments."),
    # MultiHeadAttention
    row("MultiHeadAttention", "scaled_by_d_out", replace("self.head_dim)", "self.out_proj.in_features)"), BY_WIDTH),
    row("MultiHeadAttention", "scaled_by_d_in", replace("self.head_dim)", "inputs.shape[-1])"),
        "The scores are divided by √d_in. The dot products are between projected tokens, within one head, whose width "
        "is head_dim."),
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
        "The mask is not cut to the number of tokens, so it fits only a text as long as the context. Take as many "
        "rows and columns of it as there are tokens."),
    row("MultiHeadAttention", "mask_of_the_worked_example",
        masked_by("torch.ones(6, 6)[: inputs.shape[1], : inputs.shape[1]]"),
        "The mask is as large as the worked example's text, and longer ones do not fit. Its size is the argument "
        "context_length, or the number of tokens at hand."),
    row("MultiHeadAttention", "softmax_over_queries_in_the_module", replace("head_weights", "softmax_over_queries"),
        SOFTMAX_OVER_QUERIES),
    row("MultiHeadAttention", "softmax_over_heads_in_the_module", replace("head_weights", "softmax_over_heads"),
        SOFTMAX_OVER_HEADS),
    row("MultiHeadAttention", "softmax_over_heads_of_lowered_scores_in_the_module",
        replace("head_weights", "softmax_over_heads_of_lowered_scores"), SOFTMAX_OVER_HEADS),
    row("MultiHeadAttention", "softmax_forgotten_in_the_module", replace("head_weights", "softmax_forgotten"),
        NO_SOFTMAX),
    row("MultiHeadAttention", "past_averaged_in_the_module", replace("head_weights", "past_averaged"),
        "Every token of the past gets the same weight, whatever queries and keys are. How much one token hears of "
        "another is for their dot product to say."),
    row("MultiHeadAttention", "split_by_reshape_alone_in_the_module",
        replace("split_heads", "split_by_reshape_alone", 3), MIXED_BY_RESHAPE),
    row("MultiHeadAttention", "features_dealt_in_turn_in_the_module",
        replace("split_heads", "features_dealt_in_turn_in_split", 3).replace("merge_heads", "features_shuffled"),
        DEALT_IN_TURN),
    row("MultiHeadAttention", "heads_and_features_exchanged_in_the_module",
        replace("split_heads", "heads_and_features_exchanged_in_split", 3), EXCHANGED),
    row("MultiHeadAttention", "heads_never_split", replace("self.num_heads)", "1)", 3),
        "The heads are never split: one head sees all features. num_heads heads should each have a head_dim-th of the "
        "queries, keys and values, and weights of their own."),
    row("MultiHeadAttention", "one_head_with_its_own_scale",
        replace("self.num_heads)", "1)", 3).replace("self.head_dim)", "queries.shape[-1])"),
        "The heads are never split: one head sees all features, and its scores are divided by √d_out. num_heads heads "
        "should each have head_dim features, and weights of their own."),
    row("MultiHeadAttention", "heads_attend_to_each_other",
        replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not brought in front of the tokens, so each token's heads attend to each other, and no token "
        "to any other. Transpose to (B, H, T, head_dim) before the scores."),
    row("MultiHeadAttention", "heads_masked_as_tokens",
        masked_by("torch.ones(inputs.shape[1], inputs.shape[1])")
        .replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not brought in front of the tokens, so the scores are those between the heads of a token, and "
        "the mask for tokens does not fit them. Transpose to (B, H, T, head_dim) before the scores."),
    row("MultiHeadAttention", "heads_not_transposed_back", replace("merge_heads", "not_transposed_back"),
        NOT_TRANSPOSED_BACK),
    row("MultiHeadAttention", "features_shuffled_in_the_module", replace("merge_heads", "features_shuffled"),
        "The heads' features are shuffled together before out_proj. The heads should stand side by side, head 0 "
        "first."),
    row("MultiHeadAttention", "heads_added_up_in_the_module",
        replace("merge_heads(contexts)", "contexts.sum(dim=1).repeat(1, 1, self.num_heads)"),
        "The heads' contexts are added up and repeated, so nobody can tell any more which head said what. Put them "
        "side by side."),
    row("MultiHeadAttention", "keys_ask_the_queries_in_the_module", replace("queries, keys)", "keys, queries)"),
        "Queries and keys have changed places. A query looks back at the keys of its past; the other way round the "
        "mask hides the wrong ones."),
    row("MultiHeadAttention", "keys_and_values_swapped",
        replace("queries, keys)", "queries, values)").replace("@ values", "@ keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    row("MultiHeadAttention", "minus_ten_thousand_in_module", replace("head_weights(", "minus_ten_thousand("),
        TEN_THOUSAND),
    row("MultiHeadAttention", "equal_widths_not_projected",
        replace("self.W_value(inputs)",
                "inputs if inputs.shape[-1] == self.W_value.out_features else self.W_value(inputs)"),
        "Where d_in and d_out are the same, the heads mix the inputs themselves. Values are what W_value makes of the "
        "inputs, whatever the widths are."),
    row("MultiHeadAttention", "keys_handed_over", replace("@ values", "@ keys"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("MultiHeadAttention", "one_projection_in_use",
        replace("queries, keys)", "queries, queries)").replace("@ values", "@ queries"), ONE_PROJECTION),
    row("MultiHeadAttention", "only_values_in_use", replace("queries, keys)", "values, values)"), ONE_PROJECTION),
    row("MultiHeadAttention", "key_projection_unused", replace("queries, keys)", "queries, queries)"),
        "The keys are made but not used: queries are compared with queries. What a token looks for and what it can be "
        "found by are different things."),
    row("MultiHeadAttention", "one_layer_under_three_names",
        replace("self.out_proj = ", "self.W_key = self.W_value = self.W_query\n        self.out_proj = "),
        "W_query, W_key and W_value are the same layer under three names, so they always have the same weights. Make "
        "three layers."),
    row("MultiHeadAttention", "projections_as_wide_as_one_head",
        replace("d_in, d_out, bias", "d_in, d_out // num_heads, bias", 3)
        .replace("self.num_heads)", "1).repeat(1, self.num_heads, 1, 1)", 3),
        "Queries, keys and values have only head_dim features, and all heads share them. d_out features are made at "
        "once, and then shared out: nn.Linear(d_in, d_out)."),
    row("MultiHeadAttention", "out_proj_forgotten",
        replace("self.out_proj = nn.Linear(d_out, d_out)", "").replace("self.out_proj(", "("),
        "There is no out_proj: the heads stand side by side and never hear of each other. A last layer from d_out to "
        "d_out lets them mix."),
    row("MultiHeadAttention", "out_proj_unused", replace("self.out_proj(", "("),
        "out_proj is made but never used. What the heads gave should pass through it, as the last step of forward."),
    row("MultiHeadAttention", "out_proj_without_bias", replace("d_out, d_out)", "d_out, d_out, bias=qkv_bias)"),
        "out_proj has no bias. qkv_bias is about queries, keys and values only; the last layer has a bias, as "
        "nn.Linear gives it by itself."),
    row("MultiHeadAttention", "out_proj_back_to_d_in", replace("d_out, d_out)", "d_out, d_in)"),
        "out_proj comes back to d_in features. It mixes what the heads gave, so it goes from d_out to d_out."),
    row("MultiHeadAttention", "out_proj_applied_twice",
        replace("self.out_proj(merge_heads(contexts))", "self.out_proj(self.out_proj(merge_heads(contexts)))"),
        "out_proj is applied twice. Once is enough: the heads side by side pass through it, and that is the output."),
    row("MultiHeadAttention", "bias_always", replace("bias=qkv_bias", "bias=True", 3),
        "The layers have a bias where none was asked for, for that is what nn.Linear does by itself. Pass qkv_bias "
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
        "through the dropout, and use what it gives."),
    row("MultiHeadAttention", "dropped_after_eval",
        replace("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)"),
        "Weights are dropped after `.eval()`, too. `functional.dropout`, or an nn.Dropout made anew in forward, does "
        "not know of it: hand on `training=self.training`, or make the layer in `__init__`."),
    row("MultiHeadAttention", "scores_dropped",
        replace("head_scores(queries, keys)", "self.dropout(head_scores(queries, keys))")
        .replace("self.dropout(weights)", "weights"),
        "Dropout is applied to the scores, before softmax. A score of zero is no weight of zero: its key still gets a "
        "share. Drop the weights, after softmax."),
    row("MultiHeadAttention", "contexts_dropped",
        replace("self.dropout(weights)", "weights")
        .replace("(merge_heads(contexts))", "(self.dropout(merge_heads(contexts)))"),
        "Dropout is applied to the contexts or to the output, where features are lost. Here it is weights that are "
        "dropped: a token now and then does not hear another."),
    row("MultiHeadAttention", "kept_weights_not_scaled",
        replace("self.dropout(weights)", "(self.dropout(weights) != 0) * weights"),
        "Weights are dropped, but those that are kept do not grow. Divided by 1 - dropout they sum to one on average, "
        "as they will when nothing is dropped."),
    row("MultiHeadAttention", "kept_weights_renormalised",
        replace("self.dropout(weights)", "nn.functional.normalize(self.dropout(weights), p=1, dim=-1)"),
        "After dropout each row is made to sum to one again. That is not what dropout does: what is kept is divided "
        "by 1 - dropout, and only the average stays the same."),
    row("MultiHeadAttention", "dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "dropout is taken for the chance that a weight is kept. It is the chance that one is dropped, in torch as "
        "here."),
    row("MultiHeadAttention", "rows_dropped",
        replace("self.dropout(weights)", "(self.dropout(torch.ones_like(weights[..., :1])) * weights)"),
        "The whole row of a query is dropped, or kept, at once. Each weight is dropped on its own."),
    row("MultiHeadAttention", "check_left_to_reshape_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "check_left_to_reshape_in_split", 3),
        LEFT_TO_RESHAPE),
    row("MultiHeadAttention", "rest_cut_off_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "rest_cut_off_in_split", 3)
        .replace("(merge_heads(contexts))",
                 "(nn.functional.pad(merge_heads(contexts), (0, self.out_proj.in_features % self.num_heads)))"),
        NO_ERROR),
    row("MultiHeadAttention", "gradients_switched_off", replace("def forward", "@torch.no_grad()\n    def forward"),
        "`torch.no_grad()` is for using a model that has learnt. Inside forward it leaves nothing to learn from."),
    row("MultiHeadAttention", "only_out_proj_learns",
        replace("merge_heads(contexts)", "merge_heads(contexts).detach()"),
        "The heads are cut off from the gradients, by `torch.no_grad()`, `.detach()` or `.data`, so that only "
        "out_proj learns. W_query, W_key and W_value are to learn as well."),
    row("MultiHeadAttention", "only_values_learn",
        replace("head_scores(queries, keys)", "head_scores(queries, keys).detach()"),
        "Queries and keys are cut off from the gradients, so only the values learn. Queries and keys must be able to "
        "learn too."),
    row("MultiHeadAttention", "made_float32_on_the_way", replace("(inputs)", "(inputs.float())", 3),
        "Part of the way is float32, whatever the module is: a mask, a constant or the inputs. After `.double()` that "
        "no longer fits. Make what you need in the dtype of the inputs."),
    row("MultiHeadAttention", "dimensions_squeezed_away",
        replace("(merge_heads(contexts))", "(merge_heads(contexts)).squeeze()"),
        "`squeeze()` drops every dimension of length one: a single sequence, or a token that is alone, is lost with "
        "it."),
    row("MultiHeadAttention", "weights_given_too",
        replace("(merge_heads(contexts))", "(merge_heads(contexts)), weights"),
        "The module gives the weights, too. The next layer wants one tensor: give the output alone."),
    row("MultiHeadAttention", "inputs_changed_in_place_in_the_module",
        replace("return ", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return "), INPUTS_CHANGED),
    # stack_heads
    row("stack_heads", "joined_along_the_inputs",
        replace("[part.weight for part in parts]",
                "[part.weight for part in parts], dim=1).reshape(whole.weight.shape"),
        "The heads are joined along their inputs. nn.Linear keeps a row for each output feature, so the heads' rows "
        "stand one below the other: torch.cat along dim 0."),
    row("stack_heads", "last_head_stacked_first", replace("for part in parts]", "for part in reversed(parts)]", 2),
        "The last head comes first. MultiHeadAttention takes the first head_dim features for head 0, so its rows come "
        "first."),
    row("stack_heads", "rows_shuffled",
        replace("torch.cat(", "torch.stack(", 2).replace("in parts])", "in parts], dim=1).flatten(0, 1)", 2),
        "The heads' rows are shuffled together: the first of each head, then the second of each. A head's features "
        "stand together, so its rows do, too."),
    row("stack_heads", "stacked_transposed",
        replace("whole.weight.copy_(", "whole.weight.data = (")
        .replace("part.weight for part in parts])", "part.weight for part in parts]).T"),
        "The weights are handed over transposed. Both sides are nn.Linear and keep (features out, features in): "
        "nothing is to be turned here."),
    row("stack_heads", "copying_that_fails",
        replace("[part.weight for part in parts]", "[part.weight for part in parts], dim=1"),
        "The weights cannot be copied in. Join the heads' rows along dim 0, where nn.Linear has one for each output "
        "feature, so that they have the shape of attention's own; and copy under torch.no_grad()."),
    row("stack_heads", "first_head_everywhere", replace("in parts]", "in parts[:1] * num_heads]", 2),
        "All heads got the weights of head 0. Each head brings its own."),
    row("stack_heads", "only_values_stacked",
        replace("        for whole, parts in pairs", "        for whole, parts in pairs[2:]"),
        "Only the values were stacked, and queries and keys are what they were. All three layers belong to a head."),
    row("stack_heads", "queries_stacked_as_keys",
        replace("with torch",
                "attention.W_query, attention.W_key = attention.W_key, attention.W_query\n    with torch"),
        "Queries and keys have changed places on the way. The scores would still compare the two, but each token "
        "would look for what it has to offer."),
    row("stack_heads", "opposite_direction",
        replace("whole.weight.copy_(torch.cat([part.weight for part in parts]))",
                "for part, rows in zip(parts, whole.weight.chunk(num_heads)): part.weight.copy_(rows)")
        .replace("whole.bias.copy_(torch.cat([part.bias for part in parts]))",
                 "for part, rows in zip(parts, whole.bias.chunk(num_heads)): part.bias.copy_(rows)"),
        "The weights went from attention to the wrapper. It is the wrapper's weights that are wanted in attention."),
    row("stack_heads", "stacked_on_a_copy", replace(".copy_(", ".clone().copy_(", 2),
        "The stacked weights are worked out, and attention keeps its own. Copy them into its layers: it is attention "
        "that should change."),
    row("stack_heads", "biases_left_behind", replace("if whole.bias is not None", "if False"),
        "The biases were left behind. Where both sides have them, they belong to the heads as much as the weights: "
        "stack them in the same order."),
    row("stack_heads", "biases_set_to_zero",
        replace("whole.bias.copy_(torch.cat([part.bias for part in parts]))", "whole.bias.zero_()"),
        "The biases are set to zero. The heads' own biases are what is wanted in attention."),
    row("stack_heads", "key_bias_left_behind",
        replace("if whole.bias is not None", "if whole.bias is not None and whole is not attention.W_key"),
        "The key's bias was left behind. It would cancel in the softmax, but the weights of a head are to be handed "
        "over whole."),
    row("stack_heads", "wrapper_robbed_of_its_biases", replace("[part.bias for", "[part.bias.zero_() for"),
        "The heads' biases were set to zero behind the caller's back, to make the outputs agree. The wrapper is not "
        "yours to change."),
    row("stack_heads", "wrapper_frozen", replace("with torch", "wrapper.requires_grad_(False)\n    with torch"),
        "The wrapper's weights no longer require gradients. Copying without recording is what torch.no_grad() is for; "
        "the wrapper may well learn on."),
    row("stack_heads", "weights_frozen", replace("whole.weight.copy_", "whole.requires_grad_(False).weight.copy_"),
        "The weights no longer require gradients: the outputs agree, but attention cannot learn on. nn.Parameter "
        "requires them unless it is told not to."),
    row("stack_heads", "frozen_weights_put_in_place",
        ANY_WIDTH.replace("whole.weight.data", "whole.requires_grad_(False).weight.data"),
        "New weights take the place of attention's own. They require no gradients, so attention cannot learn on; and "
        "they may have any shape, so widths that do not match go unnoticed. Copy into the parameters that are there."),
    row("stack_heads", "weights_made_plain_tensors",
        replace("whole.weight.copy_(", "del whole.weight\n            whole.weight = ("),
        "The weights became plain tensors. The outputs are equal, but an optimiser does not find the weights. Wrap "
        "them in nn.Parameter, or copy into the existing parameters."),
    row("stack_heads", "tensors_assigned_to_parameters", replace("whole.weight.copy_(", "whole.weight = ("),
        "A plain tensor is assigned where a parameter stands, and nn.Module refuses that. Wrap it in nn.Parameter, or "
        "copy it in without recording gradients."),
    row("stack_heads", "out_proj_made_anew",
        replace("with torch", "nn.init.ones_(attention.out_proj.weight)\n    with torch"),
        "out_proj was changed as well. The wrapper has nothing to say about it: leave it as it is."),
    row("stack_heads", "any_width_accepted", ANY_WIDTH,
        "Weights of any width are put in place of those that were there, and attention is then another module than it "
        "says. Raise an error where the widths do not match."),
    row("stack_heads", "d_in_not_looked_at",
        replace("(num_heads * part.out_features, part.in_features) != whole.weight.shape",
                "num_heads * part.out_features != len(whole.weight)")
        .replace(".copy_(", ".data = (", 2),
        "Only the heads' width is compared, and not that of the inputs. Both have to match: d_out, shared out among "
        "the heads, and d_in."),
    row("stack_heads", "bias_of_attention_accepted",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None and whole.bias is None")
        .replace("if whole.bias is not None", "if whole.bias is not None and parts[0].bias is not None"),
        "Biases that attention alone has go unnoticed, and its outputs then differ from the wrapper's. Raise an error "
        "where the heads have none to put in their place."),
    row("stack_heads", "biases_of_the_heads_dropped",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is None and whole.bias is not None"),
        "Biases that the heads alone have are dropped without a word, and attention then gives other outputs. Raise an "
        "error where attention has no place for them."),
    row("stack_heads", "every_bias_refused",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None or whole.bias is not None"),
        "Biases are refused on whichever side. Where both have them, there is room for them: stack them, too."),
    # gpt2_small_attention
    row("gpt2_small_attention", "context_of_the_toy_batch", replace("1024", "6"),
        "The context length of the toy batch was kept. GPT-2 was trained on texts of up to 1,024 tokens."),
    row("gpt2_small_attention", "biases_as_in_gpt2_itself", replace("heads=12", "heads=12, qkv_bias=True"),
        "Queries, keys and values have biases. GPT-2 itself has them; the rule here, as the book's, leaves them out: "
        "2,360,064 parameters and not 2,362,368."),
    row("gpt2_small_attention", "width_of_one_head", replace("768, 768", "768, 64"),
        "d_out is the width of one head, 64. The class shares d_out out among the heads by itself, so d_out is the "
        "width of all of them: 768."),
    row("gpt2_small_attention", "narrow_input", replace("768, 768", "3, 768"),
        "The features going in and coming out are not the same number. A block's output becomes the next one's "
        "input, so both are 768."),
    row("gpt2_small_attention", "heads_of_a_larger_gpt2", replace("heads=12", "heads=16"),
        "There is another number of heads. The smallest GPT-2 has 12, of 64 features each; only the larger ones have "
        "more."),
    row("gpt2_small_attention", "heads_of_the_worked_example", replace("heads=12", "heads=2"),
        "The two heads of the worked example were kept. The smallest GPT-2 has 12."),
    row("gpt2_small_attention", "width_of_a_larger_gpt2",
        replace("768, 768", "1024, 1024").replace("heads=12", "heads=16"),
        "The width is that of the next larger GPT-2, 1,024. The smallest has 768 features."),
    row("gpt2_small_attention", "width_and_context_exchanged",
        replace("768, 768, context_length=1024", "1024, 1024, context_length=768"),
        "Width and context length have changed places: the class takes (d_in, d_out, context_length, dropout, "
        "num_heads)."),
    row("gpt2_small_attention", "wrapper_instead", replace("Attention(768, 768", "AttentionWrapper(768, 64"),
        "That is another module than the MultiHeadAttention of this unit: the wrapper, perhaps, which puts whole "
        "heads side by side. MultiHeadAttention shares 768 features out among the heads."),
]
# fmt: on
