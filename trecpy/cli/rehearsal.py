"""What a command will need is compiled on two cores, the first time."""

from trecpy.threads import available


def share_compiling() -> None:
    """Let another process compile the kernels that rank and sum up while this one compiles those that parse."""
    if available() > 1:
        from trecpy.kernels import _beside

        _beside.share(_rehearse, {"rank", "walk"})


def _rehearse() -> None:
    """Score one document of one topic."""
    import numpy as np

    from trecpy.evaluation import evaluate_blocks
    from trecpy.names import parse_names
    from trecpy.packed import Block, Qrels, Records
    from trecpy.protocol import Protocol

    none = np.zeros(1, np.int64)
    records = Records([b"q"], none, np.zeros(1, np.uint8), np.zeros((1, 2), np.int64), np.zeros(1, np.uint64))
    qrels = Qrels.of("qrels", records, np.ones(1, np.int64))
    evaluate_blocks(qrels, [Block.of(records, np.ones(1))], parse_names("official", "10.0"), Protocol())
