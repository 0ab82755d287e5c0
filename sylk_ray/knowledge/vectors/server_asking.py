"""Asking a Qdrant server, again where that may help, and what to raise when it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from sylk_ray.knowledge.vectors.errors import VectorServerRefused, VectorServerUnreachable, VectorStoreFailed
from sylk_ray.knowledge.vectors.retrying import Failure, Retrying
from sylk_ray.knowledge.vectors.server_failures import failure_of

PAGE = 5_000
API_KEY = "QDRANT_API_KEY"

T = TypeVar("T")


class Asking:
    """A client, and where it asks, for errors."""

    def __init__(self, client: QdrantClient, where: str, retrying: Retrying) -> None:
        self.client = client
        self.where = where
        self._retrying = retrying

    def ask(self, do: Callable[[], T]) -> T:
        """Raises VectorServerRefused, VectorServerUnreachable, VectorStoreFailed."""
        done = self._retrying.run(do, failure_of)
        if not isinstance(done, Failure):
            return done
        if done.refused:
            raise VectorServerRefused(
                f"{self.where} does not let us in: {done.why}", hint=f"give its key in the environment as {API_KEY}"
            )
        if done.again:
            raise VectorServerUnreachable(
                f"{self.where} does not answer: {done.why}",
                hint="see whether it runs and can be reached from here; nothing is lost, what was not written is again",
            )
        raise VectorStoreFailed(f"{self.where} could not do it: {done.why}", hint="the server's log says more")

    def create(self, name: str, create: Callable[[], object]) -> None:
        """A collection; that it was made by a request whose answer was lost is no error."""

        def once() -> None:
            try:
                create()
            except UnexpectedResponse as error:
                if error.status_code != 409 and not self.client.collection_exists(name):
                    raise

        self.ask(once)

    def scroll(self, name: str, where: models.Filter | None, payload: Any) -> Iterator[models.Record]:
        offset: Any = None

        def page() -> tuple[list[models.Record], Any]:
            return self.client.scroll(name, where, limit=PAGE, offset=offset, with_payload=payload, with_vectors=False)

        while True:
            records, offset = self.ask(page)
            yield from records
            if offset is None:
                return
