"""Which addresses a model may be asked at: configured ones only, and of those only safe ones.

No address ever comes from a request (server-side request forgery); this check keeps a mistaken setting from
sending memories or keys in the clear. Refusals never quote the address, since it may hold credentials.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit


def checked_base_url(url: str) -> str:
    """``url`` without a slash at its end.

    Raises:
        ValueError: It is no http(s) address with a host, uses http for another machine, names a link-local
            address (such as instance metadata), or holds user names, a query or a fragment.
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the model's URL must begin with https://, or http:// for this machine, and name a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the model's URL must hold no user name or password; give the key as a secret")
    if parts.query or parts.fragment:
        raise ValueError("the model's URL must have no query and no fragment; it is the part before /embeddings")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("the model's URL must use https, since http is for hosts of this machine only")
    if _is_link_local(parts.hostname):
        raise ValueError("the model's URL must not name a link-local address")
    return url.rstrip("/")


def _split(url: str) -> SplitResult:
    if url.isascii() and url.isprintable() and " " not in url and "\\" not in url:
        try:
            parts = urlsplit(url)
            _ = parts.port  # parsed on access only
        except ValueError:
            pass  # refused below, without the address that the exception quotes
        else:
            return parts
    raise ValueError("the model's URL cannot be read as an address")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host).is_link_local
    except ValueError:
        return False
