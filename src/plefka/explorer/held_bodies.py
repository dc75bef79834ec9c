"""All bodies together: how many bytes of requests a service holds, whoever sends them.

Each body has a limit of its own, and very many below it would still take all memory. What is held of a body counts from
its arrival until its question is answered. Where it is too much, the oldest body that is not complete makes room, so
that clients which send slowly, or never finish, keep nobody out.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FREE_BYTES = 2**16  # of each body: small ones are limited by the number of connections, and never refused


@dataclass(eq=False)
class HeldBody:
    """What is held of one body, and the time that it has to arrive; None when it is complete."""

    size: int = 0
    arriving: asyncio.Timeout | None = None
    made_room: bool = False

    @property
    def counted(self) -> int:
        return 0 if self.made_room else max(0, self.size - FREE_BYTES)

    def make_room(self) -> None:
        """Its task is told at once that its time is over."""
        assert self.arriving is not None
        self.made_room = True
        self.arriving.reschedule(asyncio.get_running_loop().time())


class HeldBodies:
    """The bodies that a service holds, the oldest first, with `most` bytes in all."""

    def __init__(self, most: int):
        self.most = most
        self.bodies: dict[HeldBody, None] = {}

    @property
    def counted(self) -> int:
        return sum(body.counted for body in self.bodies)

    @contextmanager
    def one_more(self) -> Iterator[HeldBody]:
        """A body, held until the block ends."""
        body = HeldBody()
        self.bodies[body] = None
        try:
            yield body
        finally:
            del self.bodies[body]

    def have_room(self, body: HeldBody, count: int) -> bool:
        """Whether the body may have so many bytes more; others that are not complete make room for them."""
        body.size += count
        others = (other for other in list(self.bodies) if other is not body and other.arriving and other.counted)
        while self.counted > self.most:
            oldest = next(others, None)
            if oldest is None:
                return False
            oldest.make_room()
        return True
