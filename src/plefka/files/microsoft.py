"""Microsoft (.dsc), the ancestor of BIF: with ':' or '=' before values, and the numbers of states in rows of tables."""

import re

from plefka.files.bif import BifReader, ProbabilityBlock
from plefka.files.conditional_tables import TableNetwork
from plefka.files.scanner import COMMENTS, NUMBER, Scanner

SIGNS_SKIPPED = re.compile(rb"(?:%s|[:=])*+" % COMMENTS, re.DOTALL)
WORD_WITHOUT_SIGNS = re.compile(rb'"[^"\n]*"|[{}()\[\],;|]|(?:[^\s{}()\[\],;|"/:=]|/(?![/*]))+')


def loads(content: bytes) -> TableNetwork:
    """The network in a file of Microsoft's MSBNx."""
    return _DscReader(Scanner(content, SIGNS_SKIPPED, WORD_WITHOUT_SIGNS)).network()


class _DscReader(BifReader):
    blocks = (b"belief", b"node", b"probability")

    def _network(self) -> None:
        self.scan.expect(b"network")
        self.scan.name("the name of the network")

    def _property(self) -> None:
        self.scan.name("an attribute or '}'")
        self.scan.skip(b";")

    def _entry(self, table: ProbabilityBlock) -> None:
        table.words = [{"0": 0, "1": 1}] * len(table.parents)
        if NUMBER.match(self.scan.word) and not table.parents:
            table.set_single("table", self.scan.entries("a probability", numbers=True), table.place)
        else:
            super()._entry(table)
