"""kernels/strings.py by way of kernels that it is compiled into: byte strings of every length, wherever they lie."""

from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.kernels.parse import hash_all, intern

# Few distinct bytes and long common beginnings, so that strings often differ in one place only.
_beginnings = st.sampled_from([b"", b"a", b"abcdefg", b"abcdefgh", b"abcdefgh" * 3])
_ids = st.builds(bytes.__add__, _beginnings, st.text("ab\u00e9", max_size=20).map(str.encode))


def _packed(ids):
    ends = [0, *accumulate(map(len, ids))]
    spans = np.array([[at, end - at] for at, end in pairwise(ends)], np.int64).reshape(-1, 2)
    return np.frombuffer(b"".join(ids), np.uint8), spans


@given(st.lists(_ids, min_size=1, max_size=30))
def test_strings_are_numbered_as_they_first_come(ids):
    data, spans = _packed(ids)
    known = np.empty((len(ids), 3), np.int64)
    count = intern(data, spans, 0, np.full(64, -1, np.int32), known)
    distinct = list(dict.fromkeys(ids))
    assert count == len(distinct)
    assert known[:, 1].tolist() == [distinct.index(each) for each in ids]
    hashes = np.empty(len(ids), np.uint64)
    hash_all(data, spans, hashes)
    assert known[:, 2].astype(np.uint64).tolist() == hashes.tolist()
    assert len(set(hashes.tolist())) == len(distinct)


@given(st.lists(_ids.filter(len), min_size=1, max_size=30))
def test_a_file_is_hashed_as_arrays_are(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("run") / "run"
    path.write_bytes(b"".join(b"%b Q0 %b 1 1 t\n" % (b"1" * (1 + i % 9), each) for i, each in enumerate(ids)))
    with RunReader(Source.open(path), "10.0", strict=True) as run:
        records, _ = run.whole()
    data, spans = _packed(ids)
    hashes = np.empty(len(ids), np.uint64)
    hash_all(data, spans, hashes)
    assert records.hashes.tolist() == hashes.tolist()
