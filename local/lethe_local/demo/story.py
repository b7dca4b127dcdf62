"""Tells the story in order, and sums it up."""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from lethe.services.access import Access
from lethe_client import ExplainedCandidate, Lethe
from lethe_local.demo.ask import Asked, ask_all
from lethe_local.demo.content import Conversation, load_conversation
from lethe_local.demo.forget import Callers, forget, prove, return_empty
from lethe_local.demo.play import Played, play
from lethe_local.demo.screen import Screen
from lethe_local.demo.stores import Stores
from lethe_local.demo.walls import OTHER_USER, try_the_walls
from lethe_local.demo.why import check_stored, show_what_became, show_why

TENANT, OTHER_TENANT = "demo", "somebody-else"


@dataclass(frozen=True, slots=True)
class Clients:
    """The callers of the story, each with a key of its own; `revoked` holds one that was taken back."""

    agent: Lethe
    desk: Lethe
    other_tenant: Lethe
    revoked: Lethe


@dataclass(frozen=True, slots=True)
class Behind:
    """What the story has of the stack beside its API.

    Attributes:
        access: makes tenants and keys, as `lethe` does.
        stores: looks whether words are still somewhere.
        indexed: waits until the search index shows everything, and says whether it does; None where there is none.
    """

    access: Access
    stores: Stores
    indexed: Callable[[], bool] | None = None


