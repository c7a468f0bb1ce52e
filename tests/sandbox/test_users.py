"""Each student process gets a user id that nobody else has, if the machine has one."""

from __future__ import annotations

import os
import pwd
import sys

import pytest

from grader.sandbox import lockdown

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ids are claimed on Linux")
ALONE = 61234


def test_a_claimed_id_is_not_claimed_again_until_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lockdown.USER_IDS, f"{ALONE}-{ALONE + 1}")
    first, second = lockdown.claim_user(), lockdown.claim_user()
    assert first
    assert second
    assert (first[0], second[0], lockdown.claim_user()) == (ALONE, ALONE + 1, None)
    first[1].close()
    again = lockdown.claim_user()
    assert again
    assert again[0] == ALONE
    for claimed in (second, again):
        claimed[1].close()


def test_an_id_with_an_account_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = next(account.pw_uid for account in pwd.getpwall() if account.pw_uid)
    monkeypatch.setenv(lockdown.USER_IDS, f"{taken}-{taken}")
    assert lockdown.claim_user() is None


def test_an_id_that_is_not_mapped_here_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = "         0       1000          1\n     60500     100000         2\n"
    monkeypatch.setattr(lockdown, "_user_map", lambda: mapped)
    assert [uid for uid in (0, 1, 60499, 60500, 60501, 60502) if lockdown.is_mapped(uid)] == [0, 60500, 60501]
    claimed = lockdown.claim_user()
    assert claimed
    assert claimed[0] == 60500
    claimed[1].close()


@pytest.mark.parametrize("text", ["60000", "7-3", "0-9", "a-b", "-5-9", "1-9999999999"])
def test_an_invalid_range_is_an_error_with_its_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(lockdown.USER_IDS, text)
    with pytest.raises(ValueError, match=f"GRADER_UIDS is '{text}': write two numbers, such as 60000-60999."):
        lockdown.user_ids()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each process a user of its own")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [("x", "GRADER_UIDS is 'x'"), ("1-1", "No user id from 1 to 1 is free here, so student code runs as nobody.")],
)
def test_if_there_is_no_id_the_missing_layer_says_so(
    monkeypatch: pytest.MonkeyPatch, value: str, sentence: str
) -> None:
    monkeypatch.setenv(lockdown.USER_IDS, value)
    missing = lockdown.missing_layers()
    assert sentence in missing["own_user"]
    assert "user" not in missing
