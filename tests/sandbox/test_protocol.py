"""Values arrive over the socket unchanged, and malformed messages are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

from grader.sandbox import protocol, replies, values
from grader.sandbox.values import Calls


def sent(value: Any) -> Any:
    """`value` as it arrives on the other side."""
    encoder = values.Encoder()
    reply = protocol.Reply(1, [encoder.encode(value)])
    frame = protocol.pack_reply(reply, encoder.data)
    assert len(frame) == protocol.HEADER.size + sum(protocol.HEADER.unpack_from(frame))
    text, data = protocol.halves(frame)
    [arrived] = replies.values_of(protocol.parse(protocol.unpack_reply(text), protocol.Reply), data)
    return arrived


def decoded(value: Any, data: bytes = b"") -> Any:
    """The value of a reply that was written by hand."""
    return replies.values_of(protocol.Reply(1, [value]), data)[0]


def refusal(action: Callable[[], Any]) -> str:
    with pytest.raises(protocol.ProtocolError) as caught:
        action()
    return str(caught.value)


# -- values that are sent -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", values.TENSORS.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (2, 0, 3), (1, 1, 1, 1)], ids=str)
def test_a_tensor_of_every_dtype_and_shape_arrives_bit_for_bit(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    tensor = (torch.arange(math.prod(shape)) - 3).reshape(shape).to(dtype)
    arrived = sent(tensor)
    assert (arrived.dtype, arrived.shape) == (dtype, shape)
    assert torch.equal(arrived, tensor)


def test_nan_and_infinity_arrive_in_tensors_and_alone() -> None:
    assert torch.equal(sent(torch.tensor([math.inf, -math.inf])), torch.tensor([math.inf, -math.inf]))
    assert sent(torch.tensor(math.nan)).isnan()
    assert math.isnan(sent(math.nan))
    assert sent([math.inf, -math.inf]) == [math.inf, -math.inf]


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -(2**63) + 1, 2**63 - 1, 0.1, "", "naïve \0 \ud800 🙂", [], (), {}, torch.float64,
        [1, (2.5, [None, "x"]), {"a": (True,), 3: {}}],
        set(), {1, (2, 3)}, frozenset({1.5, frozenset({2})}), b"", b"\0\xff text",
        {(0, 1): {2}, b"key": 3, frozenset({4}): 5, math.inf: 6},
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_and_nested_containers_arrive_equal_and_of_the_same_type(value: Any) -> None:
    arrived = sent(value)
    assert arrived == value
    assert type(arrived) is type(value)


def test_tensors_in_containers_arrive_in_their_places() -> None:
    arrived = sent({"first": torch.tensor(1), "rest": (torch.tensor([2.0]), [torch.tensor(3)])})
    assert (arrived["first"].item(), arrived["rest"][0].item(), arrived["rest"][1][0].item()) == (1, 2.0, 3)


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)], ids=str)
def test_a_permuted_view_arrives_with_its_memory_layout(order: tuple[int, ...]) -> None:
    view = torch.randn(2, 3, 4).permute(order)
    arrived = sent(view)
    assert arrived.stride() == view.stride()
    assert torch.equal(arrived, view)


def test_other_views_arrive_with_the_same_values() -> None:
    base = torch.randn(4, 6)
    for view in (base[:, ::2], base[0].expand(5, 6), base.to(torch.complex64).conj().imag, base[1:3].T):
        assert torch.equal(sent(view), view)


def test_a_tensor_that_requires_gradients_arrives_as_plain_values() -> None:
    arrived = sent(torch.nn.Parameter(torch.ones(2)))
    assert type(arrived) is torch.Tensor
    assert not arrived.requires_grad


@pytest.mark.parametrize("dtype", values.NUMPY_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 3)], ids=str)
def test_a_numpy_array_of_every_dtype_and_shape_arrives_unchanged(dtype: Any, shape: tuple[int, ...]) -> None:
    array = numpy.arange(math.prod(shape)).reshape(shape).astype(dtype)
    arrived = sent(array)
    assert (type(arrived), arrived.dtype, arrived.shape) == (numpy.ndarray, dtype, shape)
    assert numpy.array_equal(arrived, array)


def test_views_of_numpy_arrays_arrive_with_the_same_values() -> None:
    base = numpy.arange(24.0).reshape(4, 6)
    for view in (base[::-1], base.T, base[:, ::2], numpy.asfortranarray(base), numpy.broadcast_to(base[0], (5, 6))):
        assert numpy.array_equal(sent(view), view)


@pytest.mark.parametrize(
    "number", [numpy.float32(0.5), numpy.int64(-3), numpy.uint16(65535), numpy.bool_(True)], ids=repr
)
def test_a_numpy_number_arrives_as_a_numpy_number(number: Any) -> None:
    arrived = sent({"number": number, "keys": {number}})
    assert arrived == {"number": number, "keys": {number}}
    assert type(arrived["number"]) is type(number)


def test_a_numpy_float64_arrives_as_a_float() -> None:
    assert type(sent(numpy.float64(0.5))) is float


def test_a_value_that_cannot_be_sent_is_held_and_referred_to_by_a_handle() -> None:
    class Secret: ...

    held: list[Any] = []

    def hold(value: Any) -> values.Handle:
        held.append(value)
        return values.Handle(len(held) - 1, ("module.Secret",))

    secret = Secret()
    encoded = values.Encoder(hold).encode([secret])
    assert held == [secret]
    arrived = values.Decoder(b"").decode(json.loads(json.dumps(encoded)))
    assert (arrived[0].number, arrived[0].kinds) == (0, ("module.Secret",))
    assert values.Decoder(b"", lambda handle: held[handle.number]).decode(encoded) == [secret]


# -- values that lie ------------------------------------------------------------------------------------------


def test_a_tensor_subclass_that_lies_arrives_as_torch_itself_sees_it() -> None:
    class Liar(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return True

        @property
        def shape(self) -> Any:  # type: ignore[override]
            return torch.Size([7, 7])

        @property
        def dtype(self) -> Any:  # type: ignore[override]
            return torch.int8

        def __eq__(self, _: object) -> bool:  # type: ignore[override]
            return True

        __hash__ = torch.Tensor.__hash__

    arrived = sent(torch.tensor([1.0, 2.0]).as_subclass(Liar))
    assert type(arrived) is torch.Tensor
    assert torch.equal(arrived, torch.tensor([1.0, 2.0]))


def test_subclasses_of_plain_types_that_lie_arrive_as_their_real_values() -> None:
    class LyingInt(int):
        def __int__(self) -> int:
            return 42

        __abs__ = __index__ = __int__

        def __eq__(self, _: object) -> bool:
            return True

        __hash__ = int.__hash__

    class LyingFloat(float):
        def __float__(self) -> float:
            return 42.0

        def __repr__(self) -> str:
            return "42.0"

    class LyingText(str):
        def __str__(self) -> str:
            return "42"

    class LyingList(list[int]):
        def __iter__(self) -> Any:
            return iter([42])

        def __len__(self) -> int:
            return 1

    class LyingDict(dict[int, int]):
        def items(self) -> Any:
            return [("42", 42)]

        __iter__ = keys = items

    class LyingSet(set[int]):
        def __iter__(self) -> Any:
            return iter([42])

    class LyingTuple(tuple[int, ...]):
        def __iter__(self) -> Any:
            return iter([42])

    value = [
        LyingInt(1),
        LyingFloat(0.5),
        LyingText("a"),
        LyingList([1, 2]),
        LyingDict(a=1),
        LyingTuple((1, 2)),
        LyingSet({1}),
    ]
    arrived = sent(value)
    assert [type(one) for one in arrived] == [int, float, str, list, dict, tuple, set]
    assert arrived == [1, 0.5, "a", [1, 2], {"a": 1}, (1, 2), {1}]


def test_an_object_that_claims_to_be_a_tensor_is_refused_as_one() -> None:
    class Liar:
        __class__ = torch.Tensor  # type: ignore[assignment]
        layout = is_quantized = is_meta = is_nested = None

    assert refusal(lambda: sent(Liar())) == "a tensor that is sparse, quantised, nested or without data"


# -- values that are refused ----------------------------------------------------------------------------------


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def in_itself() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


STRANGE = "a tensor that is sparse, quantised, nested or without data"
LARGE, TOO_MANY = "a tensor of more than 16 MB", "more than 1,000 tensors"
VALUES, ROWS = "more than 10,000 values", "a tensor of more than 10,000 empty rows"
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: torch.eye(2).to_sparse(), STRANGE),
    (lambda: torch.ones(2, device="meta"), STRANGE),
    (lambda: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8), STRANGE),
    (lambda: torch.ones(2, dtype=torch.complex64), "a tensor of dtype torch.complex64"),
    (lambda: torch.ones([1] * 17), "a tensor of 17 dimensions"),
    (lambda: torch.ones(1).expand(2**30), LARGE),
    (lambda: torch.empty(2**22 + 1), LARGE),
    (lambda: [torch.empty(2**21) for _ in range(3)], "tensors of more than 16 MB"),
    (lambda: "x" * 2**22, "a message of more than 4 MB"),
    (lambda: nested(30), "a value nested deeper than 20 levels"),
    (in_itself, "a value nested deeper than 20 levels"),
    (lambda: 2**63, "an int of more than 64 bits"),
    (lambda: -(10**400), "an int of more than 64 bits"),
    (lambda: object(), "a object, which cannot be sent"),
    (lambda: (n for n in range(3)), "a generator, which cannot be sent"),
    (lambda: numpy.ones(2, dtype=complex), "an array of dtype complex128"),
    (lambda: numpy.array(["a"]), "an array of dtype <U1"),
    (lambda: numpy.array([object()]), "an array of dtype object"),
    (lambda: numpy.ones(2, dtype=">f8"), "an array of dtype >f8"),
    (lambda: numpy.ones([1] * 17), "a tensor of 17 dimensions"),
    (lambda: numpy.broadcast_to(1.0, 2**30), LARGE),
    (lambda: b"x" * (2**24 + 1), LARGE),
    (lambda: {torch.ones(1): 1}, "a dict or set in which a key is neither text, a number nor a tuple"),
    # What is slow to decode.
    (lambda: [1] * 10_000, VALUES),
    (lambda: {number: number for number in range(5000)}, VALUES),
    (lambda: {*range(10_000)}, VALUES),
    (lambda: [torch.ones(1)] * 1001, TOO_MANY),
    (lambda: [numpy.ones(1)] * 1001, TOO_MANY),
    (lambda: [b"x"] * 1001, TOO_MANY),
    (lambda: numpy.ones((10_001, 0)), ROWS),
    (lambda: torch.ones(10_001, 0), ROWS),
    (lambda: torch.ones(200, 0, 200), ROWS),
]


@pytest.mark.parametrize(("make", "sentence"), REFUSED)
@pytest.mark.filterwarnings("ignore")  # torch deprecates quantised tensors
def test_a_value_that_cannot_be_sent_is_refused_with_a_reason(make: Callable[[], Any], sentence: str) -> None:
    assert refusal(lambda: sent(make())) == sentence


def test_a_request_may_be_larger_than_a_reply() -> None:
    message = {"sources": ["x" * 2**20] * 8, "numbers": [*range(10**5)]}
    text, _ = protocol.halves(protocol.pack(message))
    assert protocol.unpack(text) == message


def test_tensors_without_bytes_count_too() -> None:
    references = ["list", *[["tensor", "float32", [0]]] * 1001]
    assert refusal(lambda: decoded(references)) == "more than 1,000 tensors"


def test_calls_may_still_be_sent_after_one_that_could_not() -> None:
    calls = Calls()
    calls.add("first", value=torch.ones(2))
    refusal(lambda: calls.add("second", value=[torch.zeros(3), object()]))
    calls.add("third", value=torch.arange(4))
    decoder = values.Decoder(calls.data)
    assert [operation for operation, _ in calls.encoded] == ["first", "third"]
    found = [decoder.decode(details["value"]) for _, details in calls.encoded]
    assert torch.equal(found[0], torch.ones(2))
    assert torch.equal(found[1], torch.arange(4))


# -- malformed frames -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2**22 + 1, 0), (2**32 - 1, 2**32 - 1), (2, 2**32 - 1), (2, 2**24 + 1)], ids=str)
def test_claimed_sizes_beyond_the_limits_are_refused_before_anything_is_read(sizes: tuple[int, int]) -> None:
    assert "more than" in refusal(lambda: protocol.check_sizes(*sizes))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"\xff\xfe", b'{"a": NaN}', b'{"a": -Infinity}', b"[" * 10**6,
        b'{"a":' * 10**5, b'{"a": 9223372036854775808}', b'{"a": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_a_message_that_is_not_valid_json_is_refused(text: bytes) -> None:
    assert refusal(lambda: protocol.unpack(text)).startswith("a message that is not")


@pytest.mark.parametrize(
    "value",
    [
        [1], [], {}, {"list": []}, ["unknown", 1], [["list"]], ["tensor"], ["tensor", 0], ["tensor", -1],
        ["tensor", True], ["tensor", "0"], ["dict", 1], ["dict", ["list"], 1], ["set", ["list"]],
        ["set", ["tuple", ["dict"]]], ["frozenset", ["handle", 0]],
        ["float", "1e5"], ["float"], ["dtype", "complex64"], ["dtype", "uint16"],
        ["dtype"], ["handle", "0"], ["handle"], ["handle", 0, 1], ["handle", 0, *["x"] * 21], ["handle", 0, "x" * 201],
        ["array", 0], ["scalar", 0], ["bytes", "0"], ["bytes"], ["tensor", "float32"],
    ],
    ids=str,
)  # fmt: skip
def test_a_malformed_value_is_refused(value: Any) -> None:
    refusal(lambda: decoded(value))


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0, "1"], [False, True], [0.0, 1.0], "01", {"a": 1}], ids=str)
def test_an_invalid_permutation_is_refused(order: Any) -> None:
    assert "permutation" in refusal(lambda: decoded(["tensor", "float32", [2, 3], order], bytes(24)))


def test_a_value_nested_too_deeply_is_refused_on_arrival() -> None:
    value: Any = None
    for _ in range(100):
        value = ["list", value]
    assert "nested" in refusal(lambda: decoded(value))


def described(dtype: Any = "float32", shape: Any = (2,), *order: Any) -> list[Any]:
    return ["tensor", dtype, list(shape) if isinstance(shape, tuple) else shape, *order]


def test_the_tensor_that_the_next_test_damages_is_valid() -> None:
    assert torch.equal(decoded(described(), bytes(8)), torch.zeros(2))


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (described(), bytes(7)),
        (described(), bytes(9)),
        (described(), b""),
        (described("float8_e4m3fn", (8,)), bytes(8)),
        (described("complex64", (1,)), bytes(8)),
        (described("uint16", (4,)), bytes(8)),
        (described(["float32"]), bytes(8)),
        (described(shape=(3,)), bytes(8)),
        (described(shape=(-2,)), bytes(8)),
        (described(shape=(-1, -2)), bytes(8)),
        (described(shape=(True, 2)), bytes(8)),
        (described(shape=(2.0,)), bytes(8)),
        (described(shape="2"), bytes(8)),
        (described(shape=2), bytes(8)),
        (described(shape=(2**40,) * 3), bytes(8)),
        (described(shape=(2**62, 4)), bytes(8)),
        (described(shape=(1,) * 17 + (2,)), bytes(8)),
        (described(shape=(0, 2**40, 2**40)), b""),
        (["array", "bfloat16", [4]], bytes(8)),
        (["scalar", "float32", [2]], bytes(8)),
        (["bytes", 9], bytes(8)),
        (["bytes", -8], bytes(8)),
        (["bytes", [8]], bytes(8)),
        (["bytes", 4, 4], bytes(8)),
        (["tuple", described(), described()], bytes(8)),
        (["tuple", described()], bytes(16)),
        (["tuple", ["bytes", 2**40], ["bytes", 8]], bytes(8)),
    ],
    ids=str,
)
def test_tensors_that_do_not_fit_their_bytes_are_refused(value: Any, data: bytes) -> None:
    refusal(lambda: decoded(value, data))
