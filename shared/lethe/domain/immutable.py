"""``@immutable``: a frozen data class with slots that costs a start almost nothing.

``dataclass(frozen=True, slots=True)`` writes and compiles six methods a class, a millisecond or more, and a start
imports some eighty classes. Here fields and slots are the standard library's, so that ``fields``, ``replace`` and
``match`` work as ever. Comparing, hashing, showing and refusing to change are one function each for all classes, and
``__init__`` is written when the first instance is made: most classes never see one before the first answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar, cast, dataclass_transform, overload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Class = TypeVar("Class")


@overload
def immutable(cls: type[Class], /) -> type[Class]: ...
@overload
def immutable(*, kw_only: bool) -> Callable[[type[Class]], type[Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(
    cls: type[Class] | None = None, /, *, kw_only: bool = False
) -> type[Class] | Callable[[type[Class]], type[Class]]:
    """The class with slots, a constructor and the methods of a value; methods that it defines itself are kept.

    Of ``field``, it knows ``default``, ``default_factory``, ``repr``, ``compare``, ``kw_only`` and ``metadata``.
    """

    def make(bare: type[Class]) -> type[Class]:
        made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(bare)

        def first(self: Class, *args: object, **kwargs: object) -> None:
            constructor = _constructor(made)
            setattr(made, "__init__", constructor)  # noqa: B010  # an assignment to a method is none to mypy
            constructor(self, *args, **kwargs)

        for name, method in {"__init__": first, **_METHODS}.items():
            if name not in vars(bare):
                setattr(made, name, method)
        return made

    return make if cls is None else make(cls)


def _constructor(cls: type) -> Callable[..., None]:
    """``__init__`` as the standard library would write it: the names of the fields are those of the parameters."""
    known: dict[str, object] = {"_set": object.__setattr__, "_ABSENT": MISSING}
    plain, keywords, body = ["self"], list[str](), list[str]()
    for each in _fields(cls):
        name, parameter, value = each.name, each.name, each.name
        if each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        elif each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            parameter, value = f"{name}=_ABSENT", f"_make_{name}() if {name} is _ABSENT else {name}"
        (keywords if each.kw_only else plain).append(parameter)
        body.append(f"    _set(self, {name!r}, {value})")
    parameters = ", ".join([*plain, "*", *keywords] if keywords else plain)
    exec("\n".join([f"def __init__({parameters}):", *(body or ["    pass"])]), known)
    written = cast("Callable[..., None]", known["__init__"])
    written.__qualname__ = f"{cls.__qualname__}.__init__"  # of which a TypeError speaks
    return written


def _fields(cls: type) -> tuple[Field[object], ...]:
    return fields(cast("type[DataclassInstance]", cls))


_GETTERS: Final[dict[type, Callable[[object], object]]] = {}


def _values(of: object) -> object:
    """The values that equality goes by; a lone one stands for itself."""
    cls = type(of)
    if cls not in _GETTERS:
        names = [each.name for each in _fields(cls) if each.compare]
        _GETTERS[cls] = attrgetter(*names) if names else lambda _: ()
    return _GETTERS[cls](of)


def _equal(self: object, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented  # type: ignore[no-any-return]  # as Python wants it of __eq__
    return bool(_values(self) == _values(other))


def _hash(self: object) -> int:
    return hash(_values(self))


def _show(self: object) -> str:
    cls = self.__class__
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in _fields(cls) if each.repr)
    return f"{cls.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _restore(self: object, state: tuple[None, dict[str, object]]) -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


_METHODS = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _show,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__setstate__": _restore,
}
