"""Misconceptions of unit 8: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If two exercises share a mistake, the name in the later one has more words.
"""

from __future__ import annotations

from grader.suites.attention_mistakes import FIXED, VALUES_AS_KEYS, ZEROS_HIDDEN
from grader.testing.misconceptions import replace, row

# Parts of the solution that several rows replace.
SCORES = "torch.tanh(query + keys) @ v"
ADDITIVE = "additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)"
SOFTMAX = "torch.softmax(scores, dim=0)"
HIDDEN = "scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)"

NO_TANH = (
    "The tanh is missing. Without it the decoder's part is the same number for every encoder state, and it cancels in "
    "softmax. Then the weights do not depend on the decoder."
)
EXCHANGED = (
    "The two matrices are swapped. Both are (h, a), so there is no error. W_decoder belongs to the decoder's state and "
    "W_encoder to the encoder's states."
)
DECODER_IGNORED = (
    "The decoder's state is not used, so every written word would get the same context. The scores should depend on "
    "the decoder: add decoder_state @ W_decoder."
)
DOT_PRODUCTS = (
    "These are dot products of the states. Additive attention is older: it adds the two projections, takes the tanh, "
    "and multiplies with v."
)
NO_MASK = (
    "Without a mask there is an error. The mask is optional, so its default is None: `padding_mask=None`. Check `if "
    "padding_mask is not None` before you use it."
)

CALLS = {"bahdanau_context": ["additive_scores"]}

