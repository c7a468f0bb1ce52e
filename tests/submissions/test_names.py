"""The ids made from names, and the intended names of misnamed files."""

from __future__ import annotations

import pytest

from grader.submissions.submission import intended_name, student_id

UNITS = ["self_attention", "causal_attention"]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Zoë O'Brien-Müller", "Zoe-OBrien-Muller"),
        ("Zoe\u0308", "Zoe"),
        ("Jürgen Groß, Łukasz Ø.", "Jurgen-Gross-Lukasz-O"),
        ("../../etc", "etc"),
        ("a\n;$(b)", "a-b"),
        ("-x", "x"),
        ("李小龙", ""),
        ("a" * 300, "a" * 100),
    ],
)
def test_an_id_contains_only_characters_that_a_file_name_may_have(name: str, made: str) -> None:
    assert student_id(name) == made


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("Self_Attention.py", "self_attention.py"),
        ("self_attention (1).py", "self_attention.py"),
        ("self_attention.py.txt", "self_attention.py"),
        ("selfAttention - Kopie.PY", "self_attention.py"),
        ("jane self-attention v2.ipynb", "self_attention.ipynb"),
        ("self_attention_quiz (1).md", "self_attention_quiz.md"),
        ("Self Attention Quiz.md.txt", "self_attention_quiz.md"),
        ("Causal_attention.py", "causal_attention.py"),
        ("test_self_attention.py", None),
        ("self_attention.md", None),
        ("self_attention_quiz.py", None),
        ("self_attention.txt", None),
        ("attention.py", None),
    ],
)
def test_the_intended_name_of_a_misnamed_file_is_found(name: str, canonical: str | None) -> None:
    assert intended_name(name, UNITS) == canonical
