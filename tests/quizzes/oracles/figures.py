"""The other figures of the quizzes: by item, the number in the text, and its value."""

from __future__ import annotations

from math import cos, e, exp, log, pi, sin, sqrt


def _share(of: float, *others: float) -> float:
    """The weight that softmax gives to the first score."""
    return exp(of) / sum(map(exp, (of, *others)))


_ROW = [_share(*scores) for scores in ((1, 0, 2), (0, 1, 2), (2, 1, 0))]

# Numbers that an explanation chooses for its own example are not computed.
FIGURES: dict[str, dict[str, float]] = {
    # -- unit 1
    "most_to_itself": {"0.12": _share(1, 3), "0.88": _share(3, 1)},
    "a_negative_score": {
        "0.26": _share(2, 3, 0),
        "7.4": e**2,
        "0.14": e**-2,
        "0.135": e**-2,
        "20.09": e**3,
        "21.2": e**3 + 1 + e**-2,
        "21.22": e**3 + 1 + e**-2,
        "0.946": _share(3, 0, -2),
        "0.047": _share(0, 3, -2),
        "0.006": _share(-2, 3, 0),
    },
    "dividing_by_the_sum": {"2.9": 2.9, "0.1": 2 + 1 - 2.9, "20": 2 / 0.1, "10": 1 / 0.1, "−29": -2.9 / 0.1},
    "a_possible_feature": {
        "0.01": 0.01,
        "0.0075": 0.0075,
        "0.9825": 1 - 0.01 - 0.0075,
        "0.02": 0.01 * 2,
        "0.0375": 0.0075 * 5,
        "8.8425": 0.9825 * 9,
        "8.9": 0.01 * 2 + 0.0075 * 5 + 0.9825 * 9,
    },
    "a_safe_softmax": {"0.5": 2 / 4, "−19,999": -9_999 - 10_000, "−20,000": -10_000 - 10_000},
    "longer_embeddings": {"0.02": 0.02, "0.505": _share(0.02, 0), "0.881": _share(2, 0)},
    # -- unit 2
    "the_wrong_divisor": {"32": sqrt(1024), "0.03": 32 / 1024, "7": e**2},
    "the_first_weight_moves": {
        "0.5": 70.5 - 70,
        "0.0025": _share(6, 0) * _share(0, 6),
        "0.018": _share(4, 0) * _share(0, 4),
        "0.105": _share(2, 0) * _share(0, 2),
        "0.235": _share(0.5, 0) * _share(0, 0.5),
    },
    "two_weights": {
        "0.731": _share(8 / 4, 4 / 4),
        "0.269": _share(4 / 4, 8 / 4),
        "0.531": _share(8 / 32, 4 / 32),
        "0.469": _share(4 / 32, 8 / 32),
        "0.125": (8 - 4) / 32,
    },
    # -- unit 3
    "a_dropped_score": {"0.006": _share(-3, 2, 0), "0.018": _share(0, 4, 0)},
    "one_row_on_its_way": {
        "0.245": _ROW[0],
        "0.090": _ROW[1],
        "0.665": _ROW[2],
        "0.489": _ROW[0] / 0.5,
        "1.330": _ROW[2] / 0.5,
    },
    # -- unit 4
    "spread_of_the_scores": {"0.5": sqrt(16) / sqrt(64)},
    "weights_across_heads": {"1.5": 3 / 2},
    # -- unit 5
    "only_one_pair": {"43.98": 7 * 2 * pi, "6.28": 2 * pi, "0.018": sin(44), "1.000": cos(44)},
    "the_second_pair": {
        "0.4794": sin(50 / 10_000 ** (2 / 4)),
        "0.8776": cos(50 / 10_000 ** (2 / 4)),
        "0.0050": sin(50 / 10_000),
        "1.0000": cos(50 / 10_000),
    },
    "soonest_again": {
        "6.5": 2 * pi * 10_000 ** (2 / 512),
        "63": 2 * pi * 10_000 ** (16 / 64),
        "628": 2 * pi * 10_000 ** (2 / 4),
        "6283": 2 * pi * 10_000 ** (6 / 8),
    },
    # -- unit 6
    "characters_or_subwords": {
        "773": 50_257 / 65,
        "600,000": round((50_257 / 65) ** 2, -5),
        "10.8": log(50_257),
        "4.2": log(65),
        "4,225": 65**2,
        "2.5": 50_257**2 / 1e9,
    },
}

