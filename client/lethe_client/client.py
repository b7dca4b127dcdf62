"""The client."""

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, TypeAlias

from lethe_client.audit import Audit
from lethe_client.entities import Entities
from lethe_client.erasures import Erasures
from lethe_client.fields import When, time_text
from lethe_client.holds import Holds
from lethe_client.inputs import SearchFilters
from lethe_client.memories import Memories
from lethe_client.models import Health, Subject
from lethe_client.recall_models import RecallResult
from lethe_client.retries import RetryPolicy, Waits
from lethe_client.sessions import Sessions
from lethe_client.subjects import Subjects
from lethe_client.transport import Call, Transport, path_of

Tier: TypeAlias = Literal["session", "entities", "memories"]


class Lethe:
    """A client of one Lethe service with one API key. Safe to share between threads.

    It writes nothing to disk and sends nothing anywhere but to `url`.

        with Lethe("http://127.0.0.1:8700", api_key) as lethe:
            lethe.memories.add("I moved to Lisbon in May.", user_id="alice")
            answer = lethe.recall("Where does she live?", user_id="alice")
            prompt = answer.context + question
    """

    def __init__(
        self,
        url: str,
        api_key: str = "",
        *,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        waits: Waits | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet.

        Args:
            url: where the service answers, such as `https://memory.example.com`.
            api_key: `lk_…`; may be empty for `health()` alone.
            timeout: seconds that one attempt waits for its answer.
            retry: how often and how long to try; `NO_RETRIES` for once.
            waits: the clock of the retries, for tests.

        Raises:
            ValueError: the url is not http(s)://host, or the key could not stand in a header.
        """
        self._transport = Transport(url, api_key, timeout, retry or RetryPolicy(), waits)
        self.sessions = Sessions(self._transport)
        self.memories = Memories(self._transport)
        self.entities = Entities(self._transport)
        self.subjects = Subjects(self._transport)
        self.erasures = Erasures(self._transport)
        self.holds = Holds(self._transport)
        self.audit = Audit(self._transport)

    @property
    def url(self) -> str:
        """Where the service answers."""
        return self._transport.url

    def __repr__(self) -> str:
        return f"Lethe({self._transport.url!r})"

    def __enter__(self) -> "Lethe":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections."""
        self._transport.close()

    def recall(
        self,
        query: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        token_budget: int | None = None,
        tiers: Sequence[Tier] | None = None,
        filters: SearchFilters | None = None,
        as_of: When | None = None,
        explain: bool | None = None,
    ) -> RecallResult:
        """Gather what matters for `query` into one block for the prompt, within `token_budget` tokens."""
        body: dict[str, object] = {
            "user_id": user_id,
            "query": query,
            "session_id": session_id,
            "top_k": top_k,
            "threshold": threshold,
            "token_budget": token_budget,
            "tiers": None if tiers is None else list(tiers),
            "filters": filters,
            "as_of": time_text(as_of),
            "explain": explain,
        }
        return RecallResult.parse(self._transport.send(Call("POST", "/v1/recall", body=body)).body)

    def subject(self, user_id: str) -> Subject:
        """The state of one user's memory, with counts.

        Raises:
            NotFoundError: nothing was ever stored, or it was erased.
        """
        path = path_of("v1", "subjects", user_id)
        return Subject.parse(self._transport.send(Call("GET", path)).body)

    def health(self) -> Health:
        """Whether the service works, and what it runs on. Needs no key."""
        return Health.parse(self._transport.send(Call("GET", "/v1/health")).body)
