"""Small files of columns with one byte changed, read one after another: run by itself, since it could crash."""

import io
import sys

import pyarrow as pa
from pyarrow import ipc, parquet

from trecpy.collection import Qrels, Run
from trecpy.errors import TrecpyError


def written(kind: str) -> bytes:
    """A run of four documents in two batches, some ids too long for the views that hold them in place."""
    layout, _, ids = kind.partition("-")
    columns = [pa.array(["1", "1", "2", "a topic with a name"]), pa.array(["a", "b", "b", "a longer docno"])]
    if ids == "dictionary":
        columns = [column.dictionary_encode() for column in columns]
    elif ids:
        columns = [column.cast({"large": pa.large_string(), "view": pa.string_view()}[ids]) for column in columns]
    table = pa.table([*columns, pa.array([3.0, 2.0, 1.0, 5.0])], ["qid", "docno", "score"])
    out = io.BytesIO()
    if layout == "parquet":
        parquet.write_table(table, out)
    else:
        options = ipc.IpcWriteOptions(compression="lz4" if layout == "lz4" else None)
        with (ipc.new_stream if layout == "stream" else ipc.new_file)(out, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=2)
    return out.getvalue()


def main(kind: str, step: int) -> None:
    """Print what is read of each damaged file: 'read', or the error."""
    raw = written(kind)
    assert Run.read(io.BytesIO(raw)).topics == ("1", "2", "a topic with a name")
    for place in range(0, len(raw), step):
        damaged = bytearray(raw)
        damaged[place] ^= (255, 128, 1)[place % 3]
        for read in (Run.read, Qrels.read):
            try:
                read(io.BytesIO(damaged))
                print(place, "read")
            except TrecpyError as error:
                print(place, error)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