# The output of each program, and its output with the fix, as regular expressions.
PRINTED = {
    "weights_of_two_queries": (r"tensor\(\[1.2490, 1.7510\]\)", r"tensor\(\[1.0000, 1.0000\]\)"),
    "two_weights": (r"tensor\(\[0.531\d, 0.46\d+\]\)", r"tensor\(\[0.731\d, 0.26\d+\]\)"),
    "counting_parameters": ("0", "6"),
    "a_row_of_one_and_zeros": (r"tensor\(\[0.3333, 0.3333, 0.3333\]\)", r"tensor\(\[1., 0., 0.\]\)"),
    "dropout_and_modes": (r"tensor\(\[([02]\.(, )?){8}\]\)", r"tensor\(\[(1\.(, )?){8}\]\)"),
    "there_and_back": ("False", "True"),
    "spread_of_the_scores": ("0.5", "1.0"),
    "same_word_twice": ("True", "False"),
    "the_second_pair": (r"tensor\(\[0.0050, 1.0000\]\)", r"tensor\(\[0.4794, 0.8776\]\)"),
    "mean_of_the_past": (r"tensor\(\[2., 4., 7.\]\)", r"tensor\(\[2., 3., 5.\]\)"),
    "loss_of_a_sure_model": (r"1\d\.\d+", r"0\.0|[1-9]\.\d+e-\d+"),
    "one_residual_step": (r"-?0\.\d+", r"(49|50)\.\d+"),
    "three_layers": (r"torch.Size\(\[1, 4\]\)\n20", r"torch.Size\(\[1, 4\]\)\n60"),
    "a_context_of_100": (r"tensor\(\[100., 100.\]\)", r"tensor\(\[1\.\d+, 1\.\d+\]\)"),
    # -- practice
    "sum_over_the_tokens": (r"tensor\(\[2.5000, 2.5000, 0.0000\]\)", r"tensor\(\[2., 3.\]\)"),
    "a_square_matrix": ("False", "True"),
    "the_hidden_diagonal": (r"tensor\(\[nan, nan, nan\]\)", r"tensor\(\[1., 0., 0.\]\)"),
    "weights_across_heads": (r"tensor\(\[1.5000, 1.5000, 1.5000\]\)", r"tensor\(\[1., 1., 1.\]\)"),
    "the_callers_tensor": (r"6\.0", r"0\.0"),
    "targets_one_later": (r"\[1, 2, 3, 4\]", r"\[2, 3, 4, 5\]"),
    "a_mean_for_each_token": (r"tensor\(\[-6.,  6.\]\)", r"tensor\(\[0., 0.\]\)"),
    "a_text_that_stops_counting": (r"\[0, 1, 2, 3, 3, 3\]", r"\[0, 1, 2, 3, 4, 0\]"),
    "a_state_that_forgets": (r"\[0.76, 0.0, 0.0\]", r"\[0.76, 0.64, 0.57\]"),
}

# The values by which the steps of an order are sorted: a number for each step, by words in it.
ORDERS: dict[str, dict[str, float]] = {
    "smallest_weight_first": {
        f"({first}, {second})": 2 * first - second for first, second in ((3, 6), (1, -1), (-2, 0), (4, 1), (-1, 4))
    },
    "the_first_weight_moves": {
        f"{first} and {second}".replace("-", "−"): _share(first + 0.01, second) - _share(first, second)
        for first, second in ((3, 5), (20, 14), (70, 70.5), (-4, 0))
    },
    "soonest_again": {
        f"columns {column} and {column + 1} of an encoding with `d_model` = {width}": 10_000 ** (column / width)
        for column, width in ((2, 4), (16, 64), (6, 8), (2, 512))
    },
}