class Story:
    """The chapters. `url` is where the stack answers."""

    def __init__(self, url: str, behind: Behind, screen: Screen) -> None:
        self._url = url
        self._access = behind.access
        self._stores = behind.stores
        self._indexed = behind.indexed
        self._screen = screen
        self._conversations = (load_conversation("en"), load_conversation("zh"))
        self._steps: list[tuple[str, float]] = []

    def tell(self) -> None:
        """Everything, from the first key to the summary; the checks are in the screen afterwards."""
        screen = self._screen
        with ExitStack() as stack:
            screen.chapter("A tenant and its keys")
            with self._timed("tenants and keys"):
                clients = self._make_clients(stack)
            played = [self._play(clients.agent, conversation) for conversation in self._conversations]
            if self._indexed is not None:
                self._wait_for_index(clients.agent, self._indexed)
            screen.chapter("What was stored, and why")
            with self._timed("reading it back"):
                for told in played:
                    show_what_became(told, screen)
                    check_stored(clients.agent, told, screen)
                    show_why(clients.agent, told, told.conversation.trace, screen)
            screen.chapter("Confirmed facts")
            with self._timed("confirmed facts"):
                self._put_facts(clients.agent)
            asked = [self._ask(clients.agent, told) for told in played]
            self._show_context(asked)
            self._explain(clients.agent)
            screen.chapter("Where memory ends")
            with self._timed("isolation"):
                try_the_walls(clients.agent, clients.other_tenant, clients.revoked, played[0], screen)
            held = self._count(clients.agent, played)
            self._forget(clients, played)
            self._summarise(held, played, asked)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._steps.append((step, time.perf_counter() - started))

    def _make_clients(self, stack: ExitStack) -> Clients:
        users = (*(conversation.user_id for conversation in self._conversations), OTHER_USER)
        for tenant in (TENANT, OTHER_TENANT):
            self._access.create_tenant(tenant)
        key, agent = self._access.create_key(TENANT, ("read", "write"), users, "demo-agent")
        _, desk = self._access.create_key(TENANT, ("erase", "govern"), users, "privacy-desk")
        _, foreign = self._access.create_key(OTHER_TENANT, ("read", "write"))
        revoked_key, revoked = self._access.create_key(TENANT, ("read",))
        self._access.revoke_key(revoked_key.id)
        self._screen.fields(
            (
                ("tenant", f"{TENANT}, and {OTHER_TENANT} to try the walls with later"),
                ("key", f"lk_{key.id}_… (its secret is shown once, and stored as a hash only)"),
                ("may", f"{', '.join(sorted(key.permissions))} for {', '.join(users)}"),
                ("another key may", "erase, govern: it can neither read nor write, and is for the last act"),
                ("the same by hand", f"lethe keys create --tenant {TENANT} --permissions read,write --users alice"),
            )
        )
        open_client = stack.enter_context
        return Clients(
            open_client(Lethe(self._url, agent)),
            open_client(Lethe(self._url, desk)),
            open_client(Lethe(self._url, foreign)),
            open_client(Lethe(self._url, revoked)),
        )

    def _play(self, client: Lethe, conversation: Conversation) -> Played:
        self._screen.chapter(f"{conversation.name} talks, over {len(conversation.sessions)} sessions")
        self._screen.say(conversation.about, "dim")
        with self._timed(f"{conversation.name}: {conversation.turn_count} turns"):
            played = play(client, conversation, self._screen)
        notice = played.notices[conversation.trace]
        self._screen.say(f"After one of these turns the service gives the agent this to say: {notice}", "italic")
        return played

    def _wait_for_index(self, client: Lethe, indexed: Callable[[], bool]) -> None:
        self._screen.chapter("The search index")
        with self._timed("the index catches up"):
            self._screen.check("every change of the table has reached the index", indexed())
        engine = client.health().engine
        self._screen.check(f"the service searches on {engine}", engine == "opensearch")

    def _put_facts(self, client: Lethe) -> None:
        rows: list[tuple[str, str, str, str]] = []
        for conversation in self._conversations:
            for fact in conversation.facts:
                entity = client.entities.put(
                    fact.key, fact.value, category=fact.category, user_id=conversation.user_id, origin="user"
                )
                value = json.dumps(entity.value, ensure_ascii=False)
                rows.append((conversation.name, entity.category, entity.key, value))
        self._screen.table(("of", "category", "key", "value"), rows)

    def _ask(self, client: Lethe, played: Played) -> list[Asked]:
        conversation = played.conversation
        session_id = f"new-{conversation.language}"
        self._screen.chapter(f"Questions about {conversation.name}, in the new session {session_id}")
        with self._timed(f"{len(conversation.questions)} questions about {conversation.name}"):
            return ask_all(client, played, session_id, self._screen)

    def _show_context(self, asked: list[list[Asked]]) -> None:
        shown = next(item for items in asked for item in items if item.question.show == "context")
        self._screen.chapter("What goes into the prompt, whole")
        self._screen.say(f"for “{shown.question.query}”: {shown.answer.tokens} tokens", "dim")
        self._screen.block("context", shown.answer.context)

    def _explain(self, client: Lethe) -> None:
        conversation, question = next(
            (conversation, question)
            for conversation in self._conversations
            for question in conversation.questions
            if question.show == "explain"
        )
        self._screen.chapter("Why these, and not others")
        with self._timed("explanation"):
            found = client.memories.search(question.query, user_id=conversation.user_id, top_k=3, explain=True)
        candidates = found.explain or ()
        self._screen.say(f"“{question.query}”: {len(candidates)} candidates, the first seven", "dim")
        header = ("relevance", "words", "vector", "decided by", "text")
        self._screen.table(header, [_explained(candidate) for candidate in candidates[:7]])
        kept = [candidate.id for candidate in candidates if candidate.kept]
        self._screen.check(
            "the candidates that every stage kept are the answer, in its order",
            bool(kept) and kept == [memory.id for memory in found.memories],
        )

    def _forget(self, clients: Clients, played: list[Played]) -> None:
        screen, (leaving, staying) = self._screen, played
        person, callers = leaving.conversation, Callers(clients.agent, clients.desk)
        screen.chapter(f"{person.name} asks to be forgotten")
        with self._timed("forgetting"):
            erasure = forget(callers, leaving, staying, self._stores, screen)
        if erasure is None or erasure.receipt_id is None:
            screen.check("the erasure ends with a receipt", False)
            return
        screen.chapter("The proof, and what it does not cover")
        with self._timed("proof"):
            prove(clients.desk, erasure, self._stores, person, screen)
        screen.chapter(f"{person.name} comes back")
        with self._timed("coming back"):
            return_empty(callers, person, screen)

    @staticmethod
    def _count(client: Lethe, played: list[Played]) -> dict[str, int]:
        counts = [client.subject(told.conversation.user_id).counts for told in played]
        return {name: sum(count.get(name, 0) for count in counts) for name in counts[0]}

    def _summarise(self, held: dict[str, int], played: list[Played], asked: list[list[Asked]]) -> None:
        screen = self._screen
        screen.chapter("What happened")
        every = [item for items in asked for item in items]
        turns = sum(told.conversation.turn_count for told in played)
        seconds = sum(told.seconds for told in played)
        median = statistics.median(item.milliseconds for item in every)
        screen.fields(
            (
                ("heard", f"{turns} turns in {sum(len(told.conversation.sessions) for told in played)} sessions"),
                ("held, before one left", ", ".join(f"{number} {name}" for name, number in held.items())),
                (
                    "asked",
                    f"{len(every)} questions, {median:.0f} ms in the median",
                ),
                ("writing", f"{1000 * seconds / turns:.0f} ms a turn, message and memory"),
                ("checks", f"{len(screen.checks) - len(screen.failures)} of {len(screen.checks)} hold"),
            )
        )
        screen.table(("seconds", "step"), [(f"{took:.2f}", step) for step, took in self._steps])


def _explained(candidate: ExplainedCandidate) -> tuple[str, ...]:
    """A row: the calibrated relevance, its rank in both legs, and the stage that dropped it or the last one."""
    dropped = next((decision for decision in candidate.decisions if not decision.kept), None)
    decided = dropped or (candidate.decisions[-1] if candidate.decisions else None)
    words, vector = (candidate.legs.get(name) for name in ("words", "vector"))
    return (
        f"{candidate.relevance:.2f}",
        "-" if words is None or words.rank is None else str(words.rank),
        "-" if vector is None or vector.rank is None else str(vector.rank),
        f"{'kept' if candidate.kept else 'dropped'}: {decided.stage} {decided.reason}" if decided else "",
        candidate.text,
    )
