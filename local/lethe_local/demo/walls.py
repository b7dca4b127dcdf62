"""Shows that memory ends at its owner: other tenants, other users and foreign ids find nothing."""

from collections.abc import Callable

from lethe_client import ForbiddenError, Lethe, LetheApiError, NotFoundError, UnauthenticatedError
from lethe_local.demo.play import Played
from lethe_local.demo.screen import Screen

OTHER_USER = "noor@theatre.example"
UNCOVERED_USER = "bram@theatre.example"


def try_the_walls(client: Lethe, other_tenant: Lethe, stranger: Lethe, played: Played, screen: Screen) -> None:
    """Ask for what belongs to somebody else, in every way there is, and check what comes back.

    `other_tenant` holds a key of another tenant for the same user id, `stranger` a key that was revoked.
    """
    owner, query = played.conversation.user_id, played.conversation.questions[0].query
    memory_id = next(result.memory.id for _, result in played.results if result.memory is not None)
    _finds_nothing(other_tenant, owner, query, "another tenant, the same user id", screen)
    _finds_nothing(client, OTHER_USER, query, "another user of the same tenant", screen)
    refused(
        "another user asks for the memory by its id: 404",
        NotFoundError,
        lambda: client.memories.get(memory_id, user_id=OTHER_USER),
        screen,
    )
    refused(
        "another tenant asks for the memory by its id: 404",
        NotFoundError,
        lambda: other_tenant.memories.get(memory_id, user_id=owner),
        screen,
    )
    refused(
        "a user that the key does not cover: 403",
        ForbiddenError,
        lambda: client.memories.search(query, user_id=UNCOVERED_USER),
        screen,
    )
    refused("a revoked key: 401", UnauthenticatedError, lambda: stranger.memories.search(query, user_id=owner), screen)


def _finds_nothing(client: Lethe, user_id: str, query: str, who: str, screen: Screen) -> None:
    searched = client.memories.search(query, user_id=user_id, threshold=0)
    recalled = client.recall(query, user_id=user_id)
    outcomes = {searched.outcome, recalled.outcome}
    holds = outcomes == {"nothing_stored"} and not searched.memories and not recalled.memories and not recalled.entities
    screen.check(f"{who}, asks the same question: {', '.join(sorted(outcomes))}", holds)


def refused(claim: str, kind: type[LetheApiError], attempt: Callable[[], object], screen: Screen) -> None:
    """Check that the attempt fails in this way and no other."""
    try:
        attempt()
    except kind:
        screen.check(claim, True)
    except LetheApiError as error:
        screen.check(f"{claim}, but was {error.status} {error.code}", False)
    else:
        screen.check(f"{claim}, but it was answered", False)
