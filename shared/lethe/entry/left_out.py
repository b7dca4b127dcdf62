"""What Lambda's functions leave out of the packages that they import.

botocore, numpy, urllib3 and pydantic load, along with themselves, modules that only write documentation, serve type
checkers or look for installed packages: a tenth of a cold start, and nothing that a function calls. Empty modules
stand in for them. Nothing rests on this: without it, a function starts later.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

LEFT_OUT: Final = (
    "botocore.docs.docstring",
    "botocore.docs.service",
    "importlib.metadata",  # for urllib3's HTTP/2, which is off, and pydantic's plugins, of which the layers have none
    "numpy._core._add_newdocs",
    "numpy._core._add_newdocs_scalars",
    "numpy._typing",
    "numpy.typing",
)


def leave_out() -> None:
    """From now on, imports of these modules get a stand-in, for the life of the process; loaded ones stay as they are.

    Call it before the packages are imported, and only in a process that does nothing but serve one function.
    """
    for name in LEFT_OUT:
        sys.modules.setdefault(name, _StandIn(name))


class _StandIn(ModuleType):
    """A module in which every name is found, and is ``_Nothing``."""

    def __getattr__(self, name: str) -> type[_Nothing]:
        if name.startswith("__"):  # asked by the import system, which takes no for an answer
            raise AttributeError(name)
        return _Nothing


class _Nothing(str):
    """In the place of a class or function: an empty text for whatever it is called with, itself for any type in []."""

    __slots__ = ()

    def __new__(cls, *_: object, **__: object) -> _Nothing:
        return super().__new__(cls)

    def __class_getitem__(cls, _: object) -> type[_Nothing]:
        return cls