# fmt: off
ROWS = [
    # rnn_hidden_states
    row("rnn_hidden_states", "starts_from_ones", replace("zeros_like", "ones_like"),
        "The state before the first token is ones. Nothing has been read yet, so it should be zeros, which have no "
        "effect on the first state."),
    row("rnn_hidden_states", "starts_from_the_bias", replace("torch.zeros_like(bias)", "bias"),
        "The bias is the state before the first token. That state should be zeros: the bias belongs only in the sum "
        "of each step."),
    row("rnn_hidden_states", "tanh_forgotten", replace("torch.tanh", ""),
        "The tanh is missing. Without it all steps together are one linear function of the inputs, and a state can "
        "grow without limit."),
    row("rnn_hidden_states", "tanh_of_the_token_only", replace("state @ W_h + bias)", "bias) + state @ W_h"),
        "The tanh is taken only of the token's part, and the part of the state before is added outside. Take the "
        "tanh of the whole sum. Otherwise the state can grow without limit."),
    row("rnn_hidden_states", "tanh_of_the_state_only",
        replace("token @ W_x + state @ W_h + bias", "state @ W_h")
        .replace("torch.tanh(", "token @ W_x + bias + torch.tanh("),
        "The tanh is taken only of the part of the state before, and the token's part is added outside. Take the tanh "
        "of the whole sum."),
    row("rnn_hidden_states", "tanh_of_each_part",
        replace("torch.tanh(token @ W_x + state @ W_h + bias)",
                "torch.tanh(token @ W_x + bias) + torch.tanh(state @ W_h)"),
        "The token's part and the part of the state before each have their own tanh. Add first, and take one tanh "
        "of the whole sum: otherwise the state can grow beyond 1."),
    row("rnn_hidden_states", "bias_after_tanh", replace(" + bias)", ") + bias"),
        "The bias is added after the tanh. Add it to the sum inside the tanh."),
    row("rnn_hidden_states", "next_state_from_the_sum_before_tanh",
        replace("torch.tanh(token @ W_x + state @ W_h + bias)", "token @ W_x + state @ W_h + bias")
        .replace("append(state)", "append(torch.tanh(state))"),
        "Each step continues from the sum before its tanh; only the returned states are after tanh. Continue from the "
        "state itself."),
    row("rnn_hidden_states", "relu_for_tanh", replace("tanh", "relu"),
        "ReLU is used instead of tanh. ReLU removes negative numbers and has no upper limit; tanh keeps both signs, "
        "and every number between -1 and 1."),
    row("rnn_hidden_states", "sigmoid_for_tanh", replace("tanh", "sigmoid"),
        "The sigmoid is used instead of tanh. Its results are between 0 and 1, so no number of the state can be "
        "negative. Those of tanh are between -1 and 1."),
    row("rnn_hidden_states", "bias_forgotten", replace(" + bias", ""),
        "The bias is not in the sum. Add it to the sum at every step."),
    row("rnn_hidden_states", "bias_in_the_first_step_only",
        replace("states.append(state)", "states.append(state)\n        bias = 0"),
        "The bias is added only in the first step. Add it at every step, like the products with W_x and W_h."),
    row("rnn_hidden_states", "W_h_transposed", replace("state @ W_h", "W_h @ state"),
        "W_h is transposed. It is square, so there is no error. But row i belongs to number i of the state before, "
        "so the state is on the left of the product."),
    row("rnn_hidden_states", "W_x_transposed_or_exchanged", replace("token @ W_x", "W_x @ token"),
        "The shapes of a product do not match. A token is a row on the left of W_x, which is (d, h), and a state is "
        "a row on the left of W_h, which is (h, h). Do not transpose the matrices."),
    row("rnn_hidden_states", "state_before_not_used", replace("state @ W_h", "0 * state @ W_h"),
        "Every state is computed only from its own token. A recurrent network also uses the state before: after each "
        "step, replace the old state by the new one."),
    row("rnn_hidden_states", "last_state_only", replace("torch.stack(states)", "state"),
        "Only the last state is returned. A plain decoder needs no more, but attention needs the states after all "
        "tokens: (T, h)."),
    row("rnn_hidden_states", "last_state_in_every_row", replace("state = torch.tanh", "state[:] = torch.tanh"),
        "Every row is the last state: the same tensor was changed at each step and stored again and again. Make a "
        "new state at each step, or store a copy."),
    row("rnn_hidden_states", "last_state_first", replace("stack(states)", "stack(states[::-1])"),
        "The states are in reverse order, the last one first. Row t should be the state after token t."),
    row("rnn_hidden_states", "read_from_right_to_left",
        replace("in inputs", "in inputs.flip(0)").replace("stack(states)", "stack(states[::-1])"),
        "The text is read from right to left. A state should contain what came before its token; later tokens are "
        "not known yet."),
    row("rnn_hidden_states", "tokens_from_the_last_to_the_first", replace("in inputs", "in inputs.flip(0)"),
        "The tokens are read from the last to the first, and the states are in this order too. Begin with token 0, "
        "and let row t be the state after token t."),
    row("rnn_hidden_states", "states_before_the_tokens",
        replace("stack(states)", "stack([torch.zeros_like(bias), *states[:-1]])"),
        "Each row is the state before its token: the zeros come first, and the last state is missing. Store each "
        "state after its step."),
    row("rnn_hidden_states", "last_token_not_read", replace("in inputs", "in inputs[:-1]"),
        "The loop stops before the last token, so its state is missing. Read every token: T states for T tokens."),
    row("rnn_hidden_states", "first_token_not_read", replace("in inputs", "in inputs[1:]"),
        "The loop begins with the second token, so the first one is never read. Count from 0: T states for T tokens."),
    row("rnn_hidden_states", "last_state_returned_too", replace("torch.stack(states)", "torch.stack(states), state"),
        "Two results are returned, the states and the last state, as PyTorch's own RNN does. Return only the states: "
        "the last one is their last row."),
    row("rnn_hidden_states", "zeros_as_a_row", replace("states = []", "states = [state]"),
        "The zeros before the first token are a row of the result. There should be one row for each token, and the "
        "first is the state after the first token."),
    row("rnn_hidden_states", "states_in_one_long_row", replace("torch.stack", "torch.cat"),
        "The states are in one long row, because `torch.cat` joins vectors in this way. `torch.stack` puts them one "
        "below the other, (T, h)."),
    row("rnn_hidden_states", "states_as_columns", replace("stack(states)", "stack(states, dim=1)"),
        "The states are columns. A token is a row, and so is the state after it: (T, h)."),
    row("rnn_hidden_states", "states_written_into_one_tensor",
        replace("states = []", "states = torch.zeros_like(inputs @ W_x)").replace("torch.stack(states)", "states")
        .replace("for token in inputs", "for place, token in enumerate(inputs)")
        .replace("states.append(state)", "states[place] = state\n        state = states[place]"),
        "The states are written into one tensor, row by row, and each is computed from the row before. Gradients "
        "need the tensor as it was at each step, but it has changed: collect the states in a list, and stack them."),
    row("rnn_hidden_states", "list_of_states", replace("torch.stack(states)", "states"),
        "The result is a Python list of states. The next step needs one tensor: `torch.stack` makes (T, h) of it."),
    row("rnn_hidden_states", "states_added_up", replace("state = torch.tanh", "state = state + torch.tanh"),
        "Each step's result is added to the state before. Here the new state replaces the old one. The old state is "
        "already in the sum, through W_h."),
    row("rnn_hidden_states", "lonely_state_squeezed", replace("stack(states)", "stack(states).squeeze()"),
        "A text of a single token raises an error, or loses a dimension: `squeeze()` removes every dimension of size "
        "one. The result is (T, h) for any T."),
    row("rnn_hidden_states", "zeros_of_another_dtype", replace("zeros_like(bias)", "zeros(len(bias))"),
        "The zeros at the start are always float32 and do not match float64 arguments. Make them with the dtype "
        "of the arguments."),
    row("rnn_hidden_states", "states_without_gradients", replace("stack(states)", "stack(states).detach()"),
        "Gradients stop at the states, for example because of `.detach()`, `.data` or `torch.no_grad()`, or because "
        "numbers were copied into a new tensor. The matrices learn only through the states."),
    row("rnn_hidden_states", "gradients_stop_between_steps", replace("state @ W_h", "state.detach() @ W_h"),
        "Gradients stop between one step and the next. Then the network cannot learn how an early token influences a "
        "late state. Pass on the state itself, without `.detach()`."),
    row("rnn_hidden_states", "inputs_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        inputs += 1\n    return"),
        "One of the caller's arguments was changed. `+=` and methods with an underscore at the end change the tensor "
        "itself. Write `x = x + …`, which makes a new one."),
    # additive_scores
    row("additive_scores", "additive_without_tanh", replace("torch.tanh", ""), NO_TANH),
    row("additive_scores", "tanh_of_the_scores", replace(SCORES, "torch.tanh((query + keys) @ v)"),
        "The tanh is taken of the final scores. Take it of the sums, before the product with v. There it combines "
        "the two sides."),
    row("additive_scores", "tanh_of_each_side",
        replace("torch.tanh(query + keys)", "(torch.tanh(query) + torch.tanh(keys))"),
        "Each side has its own tanh, and they are added afterwards. Then the decoder's part is the same number for "
        "all encoder states. Add first, and take one tanh of the sum."),
    row("additive_scores", "v_inside_the_tanh", replace(SCORES, "torch.tanh((query + keys) * v).sum(-1)"),
        "v is multiplied inside the tanh. It comes after: the tanh of the sum has a numbers, and the dot product "
        "with v turns them into one."),
    row("additive_scores", "relu_for_tanh_in_scores", replace("torch.tanh", "torch.relu"),
        "ReLU or another function is used instead of tanh. The tanh keeps both signs, and each number between -1 and "
        "1."),
    row("additive_scores", "product_instead_of_sum", replace("query + keys", "query * keys"),
        "The two projections are multiplied. Additive attention adds them."),
    row("additive_scores", "difference_instead_of_sum", replace("query + keys", "query - keys"),
        "One projection is subtracted from the other. Add them: the matrices can learn any sign."),
    row("additive_scores", "side_by_side_or_turned_round",
        replace("query + keys", "torch.cat([query.expand_as(keys), keys], dim=-1)"),
        "Every call ends in an error, because shapes do not match. Add the two projections, (a,) to each row of (T, "
        "a). Then multiply each row with v from the right: (T, a) @ (a,)."),
    row("additive_scores", "matrices_exchanged",
        replace("state @ W_decoder", "state @ W_encoder").replace("states @ W_encoder", "states @ W_decoder"),
        EXCHANGED),
    row("additive_scores", "matrices_transposed",
        replace("@ W_decoder", "@ W_decoder.T").replace("@ W_encoder", "@ W_encoder.T"),
        "The matrices are transposed, or not used, so shapes do not match. They are (h, a), and a state is a row on "
        "their left: `state @ W`. If h = a there is no error, but the result is wrong."),
    row("additive_scores", "decoder_state_ignored", replace("query + keys", "keys"), DECODER_IGNORED),
    row("additive_scores", "dot_products_of_the_states", replace(SCORES, "encoder_states @ decoder_state"),
        DOT_PRODUCTS),
    row("additive_scores", "dot_products_of_the_projections", replace(SCORES, "keys @ query"),
        "The two projections are multiplied in a dot product, like queries and keys in the Transformer. In additive "
        "attention add them, and multiply the tanh of the sum with v."),
    row("additive_scores", "v_not_used", replace(" @ v", ".sum(-1)"),
        "v is not used: all features count the same. v should learn which of them are important, so take the dot "
        "product with it."),
    row("additive_scores", "not_added_up", replace("@ v", "* v"),
        "Each feature is multiplied by its number in v, but they are not added up. A score is one number for each "
        "encoder state."),
    row("additive_scores", "scores_as_a_column", replace("@ v", "@ v[:, None]"),
        "The scores are a column, (T, 1). They should be a vector, (T,): multiply with v itself, or squeeze only the "
        "last dimension."),
    row("additive_scores", "softmax_already_applied", replace(SCORES, f"torch.softmax({SCORES}, dim=0)"),
        "These are already weights: softmax was applied. That is the next exercise. Here return the plain scores."),
    row("additive_scores", "scaled_by_the_root_of_a", replace("@ v", "@ v / len(v) ** 0.5"),
        "The scores are divided by the root of a width. That is for dot products, which grow with the width. Here "
        "the tanh keeps every term between -1 and 1, and v can learn any size."),
    row("additive_scores", "lonely_score_squeezed", replace(SCORES, f"({SCORES}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the score of a single encoder state is not a vector any "
        "more."),
    row("additive_scores", "states_made_float32",
        replace("decoder_state @", "decoder_state.float() @").replace("encoder_states @", "encoder_states.float() @"),
        "The states are made float32, so they do not match float64 matrices. Keep the dtype of the arguments."),
    row("additive_scores", "scores_without_gradients", replace(SCORES, f"({SCORES}).detach()"),
        "Gradients stop at the scores, for example because of `.detach()`, `.data` or `torch.no_grad()`. Both "
        "matrices and v learn only through the scores."),
    row("additive_scores", "encoder_learns_nothing", replace("encoder_states @", "encoder_states.detach() @"),
        "The encoder states are cut off from the gradients. The encoder learns through them which states are useful "
        "for the decoder."),
    row("additive_scores", "encoder_states_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states += decoder_state\n    return"),
        "The caller's encoder states were changed. They are needed again for the context. `+=` and methods with an "
        "underscore at the end change the tensor itself, so write `x = x + …`."),
    # bahdanau_context
    row("bahdanau_context", "scores_as_weights", replace(SOFTMAX, "scores"),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one."),
    row("bahdanau_context", "divided_by_the_sum", replace(SOFTMAX, "scores / scores.sum()"),
        "The scores are divided by their sum. Additive scores may be negative, and so would the weights be, or the "
        "sum may be near zero: take the softmax."),
    row("bahdanau_context", "exponentials_not_divided", replace(SOFTMAX, "scores.exp()"),
        "The exponentials are not divided by their sum. Weights should sum to one. Otherwise a long text has a "
        "larger context than a short one."),
    row("bahdanau_context", "additive_scores_scaled_by_a", replace("(scores", "(scores / len(v) ** 0.5"),
        "The scores are divided by the root of a. That is for dot products, which grow with the width. Here the tanh "
        "keeps every term between -1 and 1, and v can learn any size."),
    row("bahdanau_context", "additive_scores_scaled_by_h", replace("(scores", "(scores / len(decoder_state) ** 0.5"),
        "The scores are divided by the root of h, the width of the states. That is for dot products of states, which "
        "grow with h. Apply softmax to the plain additive scores."),
    row("bahdanau_context", "softmax_taken_twice", replace("(scores", f"({SOFTMAX}"),
        "Softmax was applied twice. The second softmax gets only numbers between 0 and 1, so all its weights are "
        "nearly equal."),
    row("bahdanau_context", "softmax_over_a_single_score",
        replace("torch.softmax(scores, dim=0)", "torch.softmax(scores[:, None], dim=1)[:, 0]"),
        "Every weight is one: softmax runs over a dimension of size one. It should run over the T encoder states, so "
        "that their weights sum to one."),
    row("bahdanau_context", "column_of_ones_as_weights",
        replace("torch.softmax(scores, dim=0)", "torch.softmax(scores[:, None], dim=1)")
        .replace("weights @ encoder_states", "(weights * encoder_states).sum(dim=0)"),
        "Every weight is one, and the weights are a column: softmax runs over a dimension of size one. It should run "
        "over the T encoder states, and the weights are a vector, (T,)."),
    row("bahdanau_context", "weights_as_a_column",
        replace("torch.softmax(scores, dim=0)", "torch.softmax(scores[:, None], dim=0)")
        .replace("weights @ encoder_states", "(weights * encoder_states).sum(dim=0)"),
        "The weights are a column, (T, 1). It helps in the sum, but the result should be a vector, (T,): take the last "
        "dimension away again."),
    row("bahdanau_context", "states_averaged", replace("(scores", "(0 * scores"),
        "All encoder states count the same. That is a mean, where one important state has little effect. The scores "
        "should decide how much each of them counts."),
    row("bahdanau_context", "best_state_takes_all", replace(SOFTMAX, "(scores == scores.max()) + 0 * scores"),
        "The best state gets all the weight. Such a choice has no gradient, so the model cannot learn to choose "
        "better. Softmax gives every state some weight."),
    row("bahdanau_context", "last_state_as_the_context", replace("weights @ encoder_states", "encoder_states[-1]"),
        "The last encoder state is the context, whatever the scores are. That was the method before attention. Now "
        "each state counts with its weight."),
    row("bahdanau_context", "context_without_tanh",
        replace(ADDITIVE, "(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v"),
        NO_TANH),
    row("bahdanau_context", "matrices_exchanged_in_context", replace("W_decoder, W_encoder", "W_encoder, W_decoder"),
        EXCHANGED),
    row("bahdanau_context", "decoder_state_ignored_in_context",
        replace(ADDITIVE, "torch.tanh(encoder_states @ W_encoder) @ v"),
        DECODER_IGNORED),
    row("bahdanau_context", "dot_products_in_context", replace(ADDITIVE, "encoder_states @ decoder_state"),
        DOT_PRODUCTS),
    row("bahdanau_context", "projections_mixed",
        replace("weights @ encoder_states", "weights @ encoder_states @ W_encoder"),
        "The context is a sum of projected states. The projections are only for the scores. The context is the "
        "weighted sum of the encoder states themselves, (h,)."),
    row("bahdanau_context", "states_not_added_up", replace("weights @", "weights[:, None] *"),
        "Each encoder state is multiplied by its weight, but they are not added up. The context is one vector, (h,), "
        "for any length of the text."),
    row("bahdanau_context", "context_as_a_row", replace("return context", "return context[None]"),
        "The context still has a dimension of size one. For one state of the decoder it should be one vector, (h,)."),
    row("bahdanau_context", "decoder_state_added", replace("return context", "return context + decoder_state"),
        "The decoder's state was added to the context. The decoder does that itself, later. The context should only "
        "contain the encoder states."),
    row("bahdanau_context", "weights_first", replace("context, weights", "weights, context"),
        "The two results are in the wrong order. Return the context first, then the weights, as everywhere in this "
        "course."),
    row("bahdanau_context", "context_alone", replace("context, weights", "context"),
        "Only the context is returned. Return the weights too: they show where the decoder looked."),
    row("bahdanau_context", "scores_in_the_place_of_weights", replace("context, weights", "context, scores"),
        "The context is correct, but the scores are returned instead of the weights. The weights are the softmax of "
        "the scores."),
    row("bahdanau_context", "lonely_weight_squeezed", replace("context, weights", "context, weights.squeeze()"),
        "`squeeze()` removes every dimension of size one, so the weight of a single encoder state is not a vector "
        "any more."),
    row("bahdanau_context", "states_made_float32_in_context",
        replace("(decoder_state, encoder_states", "(decoder_state.float(), encoder_states.float()"),
        "The states are made float32, so they do not match float64 tensors. Keep the dtype of the arguments."),
    row("bahdanau_context", "context_without_gradients",
        replace("context, weights", "context.detach(), weights.detach()"),
        "Gradients stop at the results, for example because of `.detach()`, `.data` or `torch.no_grad()`. Encoder "
        "and decoder learn only through these results."),
    row("bahdanau_context", "where_to_look_is_not_learnt", replace("weights @", "weights.detach() @"),
        "No gradient flows through the weights that are multiplied with the encoder states. Where to look must be "
        "learned too."),
    row("bahdanau_context", "encoder_states_weighted_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states *= weights[:, None]\n    return"),
        "The caller's encoder states were multiplied by the weights in place. The next word of the translation needs "
        "them again: write `x = x * …` instead of `x *= …`."),
    # CrossAttention: scores
    row("bahdanau_context", "results_in_a_dict",
        replace("return context, weights", "return dict(context=context, weights=weights)"),
        "The results are in a dict. Return them with a comma between them: the pair (context, weights)."),
    row("CrossAttention", "scaling_forgotten", replace(" / keys.shape[-1] ** 0.5", ""),
        "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by √d_out "
        "they keep a variance near 1, so that softmax does not give all the weight to one key."),
    row("CrossAttention", "half_instead_of_root", replace("** 0.5", "* 0.5"),
        "Python evaluates `/` and `*` from left to right: `/ d_out*0.5` divides by d_out and then multiplies by 0.5. "
        "A square root is a power, `d_out**0.5`."),
    row("CrossAttention", "twentieth_root", replace("0.5", "0.05"),
        "The root is mistyped: the power .05 hardly changes the scores. A square root is the power 0.5, or "
        "`math.sqrt`."),
    row("CrossAttention", "fifth_power", replace("0.5", "5"),
        "The scores are divided by the fifth power of d_out, so all tokens of context have almost the same weight. "
        "Perhaps a dot is missing: the root is the power 0.5."),
    row("CrossAttention", "square_instead_of_root", replace("0.5", "2"),
        "The scores are divided by the square of d_out, which makes them far too small. Divide by its square root, "
        "the power 0.5."),
    row("CrossAttention", "multiplied_by_the_root", replace("/ keys.shape[-1] ** 0.5", "* keys.shape[-1] ** 0.5"),
        "The scores are multiplied by the root of d_out. Wider queries and keys have larger dot products, so make "
        "them smaller: divide, or use the power -0.5."),
    row("CrossAttention", "multiplied_by_half_the_width", replace("/ keys.shape[-1] ** 0.5", "* keys.shape[-1] * 0.5"),
        "The scores are multiplied by half of d_out. Divide by its root: a root is a power, `**`, and dividing by it "
        "is the power -0.5."),
    row("CrossAttention", "divided_by_the_width_itself", replace(" ** 0.5", ""),
        "The scores are divided by d_out itself. Their standard deviation is the root of d_out, so divide by this "
        "root to bring it to 1."),
    row("CrossAttention", "scaled_by_d_query", replace("keys.shape[-1]", "x.shape[-1]"),
        "The scores are divided by √d_query. The dot products are between projected tokens, and their width is d_out."),
    row("CrossAttention", "scaled_by_d_context", replace("keys.shape[-1]", "context.shape[-1]"),
        "The scores are divided by √d_context. The dot products are between projected tokens, and their width is "
        "d_out."),
    row("CrossAttention", "scaled_by_the_length_of_the_context", replace("keys.shape[-1]", "keys.shape[1]"),
        "The scores are divided by the root of the number of tokens in the context. A dot product sums over "
        "features, so divide by the root of their number, d_out."),
    row("CrossAttention", "scaled_by_root_of_eight", replace("keys.shape[-1] ** 0.5", "8**0.5"), FIXED),
    row("CrossAttention", "scaled_by_eight", replace("keys.shape[-1] ** 0.5", "8"), FIXED),
    row("CrossAttention", "scaled_after_softmax",
        replace(" / keys.shape[-1] ** 0.5, dim=-1)", ", dim=-1) / keys.shape[-1] ** 0.5"),
        "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."),
    # CrossAttention: queries, keys and values
    row("CrossAttention", "queries_from_context", replace("W_query(x)", "W_query(context)"),
        "The queries come from context. They should come from the text that is being written: queries from x, and "
        "one output for each token of x."),
    row("CrossAttention", "keys_from_x", replace("W_key(context)", "W_key(x)"),
        "The keys come from x, so the written text is compared with itself. Each query should find the tokens of "
        "context that fit it: keys from context."),
    row("CrossAttention", "values_from_x", replace("W_value(context)", "W_value(x)"),
        "The values come from x. The output should contain information from the other text: values from context, "
        "like the keys."),
    row("CrossAttention", "context_never_looked_at", replace("(context)", "(x)", 2),
        "This is self-attention: queries, keys and values all come from x, and context is never used. Keys and "
        "values should come from context."),
    row("CrossAttention", "x_and_context_exchanged", replace("x: torch.Tensor, context:", "context: torch.Tensor, x:"),
        "x and context are swapped: queries come from context, keys and values from x. Queries should come from the "
        "text that is being written, x."),
    row("CrossAttention", "keys_handed_over", replace("W_value(context)", "W_key(context)"),
        "W_value is made but never used, and the weights mix the keys. Keys are only compared with queries. The "
        "weights should mix the values."),
    row("CrossAttention", "context_mixed_unprojected", replace("self.W_value(context)", "context"),
        "W_value is made but never used: the weights mix the context itself. Mix the values, W_value(context)."),
    row("CrossAttention", "keys_and_values_exchanged",
        replace("keys = self.W_key", "keys = self.W_value").replace("values = self.W_value", "values = self.W_key"),
        "W_key and W_value are swapped: queries are compared with the values, and the weights mix the keys."),
    row("CrossAttention", "values_as_keys", replace("keys = self.W_key", "keys = self.W_value"), VALUES_AS_KEYS),
    row("CrossAttention", "keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "Queries and keys are swapped in the scores. Row i should belong to query i and contain its dot products "
        "with every key: queries @ transposed keys."),
    # CrossAttention: softmax
    row("CrossAttention", "causal_mask_applied",
        replace("(scores", "((scores + torch.full_like(scores, -torch.inf).triu(1))"),
        "A causal mask hides later tokens of context. The decoder must not see the future of its own text, but the "
        "other text is already complete."),
    row("CrossAttention", "causal_mask_of_the_length_of_x",
        replace("(scores", "((scores + torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1))"),
        "A causal mask (T_q, T_q) hides later tokens, and fits only a context as long as x. There is no causal mask "
        "here: the other text is already complete."),
    row("CrossAttention", "softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each query should sum "
        "to one over the context, which lies along the last dimension."),
    row("CrossAttention", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), but elements of a batch are independent. The tokens of context lie "
        "along the last dimension, -1."),
    row("CrossAttention", "softmax_over_everything",
        replace("(scores", "(scores.flatten(1)").replace("dim=-1)", "dim=-1).view_as(scores)"),
        "Softmax runs over all scores of a text at once, so all queries together share one sum. Each query has its "
        "own weights: apply softmax over the last dimension."),
    row("CrossAttention", "softmax_forgotten", replace("torch.softmax(scores", "(scores").replace(", dim=-1", ""),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one, and "
        "zero if the score is minus infinity."),
    row("CrossAttention", "softmax_taken_twice_in_cross_attention",
        replace("torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)",
                "torch.softmax(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1), dim=-1)"),
        "Softmax is applied twice. The second one gets numbers between 0 and 1, so its weights are nearly equal, and "
        "padding, with a zero, gets weight again."),
    row("CrossAttention", "context_averaged", replace("queries @", "0 * queries @"),
        "The whole context counts the same, whatever the queries and keys are. Their dot products should decide the "
        "weights."),
    # CrossAttention: padding
    row("CrossAttention", "mask_without_effect", replace("scores = scores.masked_fill", "scores.masked_fill"),
        "The mask has no effect: it is not used, or the masked tensor is not used. `masked_fill` without an "
        "underscore returns a new tensor. Use its result."),
    row("CrossAttention", "mask_upside_down", replace("padding_mask.unsqueeze", "~padding_mask.unsqueeze"),
        "The mask is inverted: queries attend only to padding. True means that a token is padding: hide these scores."),
    row("CrossAttention", "mask_upside_down_for_torch",
        replace(HIDDEN, "padding_mask = padding_mask.unsqueeze(1)")
        .replace("weights @ values", "nn.functional.scaled_dot_product_attention(queries, keys, values, padding_mask)"),
        "The mask is inverted: queries attend only to padding. In torch's own attention, True in a mask means a "
        "visible token. In padding_mask it means padding, so invert it: `~padding_mask`."),
    row("CrossAttention", "mask_over_the_queries", replace("unsqueeze(1)", "unsqueeze(2)"),
        "The mask is applied to the queries: `padding_mask[:, :, None]` is a column. But it is about the tokens in "
        "context, the last dimension of the scores: `padding_mask[:, None, :]`."),
    row("CrossAttention", "mask_without_a_dimension_for_queries", replace(".unsqueeze(1)", ""),
        "The mask (B, T_k) has no dimension for the queries. PyTorch aligns it with the last dimensions of the "
        "scores (B, T_q, T_k), so B meets T_q. Add a dimension between them: `padding_mask[:, None, :]`."),
    row("CrossAttention", "padding_takes_its_share",
        replace(HIDDEN, "values = values.masked_fill(padding_mask.unsqueeze(2), 0)"),
        "Padding adds nothing to the output, but it still takes a part of the weight: only its values, or the "
        "weights after softmax, are set to zero. Set its scores to minus infinity before the softmax."),
    row("CrossAttention", "renormalized_after_softmax",
        replace("scores = scores.masked", "left = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).masked")
        .replace("-torch.inf)", "0)\n            return left / left.sum(-1, keepdim=True) @ values"),
        "Padding is hidden too late: after the softmax, or after the largest score was subtracted. If the score of "
        "padding is far above the rest, all other weights are rounded to zero. Hide it first."),
    row("CrossAttention", "zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the padding are set to zero (or multiplied by a mask of zeros and ones). Zero is a normal "
        "score: its exponential is one, so padding has weight. Use minus infinity."),
    row("CrossAttention", "padding_set_to_zero_in_context",
        replace(HIDDEN, "return self(x, context * ~padding_mask.unsqueeze(2))"),
        "The padding in context is set to zero, and nothing more. A key of zeros has the score 0, and its "
        "exponential is one: it still gets weight. Hide its scores."),
    row("CrossAttention", "a_thousand_subtracted",
        replace(HIDDEN, "scores = scores - 1000.0 * padding_mask.unsqueeze(1)"),
        "A negative number is added to the scores of the padding, but it is too small: if the score is far above the "
        "others, it stays the largest. Minus infinity is below everything."),
    row("CrossAttention", "scores_of_padding_set_to_minus_a_hundred",
        replace("-torch.inf", "-100 * keys.shape[-1] ** 0.5"),
        "The scores of the padding are set to a negative number that is not low enough: if all other scores are "
        "lower, padding has the largest. Minus infinity is below everything."),
    row("CrossAttention", "zero_scores_hidden_with_the_padding",
        replace(HIDDEN, "scores = scores * ~padding_mask.unsqueeze(1)\n"
                        "            scores = scores.masked_fill(scores == 0, -torch.inf)"),
        ZEROS_HIDDEN),
    row("CrossAttention", "scores_of_padding_set_to_minus_ten_thousand", replace("-torch.inf", "-1e4"),
        "Padding is hidden by a number such as -10,000. Other scores may be as low, and then padding has weight. "
        "Minus infinity, or a number as low as -1e9, is below all of them."),
    row("CrossAttention", "zero_times_infinity",
        replace(HIDDEN, "scores = scores + padding_mask.unsqueeze(1) * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill only the masked entries: `masked_fill`, or `torch.where`."),
    row("CrossAttention", "equal_widths_not_projected",
        replace("values = self.W_value(context)",
                "values = context if context.shape[-1] == keys.shape[-1] else self.W_value(context)"),
        "If d_context and d_out are equal, the weights mix the context itself. Always mix the values, "
        "W_value(context)."),
    row("CrossAttention", "plus_infinity", replace("-torch.inf", "torch.inf"),
        "The scores of the padding are set to plus infinity, which gives NaN after softmax. The exponential of minus "
        "infinity is zero: use minus infinity."),
    row("CrossAttention", "padding_of_the_first_element",
        replace("padding_mask.unsqueeze", "padding_mask[:1].unsqueeze"),
        "All elements of the batch use the padding of the first one. Texts have different lengths, so each has its "
        "own row of the mask."),
    row("CrossAttention", "padding_of_any_element",
        replace("padding_mask.unsqueeze", "padding_mask.any(0, keepdim=True).unsqueeze"),
        "Padding of one element of the batch is hidden in all of them. Texts have different lengths, so each has its "
        "own row of the mask."),
    row("CrossAttention", "padding_only_at_the_end",
        replace("padding_mask.unsqueeze", "padding_mask.sort(-1).values.unsqueeze"),
        "Padding is counted, and this number of tokens is removed at the end. But padding may be anywhere, also at "
        "the beginning. Use the mask token by token."),
    row("CrossAttention", "mask_required",
        replace("padding_mask is not None", "True").replace(".unsqueeze(1)", "[:, None]"),
        NO_MASK),
    row("CrossAttention", "no_mask_taken",
        replace(", padding_mask: torch.Tensor | None = None", "").replace("padding_mask is not None", "False"),
        "A call with a mask ends in an error, because forward does not take one. Keep the argument of the stub, and "
        "hide the tokens that are padding."),
    row("CrossAttention", "mask_asked_for_its_methods", replace("padding_mask is not None", "True"), NO_MASK),
    row("CrossAttention", "mask_without_a_default", replace(" | None = None", ""), NO_MASK),
    row("CrossAttention", "mask_asked_for_yes_or_no", replace(" is not None", ""),
        "With a mask every call ends in an error. `if padding_mask:` needs one True or False, but gets a whole "
        "tensor: write `if padding_mask is not None`. And `-` does not work for a bool tensor: `~` inverts it."),
    # CrossAttention: the batch and the tokens
    row("CrossAttention", "products_that_do_not_fit", replace("transpose(-2, -1)", "permute(2, 1, 0)"),
        "Every call ends in an error, because shapes do not match. Project x and context as they are. Then swap the "
        "last two dimensions of the keys (B, T_k, d_out); `.T` moves the batch too. The weights (B, T_q, T_k) are on "
        "the left of the values. Do not add x to the result."),
    row("CrossAttention", "keys_reshaped", replace("transpose(-2, -1)", "reshape(len(keys), -1, keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    row("CrossAttention", "weights_of_the_first_element", replace("weights @ values", "weights[:1] @ values"),
        "Every element of the batch gets the weights of the first one. Each element has its own scores."),
    row("CrossAttention", "contexts_put_together",
        replace("queries = self", "context = context.flatten(0, 1).expand(len(x), -1, -1)\n        queries = self")
        .replace("unsqueeze(1)", "flatten()"),
        "The contexts of a batch are joined, so each query also sees those of the other elements. Elements of a "
        "batch never look at each other."),
    row("CrossAttention", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    row("CrossAttention", "as_many_queries_as_keys", replace("(scores", "(scores.view(len(x), x.shape[1], x.shape[1])"),
        "Only contexts of the same length as x work. Two texts usually have different lengths: the scores are (B, "
        "T_q, T_k), and T_k is the context's own length."),
    row("CrossAttention", "single_token_refused",
        replace("queries = self", "if context.shape[1] < 2:\n            raise ValueError\n        queries = self"),
        "A context of a single token, or x of a single one, gives an error or a wrong result. It is a normal text: "
        "its one token gets all the weight."),
    # CrossAttention: layers
    row("CrossAttention", "layers_of_other_names",
        replace("self.W_query", "self.query", times=2).replace("self.W_key", "self.key", times=2)
        .replace("self.W_value", "self.value", times=2),
        "A layer has another name than W_query, W_key or W_value. Code that loads weights uses these names."),
    row("CrossAttention", "layers_with_bias", replace(", bias=False", "", 3),
        "A layer has a bias, because that is the default of nn.Linear. Use bias=False in all three."),
    row("CrossAttention", "widths_exchanged", replace("d_query: int, d_context:", "d_context: int, d_query:"),
        "d_query and d_context are swapped. x has d_query features and becomes queries; context has d_context, and "
        "becomes keys and values."),
    row("CrossAttention", "texts_exchanged",
        replace("d_query: int, d_context:", "d_context: int, d_query:")
        .replace("x: torch.Tensor, context:", "context: torch.Tensor, x:"),
        "x and context are swapped: queries come from context, keys and values from x. Queries should come from the "
        "text that is being written, x."),
    row("CrossAttention", "key_layer_for_x",
        replace("W_key = nn.Linear(d_context", "W_key = nn.Linear(d_query").replace("W_key(context)", "W_key(x)"),
        "Keys come from x, and W_key takes d_query features. They should come from context, which has d_context."),
    row("CrossAttention", "value_layer_for_x",
        replace("W_value = nn.Linear(d_context", "W_value = nn.Linear(d_query")
        .replace("W_value(context)", "W_value(x)"),
        "Values come from x, and W_value takes d_query features. They should come from context, which has d_context."),
    row("CrossAttention", "all_layers_from_d_query", replace("(d_context", "(d_query", 2),
        "All three layers take d_query features. Keys and values come from context, which has d_context."),
    row("CrossAttention", "all_layers_from_d_context", replace("(d_query", "(d_context"),
        "All three layers take d_context features. Queries come from x, which has d_query."),
    row("CrossAttention", "layers_the_other_way_round",
        replace("d_query, d_out", "d_out, d_query").replace("d_context, d_out", "d_out, d_context", 2),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_query, d_out)."),
    row("CrossAttention", "other_arguments_in_cross_attention",
        replace("d_query: int, d_context: int, d_out: int", "d_model: int"),
        "The module cannot be made, because a call got other arguments than it takes. It takes d_query, d_context and "
        "d_out: keep the arguments of the stub."),
    row("CrossAttention", "layers_of_the_worked_example",
        replace("d_query, d_out", "2, 2").replace("d_context, d_out", "3, 2", 2),
        "The layers always have the sizes of the worked example. Use the class's own arguments. Otherwise it works "
        "only for these sizes."),
    row("CrossAttention", "matrices_instead_of_layers",
        replace("nn.Linear(", "nn.Parameter(torch.rand(", 3).replace(", bias=False)", "))", 3)
        .replace("self.W_query(x)", "x @ self.W_query").replace("self.W_key(context)", "context @ self.W_key")
        .replace("self.W_value(context)", "context @ self.W_value"),
        "The three are matrices made by hand. Here each should be an nn.Linear, which has its own weight."),
    # CrossAttention: the result, gradients, dtypes, arguments
    row("CrossAttention", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The module returns outputs and weights. The next layer needs one tensor: return only the outputs."),
    row("CrossAttention", "weights_instead_of_outputs", replace("weights @ values", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is the sum of "
        "the values, each times its weight."),
    row("CrossAttention", "query_added", replace("weights @ values", "queries + weights @ values"),
        "The queries are added to the output. A transformer block adds x to the output of attention, but outside "
        "this module. Return only the weighted sums."),
    row("CrossAttention", "gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "The gradients are cut off, for example by `torch.no_grad()`, `.detach()` or `.data`, so neither the layers "
        "nor anything below them can learn."),
    row("CrossAttention", "only_values_learn", replace("weights @ values", "weights.detach() @ values"),
        "No gradient flows through the weights that are multiplied with the values, so only the values learn. "
        "Queries and keys must be able to learn too."),
    row("CrossAttention", "encoder_cut_off", replace("(context)", "(context.detach())", 2),
        "Context is cut off from the gradients. It is the output of the encoder, and the encoder learns only through "
        "it."),
    row("CrossAttention", "texts_made_float32",
        replace("(x)", "(x.float())").replace("(context)", "(context.float())", 2),
        "x and context are made float32, so they do not match float64 layers. Keep their dtype."),
    row("CrossAttention", "x_changed_in_place",
        replace("return weights",
                "with torch.no_grad():\n            x -= x.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's x was changed. The decoder needs it again, because it adds the output to it. Write `x = x - …` "
        "instead of `x -= …`."),
    row("CrossAttention", "context_changed_in_place",
        replace("return weights", "if padding_mask is not None:\n            with torch.no_grad():\n"
                "                context.masked_fill_(padding_mask.unsqueeze(2), 0)\n        return weights"),
        "The padding in the caller's context was overwritten. Other layers use the same context. `masked_fill_` and "
        "assigning to tokens change the tensor itself."),
    row("CrossAttention", "mask_changed_in_place",
        replace("padding_mask.unsqueeze", "~padding_mask.logical_not_().unsqueeze"),
        "The caller's padding_mask was inverted in place. The next layer needs the old mask: `~padding_mask` makes a "
        "new one."),
]
# fmt: on
