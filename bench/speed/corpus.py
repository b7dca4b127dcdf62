"""Made-up statements and questions, the same in every run: no data set is needed to measure speed."""

import random
from dataclasses import dataclass

_PEOPLE = "Anna Ben Chen Dora Emil Farah Goran Hana Ivo Jun Karim Lena Marta Nils Olga Pavel Qiu Rosa Sami Tess".split()
_PLACES = "Oslo Lisbon Kyoto Porto Graz Leeds Hanoi Turin Bergen Malmo Ghent Split Cork Nantes Riga Tartu".split()
_THINGS = (
    "bicycle piano greenhouse telescope kayak sourdough violin camera tent aquarium loom quilt drone blender sofa "
    "printer canoe lathe typewriter beehive"
).split()
_FEELINGS = "happy nervous proud tired curious annoyed grateful restless calm hopeful".split()
_FORMS = (
    "{a} told me that the {t} from {p} arrived on day {n} and that everybody was {f} about it.",
    "I would rather keep the {t} than sell it, because {a} and I bought it together in {p} {n} weeks ago.",
    "My appointment with {a} in {p} is moved to the {n}th, so the {t} has to wait.",
    "Since the trip to {p} I am allergic to something near the {t}; {a} thinks it is the dust of room {n}.",
    "{a} prefers trains, I prefer the ferry to {p}; we agreed on seat {n} and one {t} each.",
    "The {t} costs {n} euros in {p}, which made {a} rather {f}.",
)
_QUESTIONS = (
    "Where did {a} buy the {t}?",
    "When is my appointment with {a} in {p}?",
    "What am I allergic to near the {t}?",
    "How does {a} like to travel to {p}?",
    "How much is the {t} in {p}?",
)


@dataclass(frozen=True)
class Corpus:
    """Statements, all different, and questions about them."""

    statements: tuple[str, ...]
    questions: tuple[str, ...]


def make_corpus(statements: int, questions: int) -> Corpus:
    """The same ``statements`` and ``questions`` every time; a longer corpus begins with the shorter one."""
    chance = random.Random(7)
    said = tuple(f"{_fill(chance, _FORMS)} That was note {number}." for number in range(statements))
    chance = random.Random(11)
    return Corpus(said, tuple(_fill(chance, _QUESTIONS) for _ in range(questions)))


def _fill(chance: random.Random, forms: tuple[str, ...]) -> str:
    return chance.choice(forms).format(
        a=chance.choice(_PEOPLE),
        p=chance.choice(_PLACES),
        t=chance.choice(_THINGS),
        f=chance.choice(_FEELINGS),
        n=chance.randrange(2, 900),
    )
