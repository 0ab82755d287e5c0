"""What an answer of the server means for us: whether to ask again, and when."""

from __future__ import annotations

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from sylk_ray.knowledge.vectors.retrying import Failure


def failure_of(error: Exception) -> Failure | None:
    """None for what is no answer of a server: that is a mistake of ours."""
    match error:
        case ResourceExhaustedResponse():
            return Failure("it is asked too much (429)", again=True, after_s=float(error.retry_after_s))
        case UnexpectedResponse():
            return _failure_of_status(error)
        case ResponseHandlingException():
            source = error.source
            if isinstance(source, httpx.TransportError):
                return Failure(f"{type(source).__name__}: {source}", again=True)
            return Failure(f"it answers what is no answer of Qdrant ({type(source).__name__})")
        case QdrantException():
            # A Retry-After that is a date and no number of seconds.
            return Failure("it is asked too much (429)", again=True)
        case _:
            return None


def _failure_of_status(error: UnexpectedResponse) -> Failure:
    status = error.status_code or 0
    said = error.content[:300].decode(errors="replace").strip()
    why = f"{status} {said}".strip()
    if status in (401, 403):
        return Failure(why, refused=True)
    if status == 429 or status >= 500:
        after = error.headers.get("retry-after", "") if error.headers else ""
        return Failure(why, again=True, after_s=float(after) if after.isdigit() else None)
    return Failure(why)
