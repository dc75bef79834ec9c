"""What a service is started with: where it listens, who may ask, and how much."""

import ipaddress
from dataclasses import dataclass

from plefka.errors import InvalidInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_LARGE_BODIES = 16  # of the largest size, at a time
SHORTEST_TOKEN = 16  # characters
MAKE_A_TOKEN = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"


@dataclass(frozen=True)
class QuestionLimits:
    """What one question may cost, and how many may wait."""

    seconds: float = 30.0  # of computing, for one question
    rows: int = 1000
    body_bytes: int = 4 * 2**20
    waiting: int = 200  # questions that wait for a free worker
    memory_bytes: int | None = None  # of one worker

    @property
    def held_bytes(self) -> int:
        """Of all bodies together, whose questions are being received or answered."""
        return MOST_LARGE_BODIES * self.body_bytes


@dataclass(frozen=True)
class Settings:
    """A service is safe as it stands: any address but the computer's own needs a token."""

    source: str | None  # None: visitors open networks of their own
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    workers: int = 2
    warm: bool = True
    log: bool = True
    limits: QuestionLimits = QuestionLimits()
    hosts: tuple[str, ...] = ()  # further names by which it may be addressed
    origins: tuple[str, ...] = ()  # other sites whose pages may ask
    opens: bool = False  # whether visitors may open other networks

    def __post_init__(self):
        token = self.token
        if token is None and not self.is_local:
            raise InvalidInput(
                f"a service that listens on {self.host} can be reached from other computers and needs a token; got "
                f"none. Pass --token or set PLEFKA_TOKEN, or listen on 127.0.0.1. {MAKE_A_TOKEN}"
            )
        allowed = token is None or (token.isascii() and token.isprintable() and " " not in token)
        if token is not None and (len(token) < SHORTEST_TOKEN or not allowed):
            raise InvalidInput(
                f"a token must have at least {SHORTEST_TOKEN} characters, all of them ASCII letters, digits or signs "
                f"and none of them a space; got {len(token)} characters. {MAKE_A_TOKEN}"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach it."""
        address = as_address(self.host)
        return self.host in LOOPBACK or (address is not None and address.is_loopback)


def as_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address of numbers; None of any other name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
