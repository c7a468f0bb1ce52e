"""Misconceptions of unit 5: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If add_positions repeats a mistake of sinusoidal_encoding, its name has more words.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

EXPONENT_DOUBLED = (
    "The divisor of each hand is squared, so the hands are too slow. In the formula i counts pairs. If your i is 0, 2, "
    "4, …, it is already 2i, so do not double it again."
)
EVERY_COLUMN_ITS_OWN = (
    "A sine and the cosine next to it have different frequencies. Each pair is one hand of the clock and has one "
    "angle: both columns have the exponent of the even one."
)
SIDE_BY_SIDE = (
    "All sines are in the left half and all cosines in the right half. They should alternate, each sine followed by "
    "its cosine: columns 0::2 and 1::2."
)
FROM_ONE = "Positions are counted from 1. The first token is at position 0, where all sines are 0 and all cosines 1."
EXPONENT_WITHOUT_BRACKETS = (
    "Python evaluates powers before division: `10000**x / d` is (10000**x) / d. Put the exponent in brackets."
)
EXCHANGED = "Sines and cosines are swapped. The even columns, including 0, are the sines."
ODD_ACCEPTED = (
    "An odd width raises no error. Sines and cosines come in pairs, so an odd width is the caller's mistake: raise an "
    "error."
)
OTHER_NUMBER_REFUSED = (
    "The wrong number is checked: an odd number of positions raises an error. Any number of positions is allowed. Only "
    "the width must be even."
)

# The encoding in the solution of add_positions.
ENCODED = "sinusoidal_encoding(num_tokens, d).to(x.dtype)"

CALLS = {"add_positions": ["sinusoidal_encoding"]}

# fmt: off
ROWS = [
    # linear_as_matmul
    row("linear_as_matmul", "bias_added_to_the_weight", replace("weight + bias", "(weight + bias)"),
        "The bias is added to the weight before the product, so it is multiplied by the row too. Add it last, to the "
        "product."),
    row("linear_as_matmul", "bias_forgotten", replace(" + bias", ""),
        "The bias is missing. Add it to every row of the product."),
    row("linear_as_matmul", "bias_inside_the_sum",
        replace("x @ weight + bias", "(x[:, :, None] * weight + bias).sum(dim=1)"),
        "The bias is added once for each feature of the row, inside the sum. Add it only once, to the complete sum."),
    row("linear_as_matmul", "bias_subtracted", replace("+ bias", "- bias"),
        "The bias is subtracted. In the formula it is added; a layer can learn a negative bias."),
    row("linear_as_matmul", "bias_for_the_first_row",
        replace("x @ weight + bias", "torch.cat([x[:1] @ weight + bias, x[1:] @ weight])"),
        "The bias was added only to the first row. Every row goes through the same layer: (m, k) + (k,) adds it to "
        "each row."),
    row("linear_as_matmul", "bias_for_the_last_row",
        replace("x @ weight + bias", "torch.cat([x[:-1] @ weight, x[-1:] @ weight + bias])"),
        "The bias was added only to the last row. Every row goes through the same layer: (m, k) + (k,) adds it to "
        "each row."),
    row("linear_as_matmul", "bias_as_a_column", replace("+ bias", "+ bias[:, None]"),
        "The bias was made a column, so it is added along the rows. It has a number for each column of the result: "
        "with the shape (k,), PyTorch adds it to every row."),
    row("linear_as_matmul", "cut_off_below_zero", replace("x @ weight + bias", "torch.relu(x @ weight + bias)"),
        "Negative results became zero. That is ReLU, an activation. A linear layer has no activation."),
    row("linear_as_matmul", "weight_transposed", replace("@ weight", "@ weight.T"),
        "The code treats the weight as (k, n), as in `nn.Linear`. Here the weight is (n, k), and (m, n) @ (n, k) "
        "works without a transpose."),
    row("linear_as_matmul", "weight_in_front", replace("x @ weight", "weight @ x"),
        "The weight is on the left. The rows of x are multiplied, so x comes first: (m, n) @ (n, k) gives a row for "
        "each row of x."),
    row("linear_as_matmul", "result_on_its_side", replace("x @ weight + bias", "(x @ weight + bias).T"),
        "The result is transposed: it has a row for each output. Each row of x should give a row: (m, k)."),
    row("linear_as_matmul", "first_row_alone", replace("x @", "x[0] @"),
        "Only the first row went through the layer. A matrix product with all of x uses all rows at once."),
    row("linear_as_matmul", "rows_of_the_worked_example",
        replace("x @ weight + bias", "torch.stack([x[row] @ weight + bias for row in range(3)])"),
        "The code always expects three rows, as in the worked example. Use the number of rows of x: `x.shape[0]`."),
    row("linear_as_matmul", "single_row_squeezed", replace("x @ weight + bias", "(x @ weight + bias).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the result for a single row is not a matrix."),
    row("linear_as_matmul", "bias_by_a_float32_product", replace("+ bias", "+ torch.ones(len(x), 1) @ bias[None]"),
        "The code makes a float32 tensor, which does not match float64 arguments. Make it like them "
        "(`torch.ones_like`, `dtype=x.dtype`), or let `+` broadcast the bias."),
    row("linear_as_matmul", "result_without_gradients", replace("x @ weight + bias", "(x @ weight + bias).detach()"),
        "The result was made from plain numbers, for example by `.item()`, `.tolist()` or `.detach()`, so no "
        "gradient flows back. Use tensors in every step."),
    row("linear_as_matmul", "bias_without_gradients", replace("+ bias", "+ bias.detach()"),
        "No gradient reaches the bias: does `.detach()` or `.data` cut it off? The bias must be able to learn, like "
        "the weight."),
    row("linear_as_matmul", "weight_without_gradients", replace("@ weight", "@ weight.detach()"),
        "No gradient reaches the weight: does `.detach()`, `.data` or a new `nn.Parameter` cut it off? A layer "
        "learns its weight and its bias: use both directly."),
    row("linear_as_matmul", "bias_unsqueezed_in_place", replace("+ bias", "+ bias.unsqueeze_(0)"),
        "The caller's bias was changed: a method with an underscore at the end changes the tensor itself. "
        "`unsqueeze` without it returns a new view."),
    row("linear_as_matmul", "weight_transposed_in_place", replace("@ weight", "@ weight.t_().T"),
        "The caller's weight was transposed: `t_()`, with an underscore, changes the tensor itself. `.T` returns a "
        "view and does not change it."),

    # sinusoidal_encoding
    row("sinusoidal_encoding", "exponent_doubled", replace("two_i / d_model", "2 * two_i / d_model"), EXPONENT_DOUBLED),
    row("sinusoidal_encoding", "different_frequencies",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i + 1) / d_model))"),
        EVERY_COLUMN_ITS_OWN),
    row("sinusoidal_encoding", "exponent_doubled_and_one_more",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((2 * two_i + 1) / d_model))"),
        "The exponent of the sine is twice as large as it should be, because steps of two are doubled again, and the "
        "cosine next to it has another exponent. Both columns of a pair have the same angle."),
    row("sinusoidal_encoding", "cosines_one_column_back",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i - 1) / d_model))"),
        "The cosine has a smaller exponent than the sine next to it, so it turns faster. Each pair is one hand of the "
        "clock and has one angle: only the column says 2i + 1, not the exponent."),
    row("sinusoidal_encoding", "exponents_one_column_back", replace("two_i / d_model", "(two_i - 1) / d_model"),
        "Every exponent is too small by 1 / d_model, so all hands are too fast. The first exponent is 0: hand 0 turns "
        "by 1 with each position."),
    row("sinusoidal_encoding", "exponents_of_the_odd_columns", replace("two_i / d_model", "(two_i + 1) / d_model"),
        "Sine and cosine of a pair have the same angle, but with the number of the odd column as the exponent. It "
        "should be that of the even one, 2i, so that the first exponent is 0."),
    row("sinusoidal_encoding", "pairs_counted_from_one", replace("two_i / d_model", "(two_i + 2) / d_model"),
        "The exponents begin with the second pair, as if pairs were counted from 1. In the formula i begins at 0, so "
        "the first exponent is 0 and hand 0 turns by 1 with each position."),
    row("sinusoidal_encoding", "every_column_doubled",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** (2 * (two_i + 1) / d_model))"),
        "The number of the column is doubled in every exponent, 2·j / d_model for column j. 2i is the column of the "
        "sine, and the cosine next to it has the same angle."),
    row("sinusoidal_encoding", "halves_side_by_side", replace("torch.stack", "torch.cat").replace(".flatten(-2)", ""),
        SIDE_BY_SIDE),
    row("sinusoidal_encoding", "positions_from_one",
        replace("torch.arange(num_positions)", "torch.arange(1, num_positions + 1)"),
        FROM_ONE),
    row("sinusoidal_encoding", "sines_and_cosines_exchanged",
        replace("torch.sin(angles), torch.cos(angles)", "torch.cos(angles), torch.sin(angles)"),
        EXCHANGED),
    row("sinusoidal_encoding", "sines_and_cosines_added",
        replace("torch.arange(0, d_model, 2)", "torch.arange(d_model)")
        .replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                 "torch.sin(angles) + torch.cos(angles)"),
        "Every column is the sum of a sine and a cosine. They are separate columns, one after the other: together "
        "they show where the hand is."),
    row("sinusoidal_encoding", "one_column_for_each_hand",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.sin(angles) + torch.cos(angles)"),
        "The sine and the cosine of a hand are added, so the result has only d_model / 2 columns. Each hand has two "
        "columns, its sine and then its cosine."),
    row("sinusoidal_encoding", "pairs_that_overlap",
        replace("return torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "table = torch.zeros(num_positions, d_model)\n    table[:, 1 : d_model // 2 + 1] = torch.cos(angles)\n"
                "    table[:, : d_model // 2] = torch.sin(angles)\n"
                "    table[:, d_model // 2] = torch.cos(angles[:, -1])\n    return table"),
        "Pair i is written to the columns i and i + 1, so each pair overwrites a part of the one before, and the right "
        "half stays zero. Its columns are 2i and 2i + 1."),
    row("sinusoidal_encoding", "exponent_halved", replace("two_i / d_model", "two_i / 2 / d_model"),
        "The exponent is i / d_model, where i counts pairs. It should be 2i / d_model, so that the divisor of the "
        "slowest hand is close to 10000."),
    row("sinusoidal_encoding", "divided_by_one_less", replace("two_i / d_model", "two_i / (d_model - 1)"),
        "The exponents are divided by d_model - 1. The formula divides by d_model, so the last exponent stays below "
        "1."),
    row("sinusoidal_encoding", "exponents_up_to_one", replace("two_i / d_model", "two_i / max(d_model - 2, 1)"),
        "The exponents go from 0 to 1, as in some libraries: i / (d_model/2 - 1). In the formula here the exponent "
        "is 2i / d_model, and the last one stays below 1."),
    row("sinusoidal_encoding", "divided_by_the_positions", replace("two_i / d_model", "two_i / num_positions"),
        "The exponents are divided by the number of positions. The speed of a hand depends on its column among the "
        "d_model columns, not on the length of the text."),
    row("sinusoidal_encoding", "exponents_floored", replace("two_i / d_model", "two_i // d_model"),
        "All hands are equally fast, as if every exponent were 0. `//` divides integers and drops the remainder; `/` "
        "keeps it."),
    row("sinusoidal_encoding", "angles_floored", replace("positions /", "positions //"),
        "The angles are integers: `//` drops the fraction. A slow hand moves too, but only a little: divide with `/`."),
    row("sinusoidal_encoding", "power_before_division",
        replace("10000 ** (two_i / d_model)", "(10000 ** two_i.double() / d_model)"),
        EXPONENT_WITHOUT_BRACKETS),
    row("sinusoidal_encoding", "power_before_both_divisions", replace("(two_i / d_model)", "two_i.double() / d_model"),
        EXPONENT_WITHOUT_BRACKETS),
    row("sinusoidal_encoding", "multiplied_by_the_powers", replace("positions /", "positions *"),
        "The positions are multiplied by the powers of 10000, so each hand is faster than the one before. Divide by "
        "the powers: each hand should be slower."),
    row("sinusoidal_encoding", "base_of_one_thousand", replace("10000", "1000"),
        "The powers are of 1000 and not of 10000, so the slow hands are too fast."),
    row("sinusoidal_encoding", "exponent_doubled_with_base_of_one_thousand",
        replace("10000 ** (two_i / d_model)", "1000 ** (2 * two_i / d_model)"),
        "The powers are of 1000 and not of 10000, and their exponents are doubled. In the formula i counts pairs. If "
        "your i is 0, 2, 4, …, it is already 2i."),
    row("sinusoidal_encoding", "base_of_one_hundred_thousand", replace("10000", "100000"),
        "The powers are of 100000 and not of 10000, so the hands are too slow. Count the zeros."),
    row("sinusoidal_encoding", "powers_of_e", replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model)"),
        "The powers are of e and not of 10000, so all hands turn almost equally fast. If you compute powers with "
        "`exp`, multiply the exponent by the natural logarithm of 10000."),
    row("sinusoidal_encoding", "common_logarithm",
        replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model * torch.log10(torch.tensor(10000)))"),
        "The logarithm has the wrong base. If you compute powers with `exp`, 10000^x = exp(x · ln 10000), use the "
        "natural logarithm, `math.log`."),
    row("sinusoidal_encoding", "angles_in_degrees", replace("angles = positions", "angles = positions.deg2rad()"),
        "The angles were converted from degrees to radians. They are already radians: at position 1 hand 0 has "
        "turned by 1."),
    row("sinusoidal_encoding", "whole_turns", replace("angles = positions", "angles = 2 * torch.pi * positions"),
        "The angles were multiplied by 2π. The formula has no π: hand 0 turns by 1 with each position, and makes a "
        "full turn after about 6.3 positions."),
    row("sinusoidal_encoding", "positions_as_shares",
        replace("angles = positions", "angles = positions / num_positions"),
        "The positions were divided by their number. Then one step is a different number in each text. Use 0, 1, 2, "
        "… directly."),
    row("sinusoidal_encoding", "sines_alone", replace("torch.cos", "torch.sin"),
        "Every column is a sine. A sine alone does not show the position of the hand, because two angles have the "
        "same sine. The odd columns should be cosines."),
    row("sinusoidal_encoding", "cosines_missing", replace("torch.cos(angles)", "0 * angles"),
        "The odd columns are still zero: the cosines are missing, or in wrong columns. Put each cosine next to its "
        "sine."),
    row("sinusoidal_encoding", "by_rows_instead_of_columns",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.where(positions % 2 == 0, torch.sin(angles), torch.cos(angles)).repeat_interleave(2, dim=1)"),
        "Even positions have sines and odd positions have cosines. It should depend on the column: every position "
        "has sines in the even columns and cosines in the odd ones."),
    row("sinusoidal_encoding", "first_position_left_out", replace(".flatten(-2)", ".flatten(-2) * (positions > 0)"),
        "Position 0 is all zeros, like padding. But it is a normal position: its cosines are 1."),
    row("sinusoidal_encoding", "features_first", replace(".flatten(-2)", ".flatten(-2).T"),
        "The result is transposed, (d_model, T). A row is a position: (T, d_model), as in embeddings."),
    row("sinusoidal_encoding", "encoding_of_integers", replace(".flatten(-2)", ".flatten(-2).long()"),
        "The entries are integers: most sines and cosines became 0. They were put into a tensor of an integer dtype, "
        "such as one made from `arange`. Use floats."),
    row("sinusoidal_encoding", "batch_in_front", replace(".flatten(-2)", ".flatten(-2)[None]"),
        "The result has a batch dimension in front. The same encoding is used for every sequence, and PyTorch "
        "broadcasts (T, d_model) over the batch."),
    row("sinusoidal_encoding", "positions_of_the_worked_example",
        replace("torch.arange(num_positions)", "torch.arange(4)[:num_positions]"),
        "The encoding always has four positions, as in the worked example. Use the argument num_positions."),
    row("sinusoidal_encoding", "a_hundred_positions_at_most",
        replace("torch.arange(num_positions)", "torch.arange(100)[:num_positions]"),
        "The table ends after a hundred positions, so longer texts fail. Make as many rows as num_positions says."),
    row("sinusoidal_encoding", "single_position_squeezed", replace(".flatten(-2)", ".flatten(-2).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single position is not a matrix. It should be (1, "
        "d_model)."),
    row("sinusoidal_encoding", "odd_width_accepted",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        ODD_ACCEPTED),
    row("sinusoidal_encoding", "odd_width_stumbled_over",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".reshape(num_positions, d_model)"),
        "An odd width raises an error of the wrong type, for example from PyTorch, because sines and cosines do not "
        "match. Check first, and raise a ValueError with a clear text."),
    row("sinusoidal_encoding", "odd_number_of_positions_refused",
        replace("d_model % 2", "num_positions % 2").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        OTHER_NUMBER_REFUSED),

    # add_positions
    row("add_positions", "exponent_doubled_in_what_is_added", replace("sinusoidal_encoding", "exponent_doubled"),
        EXPONENT_DOUBLED),
    row("add_positions", "different_frequencies_in_what_is_added",
        replace("sinusoidal_encoding", "different_frequencies"), EVERY_COLUMN_ITS_OWN),
    row("add_positions", "halves_side_by_side_in_what_is_added", replace("sinusoidal_encoding", "halves_side_by_side"),
        SIDE_BY_SIDE),
    row("add_positions", "positions_from_one_in_what_is_added", replace("sinusoidal_encoding", "positions_from_one"),
        FROM_ONE),
    row("add_positions", "sines_and_cosines_exchanged_in_what_is_added",
        replace("sinusoidal_encoding", "sines_and_cosines_exchanged"), EXCHANGED),
    row("add_positions", "odd_width_accepted_where_added", replace("sinusoidal_encoding", "odd_width_accepted"),
        ODD_ACCEPTED),
    row("add_positions", "odd_number_of_tokens_refused",
        replace("sinusoidal_encoding", "odd_number_of_positions_refused"), OTHER_NUMBER_REFUSED),
    row("add_positions", "multiplied", replace("return x +", "return x *"),
        "The embeddings were multiplied by the encoding. At position 0 every sine is 0, so half of the token would "
        "be lost. Add the encoding."),
    row("add_positions", "put_behind", replace(f"x + {ENCODED}", f"torch.cat([x, {ENCODED}.expand_as(x)], dim=-1)"),
        "The encoding was concatenated to the embedding, so the width is doubled. Token and position share the same "
        "features: add them."),
    row("add_positions", "encoding_alone", replace(f"x + {ENCODED}", f"{ENCODED}.expand_as(x)"),
        "The function returned the encoding without the embeddings. It says where a token is, but not which token it "
        "is."),
    row("add_positions", "number_of_the_position_added",
        replace("sinusoidal_encoding(num_tokens, d)", "torch.arange(num_tokens).unsqueeze(1)"),
        "The number of the position itself is added. It grows without limit and soon hides the embedding. Add its "
        "encoding by sines and cosines, whose numbers stay between -1 and 1."),
    row("add_positions", "tokens_expected_first", replace(".to(x.dtype)", ".to(x.dtype).unsqueeze(1)"),
        "The encoding became (T, 1, d), for inputs with the tokens first, so token and sequence are mixed up. Here x "
        "is (B, T, d): an encoding (T, d) is added to every sequence."),
    row("add_positions", "embeddings_scaled", replace("return x", "return x * d**0.5"),
        "The embeddings were multiplied by √d first. The paper does that before this step. Here x is not scaled."),
    row("add_positions", "first_position_for_all", replace(".to(x.dtype)", ".to(x.dtype)[0]"),
        "Every token got the encoding of position 0, so the same token looks the same at every position. Token t "
        "gets row t."),
    row("add_positions", "sequences_counted",
        replace("(num_tokens, d)", "(len(x), d)").replace(".to(x.dtype)", ".to(x.dtype)[:, None]"),
        "Each sequence got the encoding of its position in the batch. Count the tokens of a sequence, dim 1. The "
        "order of the sequences in a batch has no meaning."),
    row("add_positions", "rows_for_sequences", replace("(num_tokens, d)", "(len(x), d)"),
        "The encoding has as many rows as there are sequences. It needs one row for each token: T is `x.shape[1]`, "
        "because the batch comes first."),
    row("add_positions", "counted_on_through_the_batch",
        replace("(num_tokens, d)", "(len(x) * num_tokens, d).reshape(x.shape)"),
        "The positions continue from one sequence to the next. Each sequence is a separate text and begins at "
        "position 0."),
    row("add_positions", "features_counted", replace("(num_tokens, d)", "(d, num_tokens).T"),
        "The features were counted instead of the tokens. In (B, T, d) the tokens are dim 1 and the features dim 2."),
    row("add_positions", "first_sequence_alone", replace(f"x + {ENCODED}", f"torch.cat([x[:1] + {ENCODED}, x[1:]])"),
        "Only the first sequence got positions. (B, T, d) + (T, d) adds the encoding to every sequence of the batch."),
    row("add_positions", "tokens_of_the_worked_example", replace("(num_tokens, d)", "(3, d)"),
        "The code always expects three tokens, as in the worked example. Use the number of tokens of x, `x.shape[1]`."),
    row("add_positions", "single_one_squeezed", replace(f"x + {ENCODED}", f"(x + {ENCODED}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single sequence or a single token loses its dimension."),
    row("add_positions", "made_float32", replace("return x", "return x.float()").replace(".to(x.dtype)", ".float()"),
        "The result is always float32. It should have the dtype of x: convert the encoding, `.to(x.dtype)`, and not "
        "x."),
    row("add_positions", "made_float64", replace(".to(x.dtype)", ".double()"),
        "The result is always float64: the encoding is float64, and a sum of both dtypes is float64. Convert the "
        "encoding to the dtype of x, `.to(x.dtype)`."),
    row("add_positions", "flattened_by_view", replace("return x", "return x.view(-1, d).view(x.shape)"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. `reshape` copies if necessary. "
        "But PyTorch adds (T, d) to (B, T, d) without either."),
    row("add_positions", "x_detached", replace("return x", "return x.detach()"),
        "Gradients stop here: does `.detach()`, `.data` or `torch.no_grad()` cut off x or the sum? The embeddings "
        "learn through x. Only the encoding needs no gradient."),
    row("add_positions", "added_in_place", replace(f"return x + {ENCODED}", f"x += {ENCODED}\n    return x"),
        "The caller's x was changed: `+=` and `add_` change the tensor itself. `x + …` makes a new one."),
]
# fmt: on
