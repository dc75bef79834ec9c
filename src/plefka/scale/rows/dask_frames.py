"""A dask.dataframe as it is: each partition is a piece, which is read where it is answered."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidEvidence
from plefka.scale.rows.reader import Reader
from plefka.tables.columns import of_frame
from plefka.tables.roles import IdColumns
from plefka.tables.table import SAMPLE, value_errors_as

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


def is_dask(source: Any) -> bool:
    """Whether this is a DataFrame of Dask."""
    return hasattr(source, "to_delayed") and hasattr(source, "npartitions")


def of_dask(
    network: "BeliefNetwork", source: Any, id_columns: IdColumns, client: Any
) -> tuple[Iterator[Any], int, list[str], Reader, list[int]]:
    """Partitions, computed here one after another, or left to the workers of a client; and what a `Source` has."""
    counts = _computed(source.map_partitions(len), client).tolist()
    with value_errors_as(InvalidEvidence):
        reader = Reader.of(
            network, of_frame(_computed(source.head(SAMPLE, npartitions=-1, compute=False), client)), id_columns
        )
    pieces = (_piece(source.partitions[k], client) for k, count in enumerate(counts) if count)
    return pieces, sum(counts), reader.id_columns, reader, [count for count in counts if count]


def _piece(partition: Any, client: Any) -> Any:
    return partition.compute() if client is None else client.compute(partition)


def _computed(values: Any, client: Any) -> Any:
    return values.compute() if client is None else client.compute(values, sync=True)
