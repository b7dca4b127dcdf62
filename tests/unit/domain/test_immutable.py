"""``@immutable`` does what a frozen data class with slots does."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from lethe.domain.immutable import immutable


@immutable
class Ours:
    """Every kind of field that is in use."""

    name: str
    size: int = 1
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="hidden", repr=False, compare=False)

    @property
    def doubled(self) -> int:
        return 2 * self.size


@dataclass(frozen=True, slots=True)
class Theirs:
    """The same, by the standard library."""

    name: str
    size: int = 1
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="hidden", repr=False, compare=False)


@immutable(kw_only=True)
class Base:
    """Fields by name alone."""

    region: str = "here"


@immutable(kw_only=True)
class Derived(Base):
    """One more."""

    table: str


@immutable
class Empty:
    """No fields."""


@immutable
class Own:
    """Methods of its own."""

    text: str

    def __repr__(self) -> str:
        return "Own(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a",), {}),
        (("a", 2), {}),
        (("a",), {"size": 3, "tags": ["x"]}),
        (("a", 2, ["y"], "z"), {}),
        ((), {"name": "b"}),
    ],
)
def test_it_is_made_and_shown_as_the_standard_librarys(arguments: tuple[str, ...], named: dict[str, object]) -> None:
    ours, theirs = Ours(*arguments, **named), Theirs(*arguments, **named)  # type: ignore[arg-type]  # of many types

    assert [getattr(ours, f.name) for f in fields(ours)] == [getattr(theirs, f.name) for f in fields(theirs)]
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")


@pytest.mark.parametrize("arguments", [(), ("a", 1, [], "s", "too many")])
def test_wrong_arguments_are_a_type_error_that_names_the_constructor(arguments: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match=r"Ours\.__init__\(\)"):
        Ours(*arguments)  # type: ignore[arg-type]  # what is tried


def test_a_default_factory_makes_one_for_each() -> None:
    assert Ours("a").tags is not Ours("a").tags


def test_equality_and_hash_go_by_the_compared_fields_of_one_class() -> None:
    assert Ours("a", secret="x") == Ours("a", secret="y")
    assert Ours("a") != Ours("b")
    assert Ours("a") != Theirs("a")  # type: ignore[comparison-overlap]  # what is asked
    assert Base(region="x") != Derived(region="x", table="t")
    assert hash(Base(region="x")) == hash(Base(region="x"))
    assert {Empty(): 1}[Empty()] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours("a"))  # its tags are a list


def test_it_cannot_be_changed() -> None:
    ours = Ours("a")
    for name in ("size", "unknown"):
        with pytest.raises(FrozenInstanceError):
            setattr(ours, name, 2)
    with pytest.raises(FrozenInstanceError):
        del ours.size
    assert not hasattr(ours, "__dict__")


def test_replacing_matching_and_copying_work() -> None:
    assert replace(Ours("a", 2), name="b") == Ours("b", 2)
    match Ours("a", 2):
        case Ours(name, size):
            assert (name, size) == ("a", 2)
    whole = Ours("a", 2, ["x"], "s")
    for other in (copy.copy(whole), copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert (other, other.secret) == (whole, "s")
    assert whole.doubled == 4


def test_fields_are_inherited_and_given_by_name() -> None:
    assert Derived(table="t") == Derived(region="here", table="t")
    with pytest.raises(TypeError):
        Derived("here", table="t")  # type: ignore[call-arg]  # what is tried


def test_methods_of_its_own_are_kept() -> None:
    assert repr(Own("secret")) == "Own(...)"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == 7
