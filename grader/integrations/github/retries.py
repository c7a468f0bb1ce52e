"""Which answers of GitHub are worth another try, and how long to wait for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

TRIES = 5

LONGEST_WAIT = 60.0
"""The most seconds between two tries, even if GitHub asks for more."""

REFUSED = frozenset({403, 429})
TRANSIENT = REFUSED | {500, 502, 503, 504}


class GitHubRetry(Retry):
    """Retries also after a 403, if it comes from a rate limit, and waits as long as GitHub asks."""

    def increment(
        self, method: str | None = None, url: str | None = None, response: Any = None, *rest: Any, **more: Any
    ) -> GitHubRetry:
        """Count a try. Give up at once after a 403 that is no limit: then the token lacks a permission."""
        if response is not None and response.status == 403 and self.get_retry_after(response) is None:
            raise MaxRetryError(more["_pool"], url)
        return super().increment(method, url, response, *rest, **more)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait as long as GitHub asks; otherwise twice as long after each try."""
        asked = self.get_retry_after(response) if response else None
        time.sleep(self.get_backoff_time() if asked is None else asked)

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that GitHub asks to wait, up to LONGEST_WAIT; None if it names no limit."""
        headers, wait = response.headers, LONGEST_WAIT
        reset = headers.get("X-RateLimit-Reset", "")
        if headers.get("Retry-After", "").isdigit():
            wait = float(headers["Retry-After"])
        elif headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
            wait = float(reset) - time.time()
        elif b"rate limit" not in response.data.lower():
            return None
        return min(max(0.0, wait), LONGEST_WAIT)


def github_retry(*, once: bool = False) -> Retry:
    """Return the policy for one request. After the last try, the answer is returned as it is.

    With `once`, nothing is tried again that GitHub may have done already.
    """
    return GitHubRetry(
        TRIES - 1,
        read=0 if once else None,
        allowed_methods=None,
        status_forcelist=REFUSED if once else TRANSIENT,
        backoff_factor=1,
        raise_on_status=False,
    )
