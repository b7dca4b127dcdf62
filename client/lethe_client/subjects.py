"""Subjects: everything about one user, forgotten and admitted again."""

from lethe_client.erasure_models import Erasure
from lethe_client.fields import Fields
from lethe_client.transport import Call, Transport, path_of


class Subjects:
    """Erases users and admits them again. The key needs `erase`; for `admit` `govern` does, too."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def erase(self, user_id: str) -> Erasure:
        """Erase everything about a user; when this returns, nobody can read any of it.

        Reads are 404 from now on and writes 410, for 30 days after its end or until `admit`. The rest runs by itself:
        see `erasures.wait`, and `erasures.receipt` for the proof. Asked again while it runs, the same erasure answers;
        a user that nobody knows is erased with zero counts.
        """
        answer = self._transport.send(Call("DELETE", path_of("v1", "subjects", user_id)))
        return Erasure.parse(Fields(answer.body, "answer").object("erasure"))

    def admit(self, user_id: str) -> None:
        """Let an erased user be written to again, who starts empty; no error for one who is not erased.

        Raises:
            NotFoundError: nothing was ever stored for this user.
        """
        self._transport.send(Call("POST", path_of("v1", "subjects", user_id, "admit"), changes=True))
