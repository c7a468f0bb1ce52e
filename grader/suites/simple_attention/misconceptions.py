"""Unit 1: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.misconceptions import misconception

Numbers = Sequence[Any] | Tensor
Pair = tuple[Tensor, Tensor]

# -- dot_product -------------------------------------------------------------------------------------------------


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


def check_lengths(a: Numbers, b: Numbers) -> None:
    if len(a) != len(b):
        raise ValueError("the lengths differ")


def products(a: Numbers, b: Numbers) -> list[Any]:
    return [x * y for x, y in zip(a, b, strict=True)]


@misconception(
    "dot_product",
    "Where one sequence is longer, its end counts for nothing, in silence: that comes of `zip`, of the smaller of the "
    "two lengths, or of zeros behind the shorter. A dot product of different lengths has no meaning: raise an error.",
)
def longer_end_dropped(a: Numbers, b: Numbers) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=False))


@misconception(
    "dot_product",
    "The loop counts the entries of the first sequence and never asks about the second. Where that is shorter, an "
    "IndexError comes out of the loop, and where it is longer, nothing at all. Compare the lengths first.",
)
def lengths_never_compared(a: Numbers, b: Numbers) -> Any:
    return sum(a[place] * b[place] for place in range(len(a)))


@misconception(
    "dot_product",
    "Only one of the two ways in which lengths can differ is refused. The second sequence may be the longer one, and "
    "it may be the shorter one: ask whether they are not equal.",
)
def only_a_longer_first_refused(a: Numbers, b: Numbers) -> Any:
    if len(a) > len(b):
        raise ValueError("the first is longer")
    return sum(x * y for x, y in zip(a, b, strict=False))


@misconception(
    "dot_product",
    "Different lengths are reported by a result, such as None or 0, instead of an error. A result is easily computed "
    "on with; an error cannot be overlooked.",
)
def different_lengths_give_none(a: Numbers, b: Numbers) -> Any:
    return sum(products(a, b)) if len(a) == len(b) else None


@misconception("dot_product", REFUSED_OTHERWISE)
def lengths_refused_with_another_error(a: Numbers, b: Numbers) -> Any:
    if len(a) != len(b):
        raise TypeError("the lengths differ")
    return sum(products(a, b))


@misconception("dot_product", REFUSED_OTHERWISE)
def lengths_refused_with_any_exception(a: Numbers, b: Numbers) -> Any:
    if len(a) != len(b):
        raise Exception("the lengths differ")  # as learners do
    return sum(products(a, b))


@misconception("dot_product", REFUSED_OTHERWISE)
def lengths_refused_with_an_index_error(a: Numbers, b: Numbers) -> Any:
    if len(a) != len(b):
        raise IndexError("the lengths differ")
    return sum(products(a, b))


@misconception(
    "dot_product",
    "A sequence of one number is stretched to the length of the other, as tensors do when they are multiplied. Every "
    "difference of lengths is to be refused, this one too.",
)
def single_number_stretched(a: Numbers, b: Numbers) -> Any:
    if len(a) == 1:
        a = [a[0]] * len(b)
    check_lengths(a, b)
    return sum(products(a, b))


@misconception(
    "dot_product",
    "Empty sequences are refused. There is nothing to add up, and a sum of nothing is 0; only a difference of lengths "
    "is an error.",
)
def empty_sequences_refused(a: Numbers, b: Numbers) -> Any:
    if len(a) != len(b) or len(a) == 0:
        raise ValueError("bad lengths")
    return sum(products(a, b))


@misconception("dot_product", NO_BEGINNING)
def sum_begins_with_the_first_product(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    total = a[0] * b[0]
    for place in range(1, len(a)):
        total = total + a[place] * b[place]
    return total


@misconception("dot_product", NO_BEGINNING)
def products_reduced_without_a_beginning(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return functools.reduce(operator.add, products(a, b))


@misconception(
    "dot_product",
    "For empty sequences None comes back. A sum of nothing is 0, and whoever computes on needs a number.",
)
def none_for_empty_sequences(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(products(a, b)) if len(a) else None


@misconception("dot_product", NO_TENSORS)
def truth_of_a_tensor_asked(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    if not a:
        return 0
    return sum(products(a, b))


@misconception("dot_product", NO_LISTS)
def tensors_only(a: Any, b: Any) -> Any:
    if a.shape != b.shape:
        raise ValueError("the lengths differ")
    return (a * b).sum()


@misconception("dot_product", NO_LISTS)
def lists_given_to_torch(a: Any, b: Any) -> Any:
    check_lengths(a, b)
    return torch.dot(a, b)


@misconception("dot_product", NO_TENSORS)
def tensors_refused(a: Numbers, b: Numbers) -> Any:
    if not isinstance(a, list | tuple) or not isinstance(b, list | tuple):
        raise TypeError("lists are expected")
    check_lengths(a, b)
    return sum(products(a, b))


@misconception("dot_product", NO_TENSORS)
def lists_asserted(a: Numbers, b: Numbers) -> Any:
    assert isinstance(a, list | tuple), "a list is expected"
    assert isinstance(b, list | tuple), "a list is expected"
    check_lengths(a, b)
    return sum(products(a, b))


@misconception("dot_product", NO_TENSORS)
def nothing_but_lists_let_in(a: Numbers, b: Numbers) -> Any:
    if not isinstance(a, list) or not isinstance(b, list):
        raise ValueError("a list is expected")
    check_lengths(a, b)
    return sum(products(a, b))


@misconception(
    "dot_product",
    "The products were not added up. A dot product is one number, the sum of the products at all places.",
)
def products_not_added_up(a: Numbers, b: Numbers) -> list[Any]:
    check_lengths(a, b)
    return products(a, b)


@misconception(
    "dot_product",
    "The result is returned inside the loop, so that only the first product counts. The `return` belongs behind the "
    "loop, as far to the left as its `for`.",
)
def returned_inside_the_loop(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    for x, y in zip(a, b, strict=True):
        return 0 + x * y
    return None


@misconception(
    "dot_product",
    "Each product replaces the one before, and only the last is left. Add each to the total: `total = total + x * y`.",
)
def only_the_last_product(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return a[-1] * b[-1] if len(a) else 0


@misconception(
    "dot_product",
    "The last place is left out. `range(n)` ends before n by itself, so there is no one to subtract.",
)
def last_place_left_out(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(a[place] * b[place] for place in range(len(a) - 1))


@misconception(
    "dot_product",
    "The first place is left out. Places are counted from 0 in Python, so that is where the loop begins.",
)
def first_place_left_out(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(a[place] * b[place] for place in range(1, len(a)))


@misconception(
    "dot_product",
    "The numbers at each place were added. Multiply them, and add up the products.",
)
def added_instead_of_multiplied(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(x + y for x, y in zip(a, b, strict=True))


@misconception(
    "dot_product",
    "Every number of the first was multiplied with every number of the second. Only those that stand at the same place "
    "belong together: one loop, not one in another.",
)
def every_number_with_every_other(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(x * y for x in a for y in b)


@misconception("dot_product", MEAN)
def mean_of_the_products(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(products(a, b)) / len(a)


@misconception("dot_product", MEAN)
def mean_unless_there_are_none(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(products(a, b)) / len(a) if len(a) else 0


@misconception("dot_product", COSINE)
def cosine_of_the_angle(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    sizes = sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5
    return sum(products(a, b)) / sizes


@misconception("dot_product", COSINE)
def cosine_unless_there_is_none(a: Numbers, b: Numbers) -> Any:
    return cosine_of_the_angle(a, b) if len(a) or len(b) else 0


@misconception(
    "dot_product",
    "Every product counts as positive. Products below zero are how a dot product says that two vectors disagree.",
)
def signs_lost(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(abs(product) for product in products(a, b))


@misconception("dot_product", CUT_OFF_BY_INT)
def fractions_cut_off(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(int(product) for product in products(a, b))


@misconception("dot_product", CUT_OFF_BY_INT)
def fraction_of_the_sum_cut_off(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return int(sum(products(a, b)))


@misconception("dot_product", CUT_OFF_BY_INT)
def fractions_of_the_numbers_cut_off(a: Numbers, b: Numbers) -> Any:
    check_lengths(a, b)
    return sum(int(x) * int(y) for x, y in zip(a, b, strict=True))


@misconception(
    "dot_product",
    "The result was printed, and None came back. What others are to compute with has to be returned.",
)
def printed_instead_of_returned(a: Numbers, b: Numbers) -> None:
    check_lengths(a, b)
    for _ in products(a, b):
        pass  # here a learner prints; what counts is that nothing is returned


@misconception("dot_product", EATEN_UP)
def numbers_taken_out(a: Any, b: Any) -> Any:
    check_lengths(a, b)
    total = 0
    while len(a):
        total = total + a.pop() * b.pop()
    return total


@misconception("dot_product", EATEN_UP)
def numbers_overwritten(a: Any, b: Any) -> Any:
    check_lengths(a, b)
    for place in range(len(a)):
        a[place] = a[place] * b[place]
    return sum(a)


@misconception("dot_product", EATEN_UP)
def numbers_overwritten_but_in_tuples(a: Any, b: Any) -> Any:
    return numbers_overwritten(list(a) if isinstance(a, tuple) else a, b)


# -- attention_scores --------------------------------------------------------------------------------------------

A_LIST = (
    "The scores came as a list of numbers. Put them into a tensor, (T,), with which others can compute and through "
    "which gradients flow."
)


@misconception(
    "attention_scores",
    "The products were not added up, so there is a row for each token and not a number. A dot product sums over the "
    "features: the last dim.",
)
def products_of_each_feature(query: Tensor, inputs: Tensor) -> Tensor:
    return query * inputs


@misconception(
    "attention_scores",
    "The sum runs over the tokens and leaves one number for each feature. A score belongs to a token, so sum over its "
    "features: `dim=-1`.",
)
def summed_over_the_tokens(query: Tensor, inputs: Tensor) -> Tensor:
    return (query * inputs).sum(dim=0)


@misconception(
    "attention_scores",
    "The sum runs over everything and leaves a single number. Each token has a score of its own: sum over its "
    "features alone.",
)
def one_score_for_all(query: Tensor, inputs: Tensor) -> Tensor:
    return (query * inputs).sum()


@misconception(
    "attention_scores",
    "`query @ inputs` multiplies the query with columns of the inputs. Tokens are rows, so the inputs stand on the "
    "left, or are transposed.",
)
def multiplied_with_the_columns(query: Tensor, inputs: Tensor) -> Tensor:
    return query @ inputs


@misconception(
    "attention_scores",
    "All tokens were scored with all tokens, and the query was not used. Here one token asks: there is one score for "
    "each input.",
)
def every_token_as_the_query(query: Tensor, inputs: Tensor) -> Tensor:  # noqa: ARG001
    return inputs @ inputs.T  # (T, T)


@misconception(
    "attention_scores",
    "The query is always one of the inputs, taken from them by its number. The query that was handed in may be any "
    "vector: use that.",
)
def second_input_as_the_query(query: Tensor, inputs: Tensor) -> Tensor:  # noqa: ARG001
    return inputs @ inputs[1]


@misconception(
    "attention_scores",
    "The scores were divided by the root of the width. That belongs to unit 2; here a score is the plain dot product.",
)
def scaled_already(query: Tensor, inputs: Tensor) -> Tensor:
    return inputs @ query / len(query) ** 0.5


@misconception(
    "attention_scores",
    "The products were averaged over the features. A dot product is their sum.",
)
def averaged_over_the_features(query: Tensor, inputs: Tensor) -> Tensor:
    return (inputs * query).mean(dim=-1)


@misconception(
    "attention_scores",
    "Softmax was taken already, so these are weights. Scores come first: plain dot products, of any size and sign.",
)
def weights_instead_of_scores(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.softmax(inputs @ query, dim=-1)


@misconception(
    "attention_scores",
    "The scores were divided by their sum already. Scores are the dot products as they are; shares are made of them "
    "in the next exercise.",
)
def normalised_already(query: Tensor, inputs: Tensor) -> Tensor:
    scores = inputs @ query
    return scores / scores.sum()


@misconception(
    "attention_scores",
    "The vectors were brought to length one first. That compares directions alone; in a dot product a longer vector "
    "counts for more.",
)
def cosines_as_scores(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.cosine_similarity(inputs, query[None], dim=-1)


@misconception(
    "attention_scores",
    "The distances from the query were measured. They are small where two vectors are alike; a dot product is large "
    "there.",
)
def distances_as_scores(query: Tensor, inputs: Tensor) -> Tensor:
    return (inputs - query).norm(dim=-1)


@misconception(
    "attention_scores",
    "Only the first three features count, as many as the worked example has. Other embeddings are wider: sum over all "
    "of them.",
)
def three_features_only(query: Tensor, inputs: Tensor) -> Tensor:
    return inputs[:, :3] @ query[:3]


@misconception(
    "attention_scores",
    "There are always six scores, as many as the worked example has tokens. Read off the inputs how many rows there "
    "are.",
)
def six_tokens_only(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.stack([inputs[place] @ query for place in range(6)])


@misconception(
    "attention_scores",
    "The scores came as a column, (T, 1). What is asked for has one dimension, (T,), with one score for each token.",
)
def scores_in_a_column(query: Tensor, inputs: Tensor) -> Tensor:
    return inputs @ query[:, None]  # (T, d) @ (d, 1) -> (T, 1)


@misconception("attention_scores", A_LIST)
def list_of_scores(query: Tensor, inputs: Tensor) -> list[Any]:
    return [row @ query for row in inputs]


@misconception("attention_scores", A_LIST)
def list_of_plain_numbers(query: Tensor, inputs: Tensor) -> list[float]:
    return [float(row @ query) for row in inputs]


@misconception(
    "attention_scores",
    "`squeeze()` drops every dimension of size one, also that of the tokens where there is a single one. Drop the one "
    "that you mean, by its number.",
)
def squeezed_too_much(query: Tensor, inputs: Tensor) -> Tensor:
    return (inputs @ query[:, None]).squeeze()  # (T, 1) -> (T,), but (1, 1) -> ()


@misconception(
    "attention_scores",
    "The inputs are made float32, which then do not fit a float64 query. Let the arguments decide about the dtype.",
)
def scores_in_float32_only(query: Tensor, inputs: Tensor) -> Tensor:
    return inputs.float() @ query


@misconception(
    "attention_scores",
    "Gradients stop at the scores: the numbers were taken out of their tensors, by `.item()`, `.numpy()` or "
    "`torch.tensor([…])`, or computed under `no_grad`. Compute with tensors, and use `torch.stack` to join them.",
)
def scores_cut_off(query: Tensor, inputs: Tensor) -> Tensor:
    return (inputs @ query).detach()


@misconception(
    "attention_scores",
    "No gradient reaches the query, which was cut off by `.detach()`, `.data` or `.item()`. Later the query has "
    "weights behind it that learn.",
)
def query_cut_off(query: Tensor, inputs: Tensor) -> Tensor:
    return inputs @ query.detach()


@misconception(
    "attention_scores",
    "The caller's inputs were multiplied in place, by `*=` or `mul_`. The next step needs them as they were: `*` makes "
    "a new tensor.",
)
def inputs_multiplied_in_place(query: Tensor, inputs: Tensor) -> Tensor:
    inputs *= query
    return inputs.sum(dim=-1)


# -- normalize_by_sum --------------------------------------------------------------------------------------------

STANDARDISED = (
    "The scores were brought to mean zero and deviation one. That is standardising; shares are the scores divided by "
    "their sum."
)


@misconception(
    "normalize_by_sum",
    "That is softmax already. Here the scores themselves are divided by their sum; what is wrong with that comes out "
    "in the next exercise.",
)
def softmax_instead_of_division(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


@misconception(
    "normalize_by_sum",
    "The scores were divided by the largest of them. Then the largest becomes one; it is their sum that should.",
)
def divided_by_the_largest(scores: Tensor) -> Tensor:
    return scores / scores.max()


@misconception(
    "normalize_by_sum",
    "The scores were divided by how many there are. That is not yet a share: divide by their sum, and they sum to one.",
)
def divided_by_their_number(scores: Tensor) -> Tensor:
    return scores / len(scores)


@misconception(
    "normalize_by_sum",
    "The scores were divided by the root of the sum of their squares. That gives a vector of length one; shares sum to "
    "one, so divide by the plain sum.",
)
def divided_by_the_euclidean_length(scores: Tensor) -> Tensor:
    return scores / scores.norm()


@misconception(
    "normalize_by_sum",
    "The sum below the line is that of the sizes, without signs. With scores below zero among them the results then no "
    "longer sum to one.",
)
def divided_by_the_sum_of_sizes(scores: Tensor) -> Tensor:
    return scores / scores.abs().sum()


@misconception(
    "normalize_by_sum",
    "Scores below zero were set to zero. Here they count as they are; what shares below zero mean is a question for "
    "the next exercise.",
)
def negative_scores_dropped(scores: Tensor) -> Tensor:
    return scores.clamp(min=0) / scores.clamp(min=0).sum()


@misconception(
    "normalize_by_sum",
    "The smallest score was subtracted first. The result then tells how far each is above the smallest; divide the "
    "scores as they are.",
)
def smallest_subtracted_first(scores: Tensor) -> Tensor:
    above = scores - scores.min()
    return above / above.sum()


@misconception("normalize_by_sum", STANDARDISED)
def standardised(scores: Tensor) -> Tensor:
    return (scores - scores.mean()) / scores.std()


@misconception("normalize_by_sum", STANDARDISED)
def standardised_by_the_biased_deviation(scores: Tensor) -> Tensor:
    return (scores - scores.mean()) / scores.std(correction=0)


@misconception(
    "normalize_by_sum",
    "The scores came back as they were. Divide them by their sum.",
)
def not_divided(scores: Tensor) -> Tensor:
    return scores.clone()


@misconception(
    "normalize_by_sum",
    "The sum itself came back. It belongs below the line: each score is divided by it.",
)
def sum_alone(scores: Tensor) -> Tensor:
    return scores.sum()


@misconception(
    "normalize_by_sum",
    "There are always six scores for this code, as many as the worked example has. Take as many as there are.",
)
def six_scores_only(scores: Tensor) -> Tensor:
    return torch.stack([scores[place] for place in range(6)]) / scores.sum()


@misconception(
    "normalize_by_sum",
    "`squeeze()` drops the only dimension where there is a single score. The shape stays (T,), also for T = 1.",
)
def shape_squeezed_away(scores: Tensor) -> Tensor:
    return (scores / scores.sum()).squeeze()


@misconception(
    "normalize_by_sum",
    "What is computed with is always float32, and float64 scores do not fit in. Let the scores decide about the dtype.",
)
def sum_in_float32_only(scores: Tensor) -> Tensor:
    return scores * torch.dot(torch.ones(len(scores)), scores).reciprocal()


@misconception(
    "normalize_by_sum",
    "The sum was taken out of its tensor by `.item()` or `.detach()`, so gradients take it for a constant. It is made "
    "of the scores: when one of them grows, every share changes.",
)
def sum_as_a_constant(scores: Tensor) -> Tensor:
    return scores / scores.sum().item()


@misconception(
    "normalize_by_sum",
    "Gradients stop at the result, which was computed under `torch.no_grad()` or detached. What made the scores is to "
    "learn through it.",
)
def shares_cut_off(scores: Tensor) -> Tensor:
    return (scores / scores.sum()).detach()


@misconception(
    "normalize_by_sum",
    "The caller's scores were divided in place, by `/=` or `div_`. Whoever called still wants them as they were: `/` "
    "makes a new tensor.",
)
def divided_in_place(scores: Tensor) -> Tensor:
    scores /= scores.sum()
    return scores


# -- softmax_naive -----------------------------------------------------------------------------------------------

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


def softmax(x: Tensor, dim: int) -> Tensor:
    """The right answer, to either exercise."""
    return torch.softmax(x, dim)


@misconception(
    "softmax_naive",
    "The entries themselves were divided by their sum. The exponential comes first: it makes every share positive.",
)
def exponential_forgotten(x: Tensor, dim: int = -1) -> Tensor:
    return x / x.sum(dim=dim, keepdim=True)


@misconception(
    "softmax_naive",
    "The exponentials were not divided by their sum, so that they do not sum to one along `dim`.",
)
def sum_forgotten(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return torch.exp(x)


@misconception(
    "softmax_naive",
    "The exponentials are powers of two. The base is e: `torch.exp`. With another one every lead counts for less or "
    "for more.",
)
def powers_of_two(x: Tensor, dim: int = -1) -> Tensor:
    return 2**x / (2**x).sum(dim=dim, keepdim=True)


@misconception(
    "softmax_naive",
    "The exponentials were divided by the sum of the entries. Below the line stands the sum of the *exponentials*, and "
    "only so the shares sum to one.",
)
def divided_by_the_sum_of_the_entries(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x) / x.sum(dim=dim, keepdim=True)


@misconception(
    "softmax_naive",
    "The exponential was taken of the sum. First each entry has its exponential, then they are summed: the two do not "
    "change places.",
)
def exponential_of_the_sum(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x) / torch.exp(x.sum(dim=dim, keepdim=True))


@misconception(
    "softmax_naive",
    "The exponentials were divided by the largest of them. Then the largest becomes one; it is their sum that should.",
)
def divided_by_the_largest_exponential(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x) / torch.exp(x).amax(dim=dim, keepdim=True)


@misconception(
    "softmax_naive",
    "The exponentials were divided by their mean. The shares then sum to how many there are, and not to one.",
)
def divided_by_the_mean(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x) / torch.exp(x).mean(dim=dim, keepdim=True)


@misconception(
    "softmax_naive",
    "Softmax was taken twice. The second one sees only numbers between zero and one, and makes all shares nearly "
    "equal.",
)
def taken_twice(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(softmax(x, dim), dim)


@misconception(
    "softmax_naive",
    "Each entry was put through a sigmoid on its own. In a softmax the entries compete: what one gains, the others "
    "lose.",
)
def sigmoid_of_each(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return torch.sigmoid(x)


@misconception(
    "softmax_naive",
    "The largest entry gets everything. That is a hard maximum; the soft one gives each entry its share.",
)
def hard_maximum(x: Tensor, dim: int = -1) -> Tensor:
    return (x == x.amax(dim=dim, keepdim=True)).to(x.dtype)


@misconception("softmax_naive", LOGARITHMS)
def naive_logarithms(x: Tensor, dim: int = -1) -> Tensor:
    return torch.log_softmax(x, dim)


@misconception("softmax_naive", WHOLE_TENSOR)
def naive_sum_of_everything(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return torch.exp(x) / torch.exp(x).sum()


@misconception("softmax_naive", DIM_IGNORED)
def naive_dim_ignored(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return softmax(x, -1)


@misconception(
    "softmax_naive",
    "The sum always runs along the first dimension, whatever `dim` says. That is one list of scores for each column; "
    "hand `dim` on to `sum`.",
)
def always_along_the_first_dimension(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return softmax(x, 0)


@misconception("softmax_naive", KEEPDIM_FORGOTTEN)
def naive_keepdim_forgotten(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x) / torch.exp(x).sum(dim=dim)


@misconception("softmax_naive", FIRST_BY_DEFAULT)
def naive_first_dimension_by_default(x: Tensor, dim: int = 0) -> Tensor:
    return softmax(x, dim)


@misconception("softmax_naive", TWO_DIMENSIONS)
def naive_rows_and_columns_only(x: Tensor, dim: int = -1) -> Tensor:
    if dim in (0, -2) or x.dim() == 1:
        return softmax(x, 0)
    return softmax(x, 1)


@misconception("softmax_naive", TWO_DIMENSIONS)
def naive_rows_and_columns_counted(x: Tensor, dim: int = -1) -> Tensor:
    if x.dim() > 1:
        _, _ = x.shape
    return softmax(x, dim)


@misconception("softmax_naive", TWO_DIMENSIONS)
def naive_sums_in_a_column(x: Tensor, dim: int = -1) -> Tensor:
    if dim in (0, -2) or x.dim() == 1:
        return softmax(x, 0)
    return torch.exp(x) / torch.exp(x).sum(dim=1).reshape(-1, 1)


@misconception(
    "softmax_naive",
    "What is computed with is always float32, and float64 entries do not fit in. Let x decide about the dtype.",
)
def naive_in_float32_only(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.exp(x.movedim(dim, -1))
    sums = exponentials @ torch.ones(exponentials.shape[-1])  # (…, n) @ (n,) -> (…,)
    return (exponentials / sums[..., None]).movedim(-1, dim)


@misconception("softmax_naive", SUM_CONSTANT)
def naive_sum_as_a_constant(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=dim, keepdim=True).detach()


@misconception("softmax_naive", CUT_OFF)
def naive_gradients_cut_off(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x, dim).detach()


@misconception(
    "softmax_naive",
    "The exponentials were written over the caller's entries: a method whose name ends in an underscore, such as "
    "`exp_`, works on the tensor itself. `torch.exp(x)` makes a new one.",
)
def exponentials_in_place(x: Tensor, dim: int = -1) -> Tensor:
    return x.exp_() / x.sum(dim=dim, keepdim=True)


# -- softmax_stable ----------------------------------------------------------------------------------------------


def shifted(x: Tensor, by: Tensor | float, dim: int) -> Tensor:
    """Softmax as one writes it with some number subtracted first."""
    exponentials = torch.exp(x - by)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax_stable",
    "The maximum is not subtracted before the exponential, so large entries become infinite, and infinity over "
    "infinity is not a number. Subtract it, along `dim`: the result is the same, and no exponential exceeds one.",
)
def maximum_not_subtracted(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, 0, dim)


@misconception(
    "softmax_stable",
    "One maximum, that of all entries, is subtracted everywhere. A list of scores far below it then has only "
    "exponentials of zero, and zero over zero is not a number. Each list has a maximum of its own, along `dim`.",
)
def one_maximum_for_all(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.max(), dim)


@misconception(
    "softmax_stable",
    "The largest *size* is subtracted. Where all entries are far below zero that takes them further down, until every "
    "exponential is zero. The maximum, with its sign, is what brings the largest exponent to zero.",
)
def largest_size_subtracted(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.abs().amax(dim, keepdim=True), dim)


@misconception(
    "softmax_stable",
    "The mean is subtracted. An entry can still lie far above it, and beside an entry of -inf there is no mean. The "
    "maximum leaves nothing above zero.",
)
def mean_subtracted(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.mean(dim, keepdim=True), dim)


@misconception(
    "softmax_stable",
    "The smallest entry is subtracted, so that all exponents are positive and as large as can be. It is the largest "
    "that has to go to zero.",
)
def minimum_subtracted(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.amin(dim, keepdim=True), dim)


@misconception(
    "softmax_stable",
    "The entries are divided by the largest of them. A share depends on the *differences* of the entries: they survive "
    "when the maximum is subtracted, and not when it divides.",
)
def divided_by_the_maximum(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x / x.amax(dim, keepdim=True), 0, dim)


@misconception(
    "softmax_stable",
    "The maximum is subtracted from the exponentials. By then they have overflowed, and the shares are others: "
    "subtract it from the entries, before the exponential.",
)
def subtracted_after_the_exponential(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.exp(x) - x.amax(dim, keepdim=True)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax_stable",
    "The entries are clamped to what the exponential can take. That makes different entries equal; a shift by the "
    "maximum keeps all their differences.",
)
def entries_clamped(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x.clamp(-80, 80), 0, dim)


@misconception(
    "softmax_stable",
    "What is not a number was replaced afterwards, by `nan_to_num` or the like. By then it is lost which entry was the "
    "larger; subtract the maximum before the exponential.",
)
def not_a_number_replaced(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, 0, dim).nan_to_num()


@misconception(
    "softmax_stable",
    "float64 is to save the exponential. It ends at about e to the power of 709, far below 10,000, and the result "
    "comes back as float64. Subtracting the maximum helps in every dtype.",
)
def float64_instead_of_a_maximum(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x.double(), 0, dim)


@misconception(
    "softmax_stable",
    "The maximum is always taken along the last dimension, and the sum along `dim`. What is subtracted has to be the "
    "same for all entries that share a sum.",
)
def maximum_along_the_last_dimension(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.amax(-1, keepdim=True), dim)


@misconception(
    "softmax_stable",
    "The maximum is always taken along the first dimension, and the sum along `dim`. What is subtracted has to be the "
    "same for all entries that share a sum.",
)
def maximum_along_the_first_dimension(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.amax(0, keepdim=True), dim)


@misconception(
    "softmax_stable",
    "`x.max(dim=…)` gives two results, the values and their places, and nothing can be subtracted from both. Take "
    "`.values`, or use `amax`.",
)
def places_beside_the_maximum(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.max(dim=dim, keepdim=True), dim)  # type: ignore[arg-type]


@misconception(
    "softmax_stable",
    "The dimension of the maximum is gone, so that it is not subtracted from the entries it belongs to. `keepdim=True` "
    "leaves it there with size one, in `max` as in `sum`.",
)
def stable_keepdim_forgotten(x: Tensor, dim: int = -1) -> Tensor:
    return shifted(x, x.amax(dim), dim)


@misconception("softmax_stable", WHOLE_TENSOR)
def stable_sum_of_everything(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    exponentials = torch.exp(x - x.max())
    return exponentials / exponentials.sum()


@misconception("softmax_stable", DIM_IGNORED)
def stable_dim_ignored(x: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG001
    return softmax(x, -1)


@misconception("softmax_stable", FIRST_BY_DEFAULT)
def stable_first_dimension_by_default(x: Tensor, dim: int = 0) -> Tensor:
    return softmax(x, dim)


@misconception("softmax_stable", TWO_DIMENSIONS)
def stable_rows_and_columns_only(x: Tensor, dim: int = -1) -> Tensor:
    if dim in (0, -2) or x.dim() == 1:
        return softmax(x, 0)
    return softmax(x, 1)


@misconception("softmax_stable", TWO_DIMENSIONS)
def stable_rows_and_columns_counted(x: Tensor, dim: int = -1) -> Tensor:
    if x.dim() > 1:
        _, _ = x.shape
    return softmax(x, dim)


@misconception("softmax_stable", LOGARITHMS)
def stable_logarithms(x: Tensor, dim: int = -1) -> Tensor:
    return torch.log_softmax(x, dim)


@misconception(
    "softmax_stable",
    "`view` refuses a tensor that lies in memory in another order, such as a transposed one. Work along `dim` on x as "
    "it is, or use `reshape`.",
)
def flattened_by_view(x: Tensor, dim: int = -1) -> Tensor:
    if dim in (-1, x.dim() - 1):
        return softmax(x.view(-1, x.shape[-1]), -1).view(x.shape)  # (…, n) -> (the product of …, n) -> (…, n)
    return softmax(x, dim)


@misconception(
    "softmax_stable",
    "An entry of -inf was taken for zero, a score like any other. Its exponential is zero: it gets no share at all.",
)
def minus_infinity_as_zero(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x.masked_fill(x == -torch.inf, 0), dim)


@misconception(
    "softmax_stable",
    "An entry of -inf makes the whole result something that is not a number. -inf is subtracted from -inf, or "
    "multiplied by zero, on the way; shifted by the finite maximum it just gives zero.",
)
def minus_infinity_multiplied(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x - x.amax(dim, keepdim=True) + 0 * x, dim)


@misconception(
    "softmax_stable",
    "The result is float64, whatever x was. Computing in float64 is fine; give the result back in the dtype of x: "
    "`.to(x.dtype)`.",
)
def float64_given_back(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x.double(), dim)


@misconception(
    "softmax_stable",
    "The result is float32, also where x is float64. Whoever asks in float64 wants its digits: let x decide about the "
    "dtype.",
)
def float32_given_back(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x.float(), dim)


@misconception("softmax_stable", SUM_CONSTANT)
def stable_sum_as_a_constant(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.exp(x - x.amax(dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True).detach()


@misconception("softmax_stable", SUM_CONSTANT)
def maximum_and_sum_as_constants(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.exp(x - x.amax(dim, keepdim=True).detach())
    return exponentials / exponentials.sum(dim=dim, keepdim=True).detach()


@misconception("softmax_stable", CUT_OFF)
def stable_gradients_cut_off(x: Tensor, dim: int = -1) -> Tensor:
    return softmax(x, dim).detach()


@misconception(
    "softmax_stable",
    "The maximum was subtracted from the caller's own entries, by `-=` or `sub_`. They are wanted as they were: "
    "`x - largest` makes a new tensor.",
)
def maximum_subtracted_in_place(x: Tensor, dim: int = -1) -> Tensor:
    x -= x.amax(dim, keepdim=True)
    return shifted(x, 0, dim)


# -- context_vector ----------------------------------------------------------------------------------------------


@misconception(
    "context_vector",
    "The weighted inputs were not added up: there is a row for each token. The context is one vector, their sum over "
    "the tokens.",
)
def weighted_rows_not_added_up(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights[:, None] * inputs


@misconception(
    "context_vector",
    "The sum runs over the features and leaves one number for each token. The context has the width of an input: sum "
    "over the tokens, dim 0.",
)
def summed_over_the_features(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights[:, None] * inputs).sum(dim=-1)


@misconception(
    "context_vector",
    "`weights * inputs` pairs each weight with a feature, or fits nowhere. A weight belongs to a token, which is a "
    "row: make the weights a column, `weights[:, None]`.",
)
def weights_along_the_features(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights * inputs).sum(dim=0)


@misconception(
    "context_vector",
    "The inputs were transposed, or stand in front of the weights: so a weight would meet a feature. There is a weight "
    "for each row, and (T,) @ (T, d) is right as it stands.",
)
def inputs_transposed(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights @ inputs.T


@misconception(
    "context_vector",
    "The weighted inputs were averaged. The weights have made shares of them already: add them up, and divide no more.",
)
def weighted_rows_averaged(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights[:, None] * inputs).mean(dim=0)


@misconception(
    "context_vector",
    "The inputs were added up without their weights. Each row counts as much as its weight says.",
)
def weights_not_used(weights: Tensor, inputs: Tensor) -> Tensor:  # noqa: ARG001
    return inputs.sum(dim=0)


@misconception(
    "context_vector",
    "The inputs were averaged, so that all count alike. How much each counts is what the weights are for.",
)
def inputs_averaged(weights: Tensor, inputs: Tensor) -> Tensor:  # noqa: ARG001
    return inputs.mean(dim=0)


@misconception(
    "context_vector",
    "Only the token with the largest weight was taken. Attention mixes: each token adds as much as its weight says.",
)
def best_token_alone(weights: Tensor, inputs: Tensor) -> Tensor:
    return inputs[weights.argmax()]


@misconception(
    "context_vector",
    "Each weighted row replaces the one before, and only the last is left. Add each to the context.",
)
def last_row_only(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights[-1] * inputs[-1]


@misconception(
    "context_vector",
    "The first token is left out: the loop begins at 1. Places are counted from 0 in Python.",
)
def first_token_left_out(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights[1:] @ inputs[1:]


@misconception(
    "context_vector",
    "The weights were put through a softmax once more. They are shares already; a second one makes them nearly equal.",
)
def weights_softened_again(weights: Tensor, inputs: Tensor) -> Tensor:
    return torch.softmax(weights, dim=0) @ inputs


@misconception(
    "context_vector",
    "The weights were divided by their sum once more. Take them as they are: whoever made them has seen to their sum.",
)
def weights_normalised_again(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights / weights.sum() @ inputs


@misconception(
    "context_vector",
    "Weights below zero were set to zero. They do not come out of a softmax, but where they come, they count as they "
    "are.",
)
def negative_weights_dropped(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights.clamp(min=0) @ inputs


@misconception(
    "context_vector",
    "The context came as a table with one row, (1, d). One vector is asked for, (d,).",
)
def context_in_a_table(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights[None] @ inputs  # (1, T) @ (T, d) -> (1, d)


@misconception(
    "context_vector",
    "The context always has three features, as in the worked example. Read the width off the inputs: "
    "`inputs.shape[1]`.",
)
def three_features_in_the_context(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights @ inputs[:, :3]


@misconception(
    "context_vector",
    "There are always six tokens for this code, as in the worked example. Take as many rows as there are.",
)
def six_tokens_in_the_context(weights: Tensor, inputs: Tensor) -> Tensor:
    return torch.stack([weights[place] * inputs[place] for place in range(6)]).sum(dim=0)


@misconception(
    "context_vector",
    "`squeeze()` drops the tokens' dimension where there is a single one, and the sum then runs over something else. "
    "T = 1 is a sequence too.",
)
def single_token_squeezed(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights[:, None] * inputs).squeeze().sum(dim=0)


@misconception(
    "context_vector",
    "`squeeze()` drops every dimension of size one, also that of the features where there is a single one. A context "
    "is (d,), for d = 1 too: drop the one that you mean, by its number.",
)
def single_feature_squeezed(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights[None] @ inputs).squeeze()  # (1, d) -> (d,), but (1, 1) -> ()


@misconception(
    "context_vector",
    "The inputs are made float32, which then do not fit float64 weights. Let the arguments decide about the dtype.",
)
def context_in_float32_only(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights @ inputs.float()


@misconception(
    "context_vector",
    "No gradient reaches the weights: they were taken out of their tensor by `.item()`, or detached. Through them the "
    "scores learn what to attend to.",
)
def weights_cut_off(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights.detach() @ inputs


@misconception(
    "context_vector",
    "No gradient reaches the inputs, which were cut off by `.detach()` or `.data`. The embeddings learn through them.",
)
def inputs_cut_off(weights: Tensor, inputs: Tensor) -> Tensor:
    return weights @ inputs.detach()


@misconception(
    "context_vector",
    "Gradients stop at the context, which was computed under `torch.no_grad()` or detached. All that is behind it is "
    "what is to learn.",
)
def context_cut_off(weights: Tensor, inputs: Tensor) -> Tensor:
    return (weights @ inputs).detach()


@misconception(
    "context_vector",
    "The caller's inputs were multiplied by the weights in place, by `*=` or `mul_`. The next query needs them as they "
    "were: `*` makes a new tensor.",
)
def inputs_weighted_in_place(weights: Tensor, inputs: Tensor) -> Tensor:
    inputs *= weights[:, None]
    return inputs.sum(dim=0)


# -- simple_self_attention ---------------------------------------------------------------------------------------

SCALED_BY_THE_TOKENS = (
    "The scores were divided by the number of tokens, or its root. They are the plain dot products here, and a dot "
    "product sums over the features anyway."
)
FEATURES_COMPARED = (
    "Features were compared with features: the scores are (d, d). The first of the two stays as it is, `inputs @ "
    "inputs.T`, so that tokens meet tokens."
)


def softmax_stable(x: Tensor, dim: int = -1) -> Tensor:
    """By the name under which an answer calls it: where that was given a stand-in, so is this."""
    return torch.softmax(x, dim)


def weighted(scores: Tensor, inputs: Tensor) -> Pair:
    weights = softmax_stable(scores, dim=-1)
    return weights @ inputs, weights


@misconception(
    "simple_self_attention",
    "The scores were divided by the root of the width. Unit 2 has a reason to; here they are the plain dot products.",
)
def scaled_by_the_width(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs.T / inputs.shape[-1] ** 0.5, inputs)


@misconception("simple_self_attention", SCALED_BY_THE_TOKENS)
def scaled_by_the_tokens(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs.T / len(inputs) ** 0.5, inputs)


@misconception("simple_self_attention", SCALED_BY_THE_TOKENS)
def divided_by_the_tokens(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs.T / len(inputs), inputs)


@misconception(
    "simple_self_attention",
    "The tokens were brought to length one before they were compared. That looks at directions alone; in a dot product "
    "a longer vector counts for more.",
)
def tokens_of_length_one_compared(inputs: Tensor) -> Pair:
    directions = inputs / inputs.norm(dim=-1, keepdim=True)
    return weighted(directions @ directions.T, inputs)


@misconception(
    "simple_self_attention",
    "The inputs were reshaped to (d, T). That cuts the same row of numbers at other places and mixes the tokens; to "
    "turn rows into columns, transpose: `inputs.T`.",
)
def reshaped_instead_of_transposed(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs.reshape(inputs.shape[1], inputs.shape[0]), inputs)  # no transpose of (T, d)


@misconception(
    "simple_self_attention",
    "The inputs were multiplied with themselves as they are, and (T, d) @ (T, d) does not fit. To meet the tokens, "
    "which are rows, the second has to be transposed: `inputs @ inputs.T`.",
)
def transpose_forgotten(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs, inputs)


@misconception("simple_self_attention", FEATURES_COMPARED)
def features_compared(inputs: Tensor) -> Pair:
    return weighted(inputs.T @ inputs, inputs.T)


@misconception("simple_self_attention", FEATURES_COMPARED)
def features_compared_and_mixed(inputs: Tensor) -> Pair:
    weights = softmax_stable(inputs.T @ inputs, dim=-1)
    return inputs @ weights, weights


@misconception("simple_self_attention", FEATURES_COMPARED)
def features_compared_and_tokens_mixed(inputs: Tensor) -> Pair:
    return weighted(inputs.T @ inputs, inputs)


@misconception(
    "simple_self_attention",
    "The tokens after each token's own place are hidden. That is causal attention, unit 3; here every token sees every "
    "token.",
)
def later_tokens_hidden(inputs: Tensor) -> Pair:
    future = torch.ones(len(inputs), len(inputs), dtype=torch.bool).triu(1)
    return weighted((inputs @ inputs.T).masked_fill(future, -torch.inf), inputs)


@misconception(
    "simple_self_attention",
    "No token looks at itself. In self-attention it does, as at any other: what it says is part of its own context.",
)
def own_token_hidden(inputs: Tensor) -> Pair:
    own = torch.eye(len(inputs), dtype=torch.bool)
    return weighted((inputs @ inputs.T).masked_fill(own, -torch.inf), inputs)


@misconception(
    "simple_self_attention",
    "Softmax runs along the columns: they sum to one, and the rows do not. The scores are symmetric, but row i is what "
    "token i gives, and the tokens it gives to lie along the last dim.",
)
def softmax_along_the_columns(inputs: Tensor) -> Pair:
    weights = softmax_stable(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


@misconception(
    "simple_self_attention",
    "Softmax runs over all scores at once, so that all tokens share one attention between them. Each token has a whole "
    "one to give: softmax over the last dim.",
)
def softmax_of_everything(inputs: Tensor) -> Pair:
    scores = inputs @ inputs.T
    weights = softmax_stable(scores.flatten(), dim=0).reshape(scores.shape)  # (T · T,) -> (T, T)
    return weights @ inputs, weights


@misconception(
    "simple_self_attention",
    "The scores are used as weights as they are. Softmax makes shares of them: positive, and with the sum one for each "
    "token.",
)
def softmax_forgotten(inputs: Tensor) -> Pair:
    scores = inputs @ inputs.T
    return scores @ inputs, scores


@misconception(
    "simple_self_attention",
    "The scores are divided by their sum. With scores of both signs those are no shares: softmax takes exponentials "
    "first.",
)
def divided_by_the_sum(inputs: Tensor) -> Pair:
    scores = inputs @ inputs.T
    weights = scores / scores.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


@misconception(
    "simple_self_attention",
    "Softmax is taken twice. The second one sees only numbers between zero and one, and makes all weights nearly "
    "equal.",
)
def softmax_twice(inputs: Tensor) -> Pair:
    return weighted(softmax_stable(inputs @ inputs.T, dim=-1), inputs)


@misconception(
    "simple_self_attention",
    "Every token gets the same weight, whatever the tokens are. How much one hears of another is for their dot product "
    "to say.",
)
def tokens_averaged(inputs: Tensor) -> Pair:
    return weighted(0 * inputs @ inputs.T, inputs)


@misconception(
    "simple_self_attention",
    "The contexts were made with the columns of the weights. Token i's own weights are row i: `weights @ inputs`, "
    "without a transpose.",
)
def mixed_by_the_columns(inputs: Tensor) -> Pair:
    weights = softmax_stable(inputs @ inputs.T, dim=-1)
    return weights.T @ inputs, weights


@misconception(
    "simple_self_attention",
    "The contexts are made with the scores, and softmax is only given back beside them. It is the weights that mix the "
    "inputs.",
)
def mixed_by_the_scores(inputs: Tensor) -> Pair:
    scores = inputs @ inputs.T
    return scores @ inputs, softmax_stable(scores, dim=-1)


@misconception(
    "simple_self_attention",
    "The inputs themselves came back as contexts. A context is the sum of all inputs, each times its weight.",
)
def inputs_as_contexts(inputs: Tensor) -> Pair:
    return inputs.clone(), softmax_stable(inputs @ inputs.T, dim=-1)


@misconception(
    "simple_self_attention",
    "The second result are the scores. The contexts are right; what is asked for beside them are the weights, after "
    "softmax.",
)
def scores_in_place_of_weights(inputs: Tensor) -> Pair:
    scores = inputs @ inputs.T
    return weighted(scores, inputs)[0], scores


@misconception(
    "simple_self_attention",
    "Weights and contexts came the other way round. The order agreed on is contexts first, then weights.",
)
def weights_first(inputs: Tensor) -> Pair:
    contexts, weights = weighted(inputs @ inputs.T, inputs)
    return weights, contexts


@misconception(
    "simple_self_attention",
    "The contexts came alone. The weights are asked for as well: `return contexts, weights`.",
)
def contexts_alone(inputs: Tensor) -> Tensor:
    return weighted(inputs @ inputs.T, inputs)[0]


@misconception(
    "simple_self_attention",
    "Only one token is the query, the second one as in the worked example. In self-attention every token is, and there "
    "is a context for each.",
)
def one_query_only(inputs: Tensor) -> Pair:
    return weighted(inputs @ inputs[1], inputs)


@misconception(
    "simple_self_attention",
    "There are always six tokens for this code, as in the worked example. Take as many rows as there are.",
)
def six_tokens_attend(inputs: Tensor) -> Pair:
    return weighted(torch.stack([inputs @ inputs[place] for place in range(6)]), inputs)


@misconception(
    "simple_self_attention",
    "`squeeze()` drops the tokens' dimension where there is a single one. T = 1 is a sequence too: it gives weights "
    "(1, 1) and contexts (1, d).",
)
def lone_token_squeezed(inputs: Tensor) -> Pair:
    contexts, weights = weighted(inputs @ inputs.T, inputs)
    return contexts.squeeze(), weights.squeeze()


@misconception(
    "simple_self_attention",
    "The result is filled into tensors of float32, which then do not fit float64 inputs. Let the inputs decide about "
    "the dtype.",
)
def attention_in_float32_only(inputs: Tensor) -> Pair:
    weights = softmax_stable(inputs @ inputs.T, dim=-1)
    return weights.float() @ inputs, weights


@misconception(
    "simple_self_attention",
    "The weights are cut off from the gradients, by `.detach()` or `.item()`. The scores are where attention learns "
    "what to look at.",
)
def weights_detached(inputs: Tensor) -> Pair:
    weights = softmax_stable(inputs @ inputs.T, dim=-1).detach()
    return weights @ inputs, weights


@misconception(
    "simple_self_attention",
    "Gradients stop at the results, which were computed under `torch.no_grad()` or detached. The embeddings behind "
    "them are still to learn.",
)
def attention_cut_off(inputs: Tensor) -> Pair:
    contexts, weights = weighted(inputs @ inputs.T, inputs)
    return contexts.detach(), weights.detach()


@misconception(
    "simple_self_attention",
    "The contexts were written over the caller's inputs. Every token is mixed of the inputs as they were, and "
    "whoever called may want them again: make a new tensor.",
)
def contexts_over_the_inputs(inputs: Tensor) -> Pair:
    contexts, weights = weighted(inputs @ inputs.T, inputs)
    inputs.copy_(contexts)
    return inputs, weights
