"""Unit 8: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in two exercises, the later one's has more words.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

# What stands in the solution, and is replaced more than once.
SCORES = "torch.tanh(query + keys) @ v"
ADDITIVE = "additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)"
SOFTMAX = "torch.softmax(scores, dim=0)"
HIDDEN = "scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)"

NO_TANH = (
    "The tanh is missing. Without it the decoder's part is one number, the same for every encoder state, which softmax "
    "divides away: it could ask what it liked and would get the same answer."
)
EXCHANGED = (
    "The two matrices have changed places. Both are (h, a), so that raises no error; W_decoder belongs to the "
    "decoder's state and W_encoder to those of the encoder."
)
UNASKED = (
    "The decoder's state has no part in it, so every word to be written would get the same context. What fits depends "
    "on who asks: add decoder_state @ W_decoder."
)
DOT_PRODUCTS = (
    "These are dot products of the states. Additive attention came before that: it adds the two projections, takes the "
    "tanh, and learns with v what to make of the sum."
)
NO_MASK = (
    "Without a mask there is an error. It may be left out where nothing is padding, so its default is None: "
    "`padding_mask=None`. Ask `if padding_mask is not None` before you use it."
)

CALLS = {"bahdanau_context": ["additive_scores"]}

# fmt: off
ROWS = [
    # rnn_hidden_states
    row("rnn_hidden_states", "starts_from_ones", replace("zeros_like", "ones_like"),
        "The state before the first token is ones. Nothing has been read yet, and zeros are how nothing is said: they "
        "leave no trace in the first state."),
    row("rnn_hidden_states", "starts_from_the_bias", replace("torch.zeros_like(bias)", "bias"),
        "The bias is the state before the first token as well. It belongs into every step once; before the first token "
        "the state is zeros."),
    row("rnn_hidden_states", "tanh_forgotten", replace("torch.tanh", ""),
        "The tanh is missing. Without it all steps together are one linear function of the inputs, and a state can "
        "grow without end from step to step."),
    row("rnn_hidden_states", "tanh_of_the_token_only", replace("state @ W_h + bias)", "bias) + state @ W_h"),
        "The tanh is taken of the token's part alone, and what comes from the state before is added outside. It is the "
        "whole sum that goes through tanh, or the state grows without end."),
    row("rnn_hidden_states", "bias_after_tanh", replace(" + bias)", ") + bias"),
        "The bias is added after the tanh. It belongs to the sum inside, where it shifts the point at which a number "
        "of the state turns from one sign to the other."),
    row("rnn_hidden_states", "relu_for_tanh", replace("tanh", "relu"),
        "ReLU stands where tanh should. It forgets everything negative and has no upper end; tanh keeps both signs, "
        "and every number between -1 and 1."),
    row("rnn_hidden_states", "sigmoid_for_tanh", replace("tanh", "sigmoid"),
        "The sigmoid stands where tanh should. Its results lie between 0 and 1, so no number of the state can be "
        "negative; those of tanh lie between -1 and 1."),
    row("rnn_hidden_states", "bias_forgotten", replace(" + bias", ""),
        "The bias is taken and not used. It is a part of the sum at every step."),
    row("rnn_hidden_states", "bias_in_the_first_step_only",
        replace("states.append(state)", "states.append(state)\n        bias = 0"),
        "The bias has a part in the first step only. It is added at every step, as W_x and W_h serve at every step."),
    row("rnn_hidden_states", "W_h_transposed", replace("state @ W_h", "W_h @ state"),
        "W_h is turned round. It is square, so that raises no error; but row i says what number i of the state before "
        "brings, as in `state @ W_h`."),
    row("rnn_hidden_states", "W_x_transposed_or_exchanged", replace("token @ W_x", "W_x @ token"),
        "The shapes of a product do not fit. A token stands as a row in front of W_x, which is (d, h), and a state as "
        "a row in front of W_h, which is (h, h). Neither matrix is to be turned round."),
    row("rnn_hidden_states", "state_before_not_used", replace("state @ W_h", "0 * state @ W_h"),
        "Every state is made from its own token alone. What makes the network recurrent is the state before: put each "
        "new state in the place of the old one before the next step."),
    row("rnn_hidden_states", "last_state_only", replace("torch.stack(states)", "state"),
        "Only the last state comes back. A plain decoder sees no more than that, but attention needs the states after "
        "all tokens: (T, h)."),
    row("rnn_hidden_states", "last_state_in_every_row", replace("state = torch.tanh", "state[:] = torch.tanh"),
        "Every row is the last state: one tensor was changed at each step and kept again and again. Make a new state "
        "at each step, or keep a copy."),
    row("rnn_hidden_states", "last_state_first", replace("stack(states)", "stack(states[::-1])"),
        "The states come back from the last to the first. Row t belongs to token t, so that whoever looks at a row "
        "knows which token was read last."),
    row("rnn_hidden_states", "read_from_right_to_left",
        replace("in inputs", "in inputs.flip(0)").replace("stack(states)", "stack(states[::-1])"),
        "The text is read from right to left. A state should hold what came before its token; what comes after is not "
        "known yet."),
    row("rnn_hidden_states", "tokens_from_the_last_to_the_first", replace("in inputs", "in inputs.flip(0)"),
        "The tokens are read from the last to the first, and the states come in that order too. Begin with token 0, "
        "and let row t be the state after token t."),
    row("rnn_hidden_states", "states_before_the_tokens",
        replace("stack(states)", "stack([torch.zeros_like(bias), *states[:-1]])"),
        "Each row is the state before its token: the zeros come first, and the last state is missing. Keep a state "
        "after the step that makes it."),
    row("rnn_hidden_states", "zeros_as_a_row", replace("states = []", "states = [state]"),
        "The zeros from before the first token are a row of the result. There is one row for each token, and the first "
        "is the state after the first token."),
    row("rnn_hidden_states", "states_in_one_long_row", replace("torch.stack", "torch.cat"),
        "The states stand one behind the other in one long row: that is what `torch.cat` makes of vectors. "
        "`torch.stack` puts them one below the other, (T, h)."),
    row("rnn_hidden_states", "states_as_columns", replace("stack(states)", "stack(states, dim=1)"),
        "The states stand side by side, as columns. A token is a row, and so is the state after it: (T, h)."),
    row("rnn_hidden_states", "states_written_into_one_tensor",
        replace("states = []", "states = torch.zeros_like(inputs @ W_x)").replace("torch.stack(states)", "states")
        .replace("for token in inputs", "for place, token in enumerate(inputs)")
        .replace("states.append(state)", "states[place] = state\n        state = states[place]"),
        "The states are written into one tensor, row by row, and each is made from the row before. The gradients need "
        "that tensor as it was at each step, and it has changed since: collect the states, and stack them."),
    row("rnn_hidden_states", "list_of_states", replace("torch.stack(states)", "states"),
        "What comes back is a Python list of states. The next step wants one tensor: `torch.stack` makes (T, h) of "
        "it."),
    row("rnn_hidden_states", "states_added_up", replace("state = torch.tanh", "state = state + torch.tanh"),
        "Each step's result is added to the state before. Here the new state takes its place; what is to be kept of "
        "the old one comes in through W_h."),
    row("rnn_hidden_states", "lonely_state_squeezed", replace("stack(states)", "stack(states).squeeze()"),
        "A text of a single token is no text here, or loses a dimension: `squeeze()` drops every one of length one. "
        "The result is (T, h) for any T."),
    row("rnn_hidden_states", "zeros_of_another_dtype", replace("zeros_like(bias)", "zeros(len(bias))"),
        "The zeros to begin with are float32, whatever the arguments are, and do not go together with float64. Make "
        "them like the others: `torch.zeros_like(bias)`."),
    row("rnn_hidden_states", "states_without_gradients", replace("stack(states)", "stack(states).detach()"),
        "Gradients stop at the states, by `.detach()`, `.data` or `torch.no_grad()`, or because numbers were copied "
        "into a new tensor. The matrices learn only through them."),
    row("rnn_hidden_states", "gradients_stop_between_steps", replace("state @ W_h", "state.detach() @ W_h"),
        "Gradients stop between one step and the next. What an early token has to do with a late state can then never "
        "be learnt: hand on the state itself, without `.detach()`."),
    row("rnn_hidden_states", "inputs_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        inputs += 1\n    return"),
        "One of the caller's arguments was changed. `+=`, and methods whose names end in an underscore, work on the "
        "tensor itself; write `x = x + …`, which makes a new one."),
    # additive_scores
    row("additive_scores", "additive_without_tanh", replace("torch.tanh", ""), NO_TANH),
    row("additive_scores", "tanh_of_the_scores", replace(SCORES, "torch.tanh((query + keys) @ v)"),
        "The tanh is taken of the finished scores. It belongs to the sums, before v makes one number of each; there it "
        "lets the two sides work on each other."),
    row("additive_scores", "tanh_of_each_side",
        replace("torch.tanh(query + keys)", "(torch.tanh(query) + torch.tanh(keys))"),
        "Each side has a tanh of its own, and they are added afterwards. Then the decoder's part is the same number "
        "for all encoder states: add first, and take one tanh of the sum."),
    row("additive_scores", "v_inside_the_tanh", replace(SCORES, "torch.tanh((query + keys) * v).sum(-1)"),
        "v is multiplied inside the tanh. It comes after: the tanh of the sum has a numbers, and the dot product with "
        "v makes one of them."),
    row("additive_scores", "relu_for_tanh_in_scores", replace("torch.tanh", "torch.relu"),
        "ReLU or another function stands where tanh should. The tanh keeps both signs, and each number between -1 and "
        "1, so that no single feature can decide everything."),
    row("additive_scores", "product_instead_of_sum", replace("query + keys", "query * keys"),
        "The two projections are multiplied. Additive attention has its name from adding them."),
    row("additive_scores", "difference_instead_of_sum", replace("query + keys", "query - keys"),
        "One projection is subtracted from the other. They are added: two matrices that can learn any sign need no "
        "minus."),
    row("additive_scores", "side_by_side_or_turned_round",
        replace("query + keys", "torch.cat([query.expand_as(keys), keys], dim=-1)"),
        "Every call ends in an error, for shapes do not fit. The two projections are added and not put side by side, "
        "(a,) to each row of (T, a). And v meets each of these rows, so it stands behind them: (T, a) @ (a,)."),
    row("additive_scores", "matrices_exchanged",
        replace("state @ W_decoder", "state @ W_encoder").replace("states @ W_encoder", "states @ W_decoder"),
        EXCHANGED),
    row("additive_scores", "matrices_transposed",
        replace("@ W_decoder", "@ W_decoder.T").replace("@ W_encoder", "@ W_encoder.T"),
        "The matrices are turned round. They are (h, a), and a state is a row in front of them: `state @ W`. Where h = "
        "a the mistake raises no error, and is there all the same."),
    row("additive_scores", "decoder_state_ignored", replace("query + keys", "keys"), UNASKED),
    row("additive_scores", "dot_products_of_the_states", replace(SCORES, "encoder_states @ decoder_state"),
        DOT_PRODUCTS),
    row("additive_scores", "dot_products_of_the_projections", replace(SCORES, "keys @ query"),
        "The two projections meet in a dot product, as queries and keys do in the Transformer. In additive attention "
        "they are added, and the tanh of the sum meets v."),
    row("additive_scores", "v_not_used", replace(" @ v", ".sum(-1)"),
        "v is taken and not used: all features count alike. Which of them matter is for v to learn, so take the dot "
        "product with it."),
    row("additive_scores", "not_added_up", replace("@ v", "* v"),
        "Each feature is multiplied by its number in v, but they are not added up. A score is one number for each "
        "encoder state."),
    row("additive_scores", "scores_as_a_column", replace("@ v", "@ v[:, None]"),
        "The scores are a column, (T, 1). One number for each encoder state is a vector, (T,): take the product with v "
        "itself, or squeeze the last dimension, and it alone."),
    row("additive_scores", "softmax_already_applied", replace(SCORES, f"torch.softmax({SCORES}, dim=0)"),
        "These are weights already: softmax was applied. That is the next exercise's job; here the scores are asked "
        "for as they are."),
    row("additive_scores", "scaled_by_the_root_of_a", replace("@ v", "@ v / len(v) ** 0.5"),
        "The scores are scaled by the root of a width. That belongs to dot products, which grow with it; here the tanh "
        "keeps every term between -1 and 1, and v learns its own size."),
    row("additive_scores", "lonely_score_squeezed", replace(SCORES, f"({SCORES}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the score of a single encoder state is no vector any "
        "more."),
    row("additive_scores", "states_made_float32",
        replace("decoder_state @", "decoder_state.float() @").replace("encoder_states @", "encoder_states.float() @"),
        "The states are made float32, which then do not fit matrices that are float64. Let the arguments keep their "
        "dtype."),
    row("additive_scores", "scores_without_gradients", replace(SCORES, f"({SCORES}).detach()"),
        "Gradients stop at the scores, by `.detach()`, `.data` or `torch.no_grad()`. Both matrices and v learn only "
        "through them."),
    row("additive_scores", "encoder_learns_nothing", replace("encoder_states @", "encoder_states.detach() @"),
        "The encoder states are cut off from the gradients. The encoder learns from what the decoder finds useful, and "
        "this is where it hears of it."),
    row("additive_scores", "encoder_states_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states += decoder_state\n    return"),
        "The caller's encoder states were changed. They are needed again for the context: `+=`, and methods whose "
        "names end in an underscore, work on the tensor itself, so write `x = x + …`."),
    # bahdanau_context
    row("bahdanau_context", "scores_as_weights", replace(SOFTMAX, "scores"),
        "The scores serve as weights as they are. Softmax makes shares of them: positive numbers that sum to one, "
        "however large the scores are."),
    row("bahdanau_context", "divided_by_the_sum", replace(SOFTMAX, "scores / scores.sum()"),
        "The scores are divided by their sum. Additive scores may be negative, and so would the weights be, or the sum "
        "near zero: take the softmax."),
    row("bahdanau_context", "exponentials_not_divided", replace(SOFTMAX, "scores.exp()"),
        "The exponentials are not divided by their sum. Shares sum to one, or a long text makes a larger context than "
        "a short one."),
    row("bahdanau_context", "additive_scores_scaled_by_a", replace("(scores", "(scores / len(v) ** 0.5"),
        "The scores are divided by the root of a. That is for dot products, which grow with their width; here the tanh "
        "keeps every term between -1 and 1, and v learns its own size."),
    row("bahdanau_context", "additive_scores_scaled_by_h", replace("(scores", "(scores / len(decoder_state) ** 0.5"),
        "The scores are divided by the root of h, the width of the states. That is for dot products of states, which "
        "grow with it; additive scores go into softmax as they are."),
    row("bahdanau_context", "softmax_taken_twice", replace("(scores", f"({SOFTMAX}"),
        "Softmax was taken twice. The second one sees nothing but shares between 0 and 1, and makes them nearly "
        "alike."),
    row("bahdanau_context", "states_averaged", replace("(scores", "(0 * scores"),
        "All encoder states count the same. That is a mean, which hides the one state that matters among the others; "
        "the scores say how much each of them should count."),
    row("bahdanau_context", "best_state_takes_all", replace(SOFTMAX, "(scores == scores.max()) + 0 * scores"),
        "The best state takes all. A choice like that has no gradient, so nothing can learn to choose better; softmax "
        "gives every state its share."),
    row("bahdanau_context", "last_state_as_the_context", replace("weights @ encoder_states", "encoder_states[-1]"),
        "The last encoder state is the context, whatever the scores are. So it was before attention; now each state "
        "counts as much as its weight."),
    row("bahdanau_context", "context_without_tanh",
        replace(ADDITIVE, "(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v"),
        NO_TANH),
    row("bahdanau_context", "matrices_exchanged_in_context", replace("W_decoder, W_encoder", "W_encoder, W_decoder"),
        EXCHANGED),
    row("bahdanau_context", "decoder_state_ignored_in_context",
        replace(ADDITIVE, "torch.tanh(encoder_states @ W_encoder) @ v"),
        UNASKED),
    row("bahdanau_context", "dot_products_in_context", replace(ADDITIVE, "encoder_states @ decoder_state"),
        DOT_PRODUCTS),
    row("bahdanau_context", "projections_mixed",
        replace("weights @ encoder_states", "weights @ encoder_states @ W_encoder"),
        "The context is a sum of projected states. The projection is only there for the scores; what is handed over "
        "are the encoder states themselves, (h,)."),
    row("bahdanau_context", "states_not_added_up", replace("weights @", "weights[:, None] *"),
        "Each encoder state is multiplied by its weight, but they are not added up. The context is one vector, (h,), "
        "whatever the length of the text."),
    row("bahdanau_context", "context_as_a_row", replace("return context", "return context[None]"),
        "The context still has a dimension of length one. One vector for one state of the decoder is (h,)."),
    row("bahdanau_context", "decoder_state_added", replace("return context", "return context + decoder_state"),
        "The decoder's state was added to the context. The decoder joins the two by itself, later; the context holds "
        "what comes from the encoder."),
    row("bahdanau_context", "weights_first", replace("context, weights", "weights, context"),
        "The two results come in the wrong order. First the context, then the weights, as everywhere in this course."),
    row("bahdanau_context", "context_alone", replace("context, weights", "context"),
        "Only the context comes back. The weights are wanted too: they show where the decoder looked."),
    row("bahdanau_context", "scores_in_the_place_of_weights", replace("context, weights", "context, scores"),
        "The context is right, but the scores come back in the place of the weights. The weights are what softmax made "
        "of them."),
    row("bahdanau_context", "lonely_weight_squeezed", replace("context, weights", "context, weights.squeeze()"),
        "`squeeze()` removes every dimension of size one, so the weight of a single encoder state is no vector any "
        "more."),
    row("bahdanau_context", "states_made_float32_in_context",
        replace("(decoder_state, encoder_states", "(decoder_state.float(), encoder_states.float()"),
        "The states are made float32, which then do not fit what is float64. Let the arguments keep their dtype."),
    row("bahdanau_context", "context_without_gradients",
        replace("context, weights", "context.detach(), weights.detach()"),
        "Gradients stop at the results, by `.detach()`, `.data` or `torch.no_grad()`. Encoder and decoder learn to "
        "understand each other only through them."),
    row("bahdanau_context", "where_to_look_is_not_learnt", replace("weights @", "weights.detach() @"),
        "The weights are cut off from the gradients before they meet the encoder states. Where to look is to be learnt "
        "as well."),
    row("bahdanau_context", "encoder_states_weighted_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states *= weights[:, None]\n    return"),
        "The caller's encoder states were multiplied by the weights in place. The next word of the translation needs "
        "them again: write `x = x * …` rather than `x *= …`."),
    # CrossAttention: scores
    row("CrossAttention", "scaling_forgotten", replace(" / keys.shape[-1] ** 0.5", ""),
        "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by √d_out "
        "they keep a variance near 1, and softmax stays gentle."),
    row("CrossAttention", "half_instead_of_root", replace("** 0.5", "* 0.5"),
        "`/` and `*` bind alike, from left to right: `/ d_out*0.5` divides by d_out and then takes the half. A square "
        "root is a power, `d_out**0.5`."),
    row("CrossAttention", "twentieth_root", replace("0.5", "0.05"),
        "The root is mistyped: the power .05 hardly changes the scores. A square root is the power 0.5, or "
        "`math.sqrt`."),
    row("CrossAttention", "divided_by_the_width_itself", replace(" ** 0.5", ""),
        "The scores are divided by d_out itself. Their standard deviation is its square root, so that is what brings "
        "it to 1."),
    row("CrossAttention", "scaled_by_d_query", replace("keys.shape[-1]", "x.shape[-1]"),
        "The scores are divided by √d_query. The dot products are between projected tokens, and their width is d_out."),
    row("CrossAttention", "scaled_by_d_context", replace("keys.shape[-1]", "context.shape[-1]"),
        "The scores are divided by √d_context. The dot products are between projected tokens, and their width is "
        "d_out."),
    row("CrossAttention", "scaled_by_the_length_of_the_context", replace("keys.shape[-1]", "keys.shape[1]"),
        "The scores are divided by the root of the number of tokens in the context. A dot product sums over features, "
        "so it is their number, d_out, that makes it grow."),
    row("CrossAttention", "scaled_after_softmax",
        replace(" / keys.shape[-1] ** 0.5, dim=-1)", ", dim=-1) / keys.shape[-1] ** 0.5"),
        "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."),
    # CrossAttention: who asks, and who answers
    row("CrossAttention", "queries_from_context", replace("W_query(x)", "W_query(context)"),
        "The queries come from context, so the encoder's text asks. It is the text being written that asks: queries "
        "from x, and one output for each token of x."),
    row("CrossAttention", "keys_from_x", replace("W_key(context)", "W_key(x)"),
        "The keys come from x, so the text being written is compared with itself. Each query should find out which "
        "tokens of context fit it: keys from context."),
    row("CrossAttention", "values_from_x", replace("W_value(context)", "W_value(x)"),
        "The values come from x. What is handed over should be news from the other text: values from context, as the "
        "keys."),
    row("CrossAttention", "context_never_looked_at", replace("(context)", "(x)", 2),
        "This is self-attention: queries, keys and values all come from x, and context is never looked at. Keys and "
        "values are the other text's."),
    row("CrossAttention", "x_and_context_exchanged", replace("x: torch.Tensor, context:", "context: torch.Tensor, x:"),
        "x and context have changed places: queries are made of context, keys and values of x. The text being written "
        "asks, and the encoder's text answers."),
    row("CrossAttention", "keys_handed_over", replace("W_value(context)", "W_key(context)"),
        "W_value is made but never used, and the weights mix the keys. Keys are only there to be compared with "
        "queries; what is handed over are the values."),
    row("CrossAttention", "context_mixed_unprojected", replace("self.W_value(context)", "context"),
        "W_value is made but never used: the weights mix the context as it came in. What is mixed are the values, "
        "W_value(context)."),
    row("CrossAttention", "keys_and_values_exchanged",
        replace("keys = self.W_key", "keys = self.W_value").replace("values = self.W_value", "values = self.W_key"),
        "W_key and W_value have changed places: queries are compared with the values, and the keys are handed over."),
    row("CrossAttention", "keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "The keys ask and the queries answer: row i of the scores belongs to query i and holds its dot products with "
        "every key. That is queries @ transposed keys, not the other way round."),
    # CrossAttention: softmax
    row("CrossAttention", "causal_mask_applied",
        replace("(scores", "((scores + torch.full_like(scores, -torch.inf).triu(1))"),
        "A causal mask hides the tokens of context that stand further on. The future that a decoder must not see is "
        "that of its own text; the other one is there as a whole."),
    row("CrossAttention", "softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries: the columns sum to one, not the rows. Each query shares its own attention "
        "among the context, and that lies along the last dim."),
    row("CrossAttention", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), whose elements should not know of each other. The tokens to share among "
        "lie along the last dim, -1."),
    row("CrossAttention", "softmax_over_everything",
        replace("(scores", "(scores.flatten(1)").replace("dim=-1)", "dim=-1).view_as(scores)"),
        "Softmax runs over all scores of a text at once, so that all queries share one attention between them. Each "
        "has a whole one to give: softmax over the last dim."),
    row("CrossAttention", "softmax_forgotten", replace("torch.softmax(scores", "(scores").replace(", dim=-1", ""),
        "The scores serve as weights as they are. Softmax makes shares of them: positive, with the sum one, and zero "
        "where the score is minus infinity."),
    row("CrossAttention", "context_averaged", replace("queries @", "0 * queries @"),
        "The whole context counts the same, whatever the queries and keys are. How much a query hears of a token is "
        "for their dot product to say."),
    # CrossAttention: padding
    row("CrossAttention", "mask_without_effect", replace("scores = scores.masked_fill", "scores.masked_fill"),
        "The mask has no effect: it is not used, or what was masked was thrown away. `masked_fill` without an "
        "underscore gives a new tensor; use what it gives."),
    row("CrossAttention", "mask_upside_down", replace("padding_mask.unsqueeze", "~padding_mask.unsqueeze"),
        "The mask is upside down: only padding is attended to. True says that a token is padding, and its scores are "
        "those to hide."),
    row("CrossAttention", "mask_upside_down_for_torch",
        replace(HIDDEN, "padding_mask = padding_mask.unsqueeze(1)")
        .replace("weights @ values", "nn.functional.scaled_dot_product_attention(queries, keys, values, padding_mask)"),
        "The mask is upside down: only padding is attended to. In torch's own attention, True in a mask says that a "
        "token is seen; in padding_mask it says that the token is padding, so turn it round: `~padding_mask`."),
    row("CrossAttention", "mask_over_the_queries", replace("unsqueeze(1)", "unsqueeze(2)"),
        "The mask is laid over the queries: `padding_mask[:, :, None]` is a column. It speaks of the tokens in "
        "context, which are the last dimension of the scores: `padding_mask[:, None, :]`."),
    row("CrossAttention", "mask_without_a_dimension_for_queries", replace(".unsqueeze(1)", ""),
        "The mask (B, T_k) meets the scores (B, T_q, T_k) as it is, and torch lines up the last dimensions: B falls on "
        "T_q. Put a dimension for the queries in between: `padding_mask[:, None, :]`."),
    row("CrossAttention", "padding_takes_its_share",
        replace(HIDDEN, "values = values.masked_fill(padding_mask.unsqueeze(2), 0)"),
        "Padding gives nothing to the output, but it still takes its share of the attention: only its values, or the "
        "finished weights, are set to zero. Its scores have to be minus infinity before the softmax."),
    row("CrossAttention", "renormalized_after_softmax",
        replace("scores = scores.masked", "left = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).masked")
        .replace("-torch.inf)", "0)\n            return left / left.sum(-1, keepdim=True) @ values"),
        "Padding is hidden too late: after the softmax, or after the largest score was subtracted. In exact "
        "arithmetic that is the same, but where padding scores far above the rest nothing is left of the others."),
    row("CrossAttention", "zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the padding are set to zero (or multiplied by a mask of zeros and ones). Zero is a score like "
        "any other, exp of it is one, and so padding has weight. Minus infinity has none."),
    row("CrossAttention", "padding_set_to_zero_in_context",
        replace(HIDDEN, "return self(x, context * ~padding_mask.unsqueeze(2))"),
        "The padding in context is set to zero, and no more. A key of zeros has the score 0, and exp of that is one: "
        "it still takes a share. Hide its scores."),
    row("CrossAttention", "a_thousand_subtracted",
        replace(HIDDEN, "scores = scores - 1000.0 * padding_mask.unsqueeze(1)"),
        "What is added to the scores of the padding is negative, but not enough: padding that scores far above the "
        "others still comes out on top. Minus infinity is below everything."),
    row("CrossAttention", "scores_of_padding_set_to_minus_a_hundred",
        replace("-torch.inf", "-100 * keys.shape[-1] ** 0.5"),
        "The scores of the padding are set to a number that is negative, but not low enough: where all other scores "
        "are lower still, padding comes out on top. Minus infinity is below everything."),
    row("CrossAttention", "scores_of_padding_set_to_minus_ten_thousand", replace("-torch.inf", "-1e4"),
        "What hides the padding is a number such as -10,000, which other scores may reach: then padding has weight. "
        "Minus infinity, or a number as low as -1e9, is below all of them."),
    row("CrossAttention", "zero_times_infinity",
        replace(HIDDEN, "scores = scores + padding_mask.unsqueeze(1) * -torch.inf"),
        "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill only the masked "
        "entries: `masked_fill`, or `torch.where`."),
    row("CrossAttention", "equal_widths_not_projected",
        replace("values = self.W_value(context)",
                "values = context if context.shape[-1] == keys.shape[-1] else self.W_value(context)"),
        "Where d_context and d_out are the same, the weights mix the context as it came in. Values are what W_value "
        "makes of it, whatever the widths are."),
    row("CrossAttention", "plus_infinity", replace("-torch.inf", "torch.inf"),
        "The scores of the padding are set to plus infinity, which is NaN after softmax. Minus infinity is the score "
        "whose exp is zero."),
    row("CrossAttention", "padding_of_the_first_element",
        replace("padding_mask.unsqueeze", "padding_mask[:1].unsqueeze"),
        "All elements of the batch get the padding of the first one. Texts end at different places, so each has a row "
        "of the mask to itself."),
    row("CrossAttention", "padding_of_any_element",
        replace("padding_mask.unsqueeze", "padding_mask.any(0, keepdim=True).unsqueeze"),
        "What is padding in one element of the batch is hidden in all of them. Texts end at different places, so each "
        "has a row of the mask to itself."),
    row("CrossAttention", "padding_only_at_the_end",
        replace("padding_mask.unsqueeze", "padding_mask.sort(-1).values.unsqueeze"),
        "Padding is counted, and that many tokens are left out at the end. It may stand anywhere, in front too: where "
        "it is says the mask, token by token."),
    row("CrossAttention", "mask_required",
        replace("padding_mask is not None", "True").replace(".unsqueeze(1)", "[:, None]"),
        NO_MASK),
    row("CrossAttention", "mask_asked_for_its_methods", replace("padding_mask is not None", "True"), NO_MASK),
    row("CrossAttention", "mask_without_a_default", replace(" | None = None", ""), NO_MASK),
    row("CrossAttention", "mask_asked_for_yes_or_no", replace(" is not None", ""),
        "With a mask every call ends in an error. `if padding_mask:` asks a whole tensor for one yes or no: ask "
        "whether there is one, `if padding_mask is not None`. And a bool tensor takes no minus: `~` turns it round."),
    # CrossAttention: the batch and the tokens
    row("CrossAttention", "products_that_do_not_fit", replace("transpose(-2, -1)", "permute(2, 1, 0)"),
        "Every call ends in an error, for shapes do not fit. Of the keys (B, T_k, d_out) the last two dimensions "
        "change places, and the batch stays in front; `.T` moves it too. The weights (B, T_q, T_k) stand in front of "
        "the values, and nothing is added to what comes of it: x has another width."),
    row("CrossAttention", "keys_reshaped", replace("transpose(-2, -1)", "reshape(len(keys), -1, keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    row("CrossAttention", "weights_of_the_first_element", replace("weights @ values", "weights[:1] @ values"),
        "Every element of the batch is given the weights of the first one. Each has scores of its own."),
    row("CrossAttention", "contexts_put_together",
        replace("queries = self", "context = context.flatten(0, 1).expand(len(x), -1, -1)\n        queries = self")
        .replace("unsqueeze(1)", "flatten()"),
        "The contexts of a batch are put one behind the other, so each query sees those of the other elements too. "
        "Elements of a batch never look at each other."),
    row("CrossAttention", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    row("CrossAttention", "as_many_queries_as_keys", replace("(scores", "(scores.view(len(x), x.shape[1], x.shape[1])"),
        "Only contexts of the same length as x work. Two texts seldom are equally long: the scores are (B, T_q, T_k), "
        "and T_k is the context's own length."),
    row("CrossAttention", "single_token_refused",
        replace("queries = self", "if context.shape[1] < 2:\n            raise ValueError\n        queries = self"),
        "A context of a single token, or x of a single one, is refused or goes wrong. It is a text like others: its "
        "one token gets all the weight."),
    # CrossAttention: layers
    row("CrossAttention", "layers_with_bias", replace(", bias=False", "", 3),
        "The layers have a bias, for that is what nn.Linear does by itself: bias=False."),
    row("CrossAttention", "widths_exchanged", replace("d_query: int, d_context:", "d_context: int, d_query:"),
        "d_query and d_context have changed places. x has d_query features and becomes queries; context has d_context, "
        "and becomes keys and values."),
    row("CrossAttention", "texts_exchanged",
        replace("d_query: int, d_context:", "d_context: int, d_query:")
        .replace("x: torch.Tensor, context:", "context: torch.Tensor, x:"),
        "x and context have changed places: context asks, and x answers. It is the text being written, x, that looks "
        "for something in the other."),
    row("CrossAttention", "key_layer_for_x",
        replace("W_key = nn.Linear(d_context", "W_key = nn.Linear(d_query").replace("W_key(context)", "W_key(x)"),
        "Keys are made of x, and W_key takes d_query features. They are made of context, which has d_context."),
    row("CrossAttention", "value_layer_for_x",
        replace("W_value = nn.Linear(d_context", "W_value = nn.Linear(d_query")
        .replace("W_value(context)", "W_value(x)"),
        "Values are made of x, and W_value takes d_query features. They are made of context, which has d_context."),
    row("CrossAttention", "all_layers_from_d_query", replace("(d_context", "(d_query", 2),
        "All three layers take d_query features. Keys and values are made of context, which has d_context."),
    row("CrossAttention", "all_layers_from_d_context", replace("(d_query", "(d_context"),
        "All three layers take d_context features. Queries are made of x, which has d_query."),
    row("CrossAttention", "layers_the_other_way_round",
        replace("d_query, d_out", "d_out, d_query").replace("d_context, d_out", "d_out, d_context", 2),
        "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_query, d_out)."),
    row("CrossAttention", "layers_of_the_worked_example",
        replace("d_query, d_out", "2, 2").replace("d_context, d_out", "3, 2", 2),
        "The layers have the sizes of the worked example, whatever the arguments say. A class should use its own "
        "arguments, or it works for one notebook only."),
    row("CrossAttention", "matrices_instead_of_layers",
        replace("nn.Linear(", "nn.Parameter(torch.rand(", 3).replace(", bias=False)", "))", 3)
        .replace("self.W_query(x)", "x @ self.W_query").replace("self.W_key(context)", "context @ self.W_key")
        .replace("self.W_value(context)", "context @ self.W_value"),
        "The three are matrices made by hand. Here each should be an nn.Linear, which has its own weight."),
    # CrossAttention: what comes back, gradients, dtypes, arguments
    row("CrossAttention", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The module gives outputs and weights. The next layer wants one tensor: give the outputs alone."),
    row("CrossAttention", "weights_instead_of_outputs", replace("weights @ values", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is the sum of "
        "the values, each times its weight."),
    row("CrossAttention", "query_added", replace("weights @ values", "queries + weights @ values"),
        "The queries are added to the output. A transformer block adds x to what attention gives, but that is done "
        "around it; this module gives the weighted sums alone."),
    row("CrossAttention", "gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "`torch.no_grad()`, `.detach()` or `.data` cuts off the gradients, so neither the layers nor anything below "
        "them can learn."),
    row("CrossAttention", "only_values_learn", replace("weights @ values", "weights.detach() @ values"),
        "The weights are cut off from the gradients before they meet the values, so that only the values learn. Where "
        "to look is to be learnt as well."),
    row("CrossAttention", "encoder_cut_off", replace("(context)", "(context.detach())", 2),
        "Context is cut off from the gradients. It is the encoder's work, and the encoder learns from what the decoder "
        "finds useful: this is where it hears of it."),
    row("CrossAttention", "texts_made_float32",
        replace("(x)", "(x.float())").replace("(context)", "(context.float())", 2),
        "x and context are made float32, which then do not fit layers that are float64. Let them keep their dtype."),
    row("CrossAttention", "x_changed_in_place",
        replace("return weights",
                "with torch.no_grad():\n            x -= x.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's x was changed. The decoder needs it again, for it adds the output to it; write `x = x - …` "
        "rather than `x -= …`."),
    row("CrossAttention", "context_changed_in_place",
        replace("return weights", "if padding_mask is not None:\n            with torch.no_grad():\n"
                "                context.masked_fill_(padding_mask.unsqueeze(2), 0)\n        return weights"),
        "The padding in the caller's context was overwritten. Other layers look at the same context: `masked_fill_`, "
        "and assigning to some of the tokens, work on the tensor itself."),
    row("CrossAttention", "mask_changed_in_place",
        replace("padding_mask.unsqueeze", "~padding_mask.logical_not_().unsqueeze"),
        "The caller's padding_mask was turned upside down in place. The next layer needs it as it was: `~padding_mask` "
        "makes a new one."),
]
# fmt: on
