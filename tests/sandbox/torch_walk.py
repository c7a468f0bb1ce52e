"""Uses what torch offers, one public name after the other, with arguments that many of them take.

Runs in a process of its own and as a student's code in an isolated one, so it needs nothing but torch.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import torch

MODULES = (
    "torch", "torch.amp", "torch.autograd", "torch.autograd.forward_ad", "torch.autograd.functional",
    "torch.autograd.graph", "torch.compiler", "torch.distributions", "torch.fft", "torch.func", "torch.linalg",
    "torch.masked", "torch.nested", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
    "torch.nn.utils.parametrizations", "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.nn.utils.rnn",
    "torch.nn.utils.stateless", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils",
    "torch.overrides", "torch.random", "torch.signal.windows", "torch.sparse", "torch.special", "torch.Tensor",
    "torch.testing", "torch.utils.checkpoint", "torch.utils.data", "torch.utils.flop_counter",
)  # fmt: skip
# They change how everything after them works, or with some arguments never end, or end the process.
SKIPPED = ("set_", "use_deterministic_algorithms", "compile", "PyTorchFile", "VonMises", "save")
# Uses of each name.
ENOUGH = 2

STATEMENTS = (
    "with torch.device('cpu'): torch.ones(2)",
    "with torch.device('meta'): torch.nn.TransformerEncoderLayer(4, 2)(torch.ones(1, 3, 4)).sum()",
    "torch.set_default_device('cpu'); torch.ones(2)",
    "torch.set_default_dtype(torch.float32)",
    "torch.use_deterministic_algorithms(True); torch.use_deterministic_algorithms(False)",
    "torch.set_float32_matmul_precision('high')",
    "torch.set_printoptions(precision=2); str(torch.rand(2)); torch.set_printoptions(profile='default')",
    "torch.ones(2, requires_grad=True).mul(2).backward(torch.ones(2))",
    "torch.nn.Linear(2, 2, device='meta').to_empty(device='cpu')",
    "torch.nn.utils.skip_init(torch.nn.Linear, 2, 2)",
    "torch.vmap(torch.func.grad(lambda x: (x**2).sum()))(torch.ones(2, 3))",
    "torch.vmap(lambda x: x + torch.rand(2), randomness='different')(torch.ones(2, 2))",
    "torch.vmap(lambda x: x.softmax(-1), chunk_size=1)(torch.ones(2, 3))",
    "torch.func.jvp(lambda x: x * 2, (torch.ones(3),), (torch.ones(3),))",
    "torch.func.hessian(lambda x: (x**3).sum())(torch.ones(3))",
    "torch.func.hessian(lambda x: (x.softmax(-1) ** 2).sum())(torch.ones(3))",
    "torch.func.linearize(lambda x: x * 2, torch.ones(3))",
    "m = torch.nn.Linear(3, 3); torch.func.functional_call(m, dict(m.named_parameters()), torch.ones(3))",
    "torch.autograd.functional.jacobian(lambda x: x * 2, torch.ones(3), vectorize=True)",
    "torch.autograd.gradcheck(lambda x: x * x, (torch.ones(3, dtype=torch.double, requires_grad=True),))",
    "with torch.autograd.detect_anomaly(): torch.ones(2, requires_grad=True).sum().backward()",
    "with torch.autograd.graph.save_on_cpu(): torch.ones(2, requires_grad=True).sum().backward()",
    "with torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)",
    "with torch.autocast('cpu', dtype=torch.float16): torch.nn.Linear(2, 2)(torch.ones(2, 2))",
    "with torch.profiler.profile(): torch.ones(2)",
    "from torch.utils.checkpoint import checkpoint\n"
    "x = torch.ones(2, requires_grad=True)\n"
    "for reentrant in (True, False): checkpoint(torch.neg, x, use_reentrant=reentrant).sum().backward()",
    "from torch.utils.checkpoint import checkpoint_sequential\n"
    "checkpoint_sequential(torch.nn.Sequential(torch.nn.Linear(2, 2)), 1, torch.ones(2), use_reentrant=False)",
    "import torch.nn.utils.parametrize as P\n"
    "P.register_parametrization(torch.nn.Linear(3, 3), 'weight', torch.nn.ReLU())\nwith P.cached(): pass",
    "import torch.nn.utils.prune as prune; prune.l1_unstructured(torch.nn.Linear(3, 3), 'weight', 0.5)",
    "torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).rsample()",
    "D = torch.distributions; D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(0.0, 2.0))",
    "torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).sample()",
    "torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])).sum()",
    "str(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged) * 2)",
    "str(torch.sparse.mm(torch.eye(2).to_sparse(), torch.eye(2)))",
    "torch.testing.assert_close(torch.ones(2), torch.ones(2))",
    "import copy, pickle; copy.deepcopy(pickle.loads(pickle.dumps(torch.nn.Linear(2, 2))))",
    "import io; b = io.BytesIO(); torch.save(torch.nn.Linear(2, 2).state_dict(), b); b.seek(0); torch.load(b)",
    "import io; b = io.BytesIO(); torch.save(torch.nn.ReLU(), b); b.seek(0); torch.load(b, weights_only=False)",
    "torch.jit.script(torch.nn.Linear(2, 2))(torch.ones(2))",
    "torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(2))(torch.ones(2))",
    "torch.fx.symbolic_trace(torch.nn.Linear(2, 2))(torch.ones(2))",
    "torch.export.export(torch.nn.Linear(2, 2), (torch.ones(2),))",
    "torch.compiler.disable(torch.neg)(torch.ones(2)); torch.compiler.is_compiling()",
    "torch.compiler.reset()",
    "torch.nn.Linear(2, 2).compile()",
    "import torch._dynamo; torch._dynamo.config.suppress_errors = True; torch._dynamo.reset()",
    "torch.ao.quantization.quantize_dynamic(torch.nn.Linear(2, 2))",
    "str(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))",
    "with torch.random.fork_rng(): torch.manual_seed(0); torch.rand(2)",
    "D = torch.utils.data; next(iter(D.DataLoader(D.TensorDataset(torch.ones(4, 2)), 2, shuffle=True, num_workers=2)))",
    "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
    "q = torch.ones(1, 2, 3, 4)\n"
    "with sdpa_kernel(SDPBackend.MATH): torch.nn.functional.scaled_dot_product_attention(q, q, q)",
    "from torch.nn.attention.bias import causal_lower_right\n"
    "q = torch.ones(1, 2, 3, 4)\n"
    "torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=causal_lower_right(3, 3))",
    "from torch.nn.attention.flex_attention import create_block_mask\n"
    "create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 8, 8, device='cpu')",
    "from torch.nn.attention.flex_attention import flex_attention; flex_attention(*[torch.ones(1, 1, 16, 16)] * 3)",
    "from torch.utils.flop_counter import FlopCounterMode\n"
    "with FlopCounterMode(display=False): torch.ones(2, 2) @ torch.ones(2, 2)",
    "from torch.utils._python_dispatch import TorchDispatchMode\n"
    "class M(TorchDispatchMode):\n"
    "    def __torch_dispatch__(self, f, types, a=(), k=None): return f(*a, **(k or {}))\n"
    "with M(): torch.ones(2) + 1",
    "@torch.library.custom_op('walked::one', mutates_args=())\n"
    "def f(x: torch.Tensor) -> torch.Tensor: return x.clone()\nf(torch.ones(2))",
    "class F(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(c, x): return x * 2\n"
    "    @staticmethod\n    def backward(c, g): return g\n"
    "F.apply(torch.ones(2, requires_grad=True)).sum().backward()",
    "from torch.utils.benchmark import Timer; Timer('1').timeit(2)",
    "torch.backends.mps.is_available(), torch.cuda.is_available(), torch.cuda.device_count()",
    "torch.accelerator.is_available()",
    "torch.backends.cudnn.deterministic = True; torch.cuda.manual_seed_all(0); torch.cuda.empty_cache()",
    "torch.__config__.show(); torch.get_num_threads()",
    "p = [torch.nn.Parameter(torch.ones(2))]\n"
    "for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):\n"
    "    o = kind(p, lr=0.1); s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 5)\n"
    "    p[0].sum().backward(); o.step(); s.step(); o.zero_grad(); o.load_state_dict(o.state_dict())",
)  # fmt: skip


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the uses, each with a name."""
    for statement in STATEMENTS:
        yield statement, lambda statement=statement: exec(statement, {"torch": torch})  # type: ignore[misc]
    for module in MODULES:
        owner, found = None, module
        with contextlib.suppress(ImportError):  # not in every version
            owner = torch.Tensor if module == "torch.Tensor" else importlib.import_module(module)
        for name in sorted(set(getattr(owner, "__all__", dir(owner)))) if owner else ():
            one = getattr(owner, name, None)
            if name.startswith(("_", *SKIPPED)) or not callable(one):
                continue
            for number in range(len(arguments())):
                yield f"{found}.{name} {number}", lambda one=one, number=number: use(one(*arguments()[number]))  # type: ignore[misc]


