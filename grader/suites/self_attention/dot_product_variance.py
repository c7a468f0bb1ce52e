"""dot_product_variance: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import HALF
from grader.suites.self_attention.shared import D_K, T_K, begun_with
from grader.testing.behaviour import generator_draws
from grader.testing.checks import expect_number, expect_one_number, expect_true, expect_values
from grader.testing.draws import expect_used
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import DEVIATIONS, Draw, Estimate, Property, draws_from_generator, probe
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, rule

# The tolerance of a right answer: let X = q·k for d = d_k features. Given k, X is normal with variance |k|², so
# E X² = E|k|² = d and E X⁴ = 3 E|k|⁴ = 3 (d² + 2d). The variance of a sample variance over n pairs is about
# (E X⁴ - (E X²)²) / n = (2d² + 6d) / n. The margin is six standard deviations. A normal estimate exceeds it twice in
# 10⁹ runs, and these estimates, slightly skewed to the right, less than once in 10⁶: once in four million simulated
# runs with two features.
# The first case has many features. There a variance over the features instead of the samples is a good estimate too, so
# the result shows this mistake. In the second case a feature that is left out halves the result.
WIDTHS_AND_SAMPLES = ((800, 1000), (2, 2000))
# Seeds that an answer may set inside the function.
SEEDS = (0, 1, 42, 123)


def margin(d_k: int, samples: int) -> float:
    return 6 * math.sqrt((2 * d_k**2 + 6 * d_k) / samples)


def expect_scatter(student: Student, which: int) -> None:
    """Expect the estimates of 150 calls to scatter like variances of twenty dot products.

    A product of two normal numbers has a kurtosis of 9, so the variance of twenty products has a standard deviation of
    about √(8/20) = 0.6 around one. For twenty normal numbers it is √(2/19) = 0.3, and half of that for their standard
    deviation. A formula instead of samples does not scatter at all. The logarithms of right estimates have fewer
    outliers than the estimates. In 100,000 simulated runs of 150 calls their scatter was 0.606 for products and 0.333
    for normal numbers, with a relative standard error of 0.06, and in no run was it outside 0.454 to 0.791 for
    products. The bound is 5.3 and 4.6 standard errors away, on a scale of logarithms.
    """
    estimates = [two_numbers(result)[which] for result in student.dot_product_variance.draws(150, 1, 20)]
    expect_true(
        torch.tensor(estimates).log().std().item() > 0.44,
        "Over twenty pairs the number varies too little for the variance of twenty dot products.",
    )


def two_numbers(result: object) -> list[float]:
    return [expect_one_number(number) for number in expect_values(result, 2)]


@rule("the first number is the variance of q·k over `samples` pairs of standard normal vectors of length d_k, near d_k")
def test_the_variance_of_dot_products_is_near_d_k(student: Student) -> None:
    """The first number should be the variance of q·k over all pairs, near d_k for any d_k."""
    for d_k, samples in WIDTHS_AND_SAMPLES:
        [result] = student.dot_product_variance.draws(1, d_k, samples)
        plain, _ = expect_values(result, 2)
        expect_number(plain, d_k, margin(d_k, samples))
    expect_scatter(student, 0)


@rule("the second is the variance of q·k / √d_k, near 1")
def test_scaling_brings_the_variance_near_one(student: Student) -> None:
    """The second number should be the variance of q·k / √d_k, near one for any d_k."""
    for d_k, samples in WIDTHS_AND_SAMPLES:
        [result] = student.dot_product_variance.draws(1, d_k, samples)
        _, scaled = expect_values(result, 2)
        expect_number(scaled, 1, margin(d_k, samples) / d_k)
    expect_scatter(student, 1)


@rule("with a generator, every random draw comes from it and advances it")
def test_a_generator_is_drawn_from_and_advances(student: Student) -> None:
    """With a generator, the call should advance its state, and another state should give other numbers."""
    results = []
    for seed in (1, 2):
        generator = student.generator(seed)
        student.seed(3)
        results.append(two_numbers(student.dot_product_variance(D_K, T_K, generator=generator)))
        expect_used(generator, seed)
    expect_true(results[0] != results[1], "Another state of the generator gives the same numbers.")
    # If the function seeds some draws itself, queries and keys are equal for a generator with the same seed, and the
    # variance is twice as large. The relative error of a right estimate, √(2/800), is 1/20 here.
    plain = [two_numbers(student.dot_product_variance(50, 800, student.generator(seed)))[0] for seed in SEEDS]
    expect_true(max(plain) < 1.5 * min(plain), "With some states of the generator the first number is much larger.")


test_contract = contract(
    asking("dot_product_variance", lambda _: [D_K, T_K], lambda _: lambda *_: None,
           lambda result, _: torch.tensor(two_numbers(result), dtype=torch.float64), is_unique=False),
    *generator_draws(
        "numbers", "", "the_same_generator_state_gives_the_same_result", "without_a_generator_the_global_one_is_used"),
    example=Example({"d_k": 6, "samples": 9},
                    also={"generator": "with a generator, every random draw comes from it and advances it"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("standard_deviations", replace(".var()", ".std()", times=2),
        "These are standard deviations. The variance is their square, and the variance grows like d_k."),
    mistake("samples_and_d_k_exchanged", replace("randn(samples, d_k", "randn(d_k, samples", times=2),
        "d_k and samples are swapped: there are d_k pairs, and each vector has as many numbers as there should be "
        "pairs. Draw (samples, d_k), one vector of length d_k in each row, and sum over its numbers."),
    mistake("divided_by_d_k", replace("d_k**0.5", "d_k"),
        "The dot products are divided by d_k itself. That divides their variance by d_k twice. Divide by √d_k, and "
        "the variance is near 1."),
    mistake("half_instead_of_root_in_variance", replace("d_k**0.5", "d_k * 0.5"), HALF),
    mistake("variance_divided_by_root", replace("scaled.var().item()", "dot_products.var().item() / d_k**0.5"),
        "The second number is near √d_k: a root of the variance, or the variance divided by √d_k. Divide the dot "
        "products by √d_k. This divides their variance by d_k."),
    mistake("never_scaled", replace(" / d_k**0.5", ""),
        "The second number is the same as the first. Divide each dot product by √d_k before you measure again."),
    mistake("scaled_both_times", replace("return dot_products.var()", "return scaled.var()"),
        "Both numbers are measured after scaling. The first should show how large the dot products are without "
        "scaling."),
    mistake("scaled_first",
        replace("dot_products.var().item(), scaled.var().item()", "scaled.var().item(), dot_products.var().item()"),
        "The order is wrong: the scaled variance came first. Return the plain variance first, then the scaled one."),
    mistake("vectors_with_themselves", replace("queries * keys", "queries * queries"),
        "The variance is twice too large: it is the variance of q·q, or of a sum of the entries of both vectors. "
        "Draw the keys separately, and multiply each entry of q by its entry of k."),
    mistake("sum_of_squares", replace(".var().item()", ".var().item() * (samples - 1)", times=2),
        "The squares are added up but not divided by their number. A variance is a mean of squares."),
    mistake("uniform_entries", replace("randn(samples", "rand(samples", times=2),
        "`torch.rand` draws uniform numbers. Standard normal numbers, with mean 0 and variance 1, come from "
        "`torch.randn`."),
    mistake("mean_instead_of_sum", replace("sum(dim=-1)", "mean(dim=-1)"),
        "The dot products are divided by d_k: they are averages, or the vectors have length one. A dot product is "
        "the plain sum of the products of the entries, and this sum grows with d_k."),
    mistake("products_never_summed", replace(".sum(dim=-1)", ""),
        "This is the variance of single numbers: of entries, or of products of two entries. A dot product sums such "
        "products over the d_k features. Multiply and sum first, then measure."),
    mistake("summed_over_the_samples", replace("sum(dim=-1)", "sum(dim=0)"),
        "The sum runs over the samples and gives one number for each feature. Sum over the features, the last "
        "dimension, so that each pair has its dot product."),
    mistake("generator_ignored", replace(", generator=generator", "", times=2),
        "The generator is not used. Pass it on to every draw: `torch.randn(…, generator=generator)`."),
    mistake("generator_for_the_queries_only",
        replace("keys = torch.randn(samples, d_k, generator=generator)", "keys = torch.randn(samples, d_k)"),
        "Not every number comes from the generator. Pass it on to every draw: `torch.randn(…, generator=generator)`."),
    mistake("generator_seeded_anew", begun_with("if generator:\n        generator.manual_seed(123)"),
        "The draws are the same for every state of the generator, as if the code set its seed first. The caller "
        "decides about the state."),
    mistake("generator_copied",
        begun_with("generator = generator and torch.Generator().manual_seed(generator.initial_seed())"),
        "The generator decides about the draws but does not advance, as if the code drew from a copy of it. Draw "
        "from the generator that was passed in."),
    mistake("always_the_same_draws", begun_with("generator = generator or torch.Generator()"),
        "Without a generator every call draws the same numbers, as if the code set a seed or made a generator with a "
        "fixed start. None means torch's global generator in its current state."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=6)
def variance_of_many_pairs(unit: Any, draw: Draw) -> Iterator[Property]:
    d_k, samples = (1, 2, 5, 16, 64, 300)[draw.number % 6], 20_000
    generator = draw.pick([], [torch.Generator().manual_seed(draw.number)])
    plain, scaled = unit.dot_product_variance(d_k, samples, *generator)
    # The standard deviation of a variance over `samples` pairs; q·k has an excess kurtosis of 6 / d_k.
    spread = ((2 + 6 / d_k) / samples) ** 0.5
    yield "the variance", Estimate(float(plain), DEVIATIONS * spread * d_k)
    yield "the scaled variance", Estimate(float(scaled), DEVIATIONS * spread)


@probe(draws=4)
def number_of_samples(unit: Any, draw: Draw) -> Iterator[Property]:
    """The spread of the variances shows how many samples each was computed from, and of which quantity."""
    d_k, samples, times = draw.pick(1, draw.size(4, 9)), draw.size(40, 60), 1000
    results = [unit.dot_product_variance(d_k, samples, draw.generator) for _ in range(times)]
    for name, found, expected in zip(("plain", "scaled"), zip(*results, strict=True), (d_k, 1), strict=True):
        spread = torch.tensor([float(one) for one in found], dtype=torch.float64).std() / expected
        yield f"the spread of the {name} variances", Estimate(spread, DEVIATIONS * spread * (2 / times) ** 0.5)


@probe(draws=4)
def where_vectors_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Any:
        return unit.dot_product_variance(d_k, 50, **({} if generator is None else {"generator": generator}))

    d_k = draw.size(1, 9)
    yield from draws_from_generator(result_with, draw.number)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def variance_divided_by_root__and__generator_ignored(d_k, samples, generator=None):
        products = []
        for _ in range(samples):
            q = torch.randn(d_k)
            k = torch.randn(d_k)
            products.append(q @ k)
        variance = torch.stack(products).var()
        return float(variance), float(variance / d_k**0.5)

    def one_query_for_all_keys(d_k, samples, generator=None):
        query = torch.randn(d_k, generator=generator)
        products = torch.randn(samples, d_k, generator=generator) @ query
        return products.var().item(), (products / math.sqrt(d_k)).var().item()

    def absolute_values(d_k, samples, generator=None):
        products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1).abs()
        return products.var().item(), (products / math.sqrt(d_k)).var().item()

    def standard_deviations__vectors_in_columns(d_k, samples, generator=None):
        q = torch.randn(d_k, samples, generator=generator)
        k = torch.randn(d_k, samples, generator=generator)
        products = torch.einsum("ds,ds->s", q, k)
        return torch.std(products), torch.std(products / math.sqrt(d_k))

    def variance_divided_by_root__mean_of_squares(d_k, samples, generator=None):
        products = torch.randn(samples, 2, d_k, generator=generator).prod(dim=1).sum(dim=1)
        variance = products.square().mean() - products.mean() ** 2
        return variance.item(), (variance / math.sqrt(d_k)).item()

    def generator_for_the_queries_only__keys_first(d_k, samples, generator=None):
        k = torch.normal(0.0, 1.0, (samples, d_k))
        q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
        products = torch.einsum("sd,sd->s", q, k)
        return products.var(), products.var() / d_k

    def samples_and_d_k_exchanged__one_by_one(d_k, samples, generator=None):
        q, k = (torch.randn((d_k, samples), generator=generator) for _ in range(2))
        dots = torch.stack([torch.dot(a, b) for a, b in zip(q, k)])
        return torch.var(dots).item(), torch.var(dots / math.sqrt(d_k)).item()


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    def annotated(d_k: int, samples: int, generator: torch.Generator | None = None) -> tuple[float, float]:
        products = (torch.randn(2, samples, d_k, generator=generator)).prod(dim=0).sum(dim=-1)
        return products.var().item(), (products / d_k**0.5).var().item()

    def batched(d_k, samples, generator=None):
        queries = torch.randn(samples, 1, d_k, generator=generator)
        keys = torch.randn(samples, d_k, 1, generator=generator)
        products = torch.bmm(queries, keys).flatten()
        return products.std() ** 2, (products.std() / d_k**0.5) ** 2

    def by_hand(d_k, samples, generator=None):
        products = []
        for _ in range(samples):
            query = torch.randn(d_k, generator=generator)
            key = torch.randn(d_k, generator=generator)
            products.append(float(query @ key))
        mean = sum(products) / samples
        variance = sum((product - mean) ** 2 for product in products) / samples
        scaled = [product / d_k**0.5 for product in products]
        mean = sum(scaled) / samples
        return variance, sum((product - mean) ** 2 for product in scaled) / samples

    def einsum(d_k, samples, generator=None):
        pairs = torch.randn(2, samples, d_k, generator=generator)
        products = torch.einsum("sd,sd->s", pairs[0], pairs[1])
        return torch.var(products, unbiased=False), torch.var(products * d_k**-0.5, unbiased=False)

    def fused(d_k, samples, generator=None):
        # In pieces, so that no tensor is large whatever the caller asks for.
        products = torch.cat(
            [
                torch.randn(d_k, size, generator=generator).mul(torch.randn(d_k, size, generator=generator)).sum(0)
                for size in (len(piece) for piece in torch.arange(samples).split(1000))
            ]
        )
        return float(products.var()), float((products / torch.tensor(d_k).sqrt()).var())
