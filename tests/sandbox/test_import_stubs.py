"""Libraries that draw or report progress are import stubs; any other missing library is an error with a sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.sandbox.failures import Raised
from grader.sandbox.sandbox_client import SandboxClient
from grader.testing.student import Student

Opens = Callable[..., SandboxClient]


def failures(client: SandboxClient) -> list[str]:
    client.load("answers")
    return [f"line {lost.line}: {lost.detail}" for lost in client.failures["answers"]]


@pytest.mark.parametrize(
    "source",
    [
        "import matplotlib.pyplot as plt\nfig, axes = plt.subplots(figsize=(4, 3))\naxes.plot([1], [2])\nplt.show()",
        "import matplotlib\nmatplotlib.use('Agg')\nfrom mpl_toolkits.mplot3d import Axes3D",
        "from matplotlib import pyplot\nwith pyplot.style.context('x') as style:\n    pyplot.title('a' + style)",
        "import pandas as pd\nframe = pd.DataFrame({'a': [1]})\nframe['b'] = frame['a'] * 2 - 1\nprint(len(frame))",
        "from IPython.display import display, HTML\ndisplay(HTML('x'))",
        "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(1)",
    ],
)
def test_libraries_that_draw_do_nothing_and_raise_nothing(open_client: Opens, source: str) -> None:
    assert failures(open_client(source)) == []


def test_a_progress_bar_yields_the_items_of_its_iterable(open_client: Opens) -> None:
    source = (
        "from tqdm import tqdm, trange\nfrom tqdm.auto import tqdm as automatic\n"
        "with tqdm([1, 2]) as bar:\n    bar.set_description('x')\n"
        "a = list(tqdm([1, 2])) + list(trange(2)) + list(automatic([3])) + [len(tqdm([1]))]\n"
        "def f(): return a"
    )
    assert Student(open_client(source), "answers").f() == [1, 2, 0, 1, 3, 1]


def test_functions_of_a_marimo_notebook_are_defined(open_client: Opens) -> None:
    source = (
        "import marimo\napp = marimo.App(width='medium')\nwith app.setup:\n    import torch\n"
        "@app.function\ndef f():\n    return torch.ones(1)\n"
        "@app.function(hide_code=True)\ndef g():\n    return 2\n"
        "@app.cell\ndef _(mo):\n    mo.md('x')\n    return\n"
        "if __name__ == '__main__':\n    app.run()\n"
    )
    assert failures(open_client(source)) == []
    assert Student(open_client(source), "answers").g() == 2


def test_the_standard_library_torch_and_numpy_can_be_imported(open_client: Opens) -> None:
    source = (
        "import torch, numpy as np, math, random, json, csv, re, itertools, functools, collections, typing\n"
        "import dataclasses, statistics, unittest.mock, logging, pathlib, decimal, fractions, asyncio, sqlite3\n"
        "import torch.nn.functional as F, torch.optim, torch.utils.data, xml.etree.ElementTree, concurrent.futures\n"
        "import importlib.metadata\nassert importlib.metadata.version('torch') == torch.__version__\n"
    )
    assert failures(open_client(source)) == []


@pytest.mark.parametrize("name", ["tiktoken", "grader.course.model", "grader.suites", "pytest", "solutions"])
def test_any_other_library_is_missing_and_the_error_lists_the_available_ones(open_client: Opens, name: str) -> None:
    client = open_client(f"import {name}")
    [failure] = failures(client)
    assert (
        "While grading, only your files, the standard library, torch and numpy can be imported, and stubs of matplotlib"
        in failure
    )


@pytest.mark.parametrize("name", ["torch.no_such_module", "torch.utils.tensorboard", "numpy.no_such_module"])
def test_a_missing_part_of_an_available_library_is_not_called_another_library(open_client: Opens, name: str) -> None:
    [failure] = failures(open_client(f"import {name}"))
    package = name.partition(".")[0]
    sentence = f"While grading, `{package}` has only what needs no files, processes or compilers"
    assert failure.endswith(f"No module named {name!r}. {sentence}")


def test_what_torch_imports_only_to_leave_it_unused_can_be_imported(open_client: Opens) -> None:
    source = (
        "import torch._dynamo, torch._inductor.config\ntorch._dynamo.config.suppress_errors = True\n"
        "@torch._dynamo.disable\ndef f(): return 1\n@torch._dynamo.disable(recursive=False)\ndef g(): return 2\n"
        "def h(): return [f(), g(), isinstance(f, torch._dynamo.OptimizedModule), bool(torch._dynamo.is_compiling())]"
    )
    assert Student(open_client(source), "answers").h() == [1, 2, False, False]


def test_a_unit_can_import_other_units_by_name(open_client: Opens) -> None:
    client = open_client(
        {"first": "def one(): return 1", "second": "from first import one\ndef two(): return one() + 1"}
    )
    client.load("second")
    assert Student(client, "second").two() == 2


def test_a_broken_unit_costs_only_the_code_that_imports_it(open_client: Opens) -> None:
    client = open_client(
        {"first": "one = 1 / 0", "second": "from first import one\ndef two(): return 2\ndef f(): return one"}
    )
    assert Student(client, "second").two() == 2
    with pytest.raises(Raised) as caught:
        Student(client, "second").f()
    assert caught.value.types[0] == "NameError"