def arguments() -> list[tuple[object, ...]]:
    """Return new arguments, each of which many functions take."""
    numbers = torch.arange(16.0).reshape(4, 4) / 16 + 0.01
    leaf = numbers.clone().requires_grad_()
    positive = numbers @ numbers.T + torch.eye(4)
    layer = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    classes = torch.tensor([0, 1, 2, 3])
    return [
        (), (numbers,), (leaf, numbers), (leaf, classes), (numbers, positive, numbers), (numbers, 1), (numbers, 1, 2),
        ([numbers, numbers],), (4,), (4, 4), (4, 4, 2), (0.5, 0.5), (torch.sin,), (torch.sin, numbers),
        (torch.sin, (numbers,), (numbers,)), (layer,), (layer, "weight"), (layer.parameters(),), (optimizer,),
        (optimizer, 2), (optimizer, lambda _: 0.5),
    ]  # fmt: skip


def use(made: object) -> None:
    """Use what a call has returned as one would: call it, take a step with it, draw from it, or enter it."""
    numbers = torch.arange(16.0).reshape(4, 4) / 16
    if isinstance(made, torch.nn.Module | types.FunctionType):
        for given in ((numbers,), (numbers.reshape(1, 4, 4),), (numbers, numbers), (numbers, numbers, numbers)):
            with contextlib.suppress(TypeError, ValueError, RuntimeError, IndexError):
                result = made(*given)
                if isinstance(result, torch.Tensor) and result.requires_grad:
                    result.backward(torch.ones_like(result))
    elif isinstance(made, torch.Tensor):
        str(made)
        if made.requires_grad and made.is_floating_point():
            made.backward(torch.ones_like(made))
    elif isinstance(made, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
        made.step()
    elif isinstance(made, torch.distributions.Distribution):
        made.log_prob(made.sample())
    elif isinstance(made, contextlib.AbstractContextManager):
        with made:
            (numbers.requires_grad_() * 2).sum()


def works(one: Callable[[], object]) -> str:
    """Try a use. Return "" if it works, and otherwise the error."""
    torch.manual_seed(0)
    torch.distributions.Distribution.set_default_validate_args(True)  # importing a compiler changes it
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            one()
    except Exception as error:  # most arguments are of the wrong kind
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def failures(names: list[str]) -> dict[str, str]:
    """Try these uses, and return the errors of those that do not work."""
    wanted = set(names)
    found = ((name, works(one)) for name, one in cases() if name in wanted)
    return {name: error for name, error in found if error}


if __name__ == "__main__":
    real = os.dup(1)
    os.dup2(2, 1)  # some print
    torch.set_num_threads(1)
    found: Counter[str] = Counter()
    with os.fdopen(real, "w") as output:
        for name, one in cases():
            function = name.rpartition(" ")[0]
            if found[function] < ENOUGH and not works(one):
                found[function] += name not in STATEMENTS
                output.write(f"{name}\0")
