"""How much of the end of a Parquet file is read with its footer."""

import pickle

import pytest

from headrace.engines.tail_size import METADATA_BYTES, TailSize


@pytest.mark.parametrize(
    ("size_bytes", "from_metadata_to_end"),
    [
        (8_442_704, 16_921),
        (35_527_734, 53_608),
        (117_305_539, 145_827),
        (127_166_394, 64_497),
        (396_232_597, 183_811),
        (423_920_225, 184_843),
    ],
)
def test_the_end_of_a_checkpoint_has_its_metadata(
    size_bytes: int, from_metadata_to_end: int
) -> None:
    """Sizes of checkpoints of 20,000 to 1 M files that delta-rs wrote, with one row group."""
    guess = TailSize(metadata_bytes=METADATA_BYTES).guess(size_bytes)
    assert from_metadata_to_end <= guess < 8 * from_metadata_to_end


def test_a_footer_that_was_larger_is_read_in_one_request_the_next_time() -> None:
    for metadata_bytes in (0, METADATA_BYTES):
        size, untaught = (TailSize(metadata_bytes=metadata_bytes) for _ in range(2))
        size.learn(3_000_000, file_bytes=100_000_000)
        assert size.guess(100_000_000) >= 3_000_000
        unpickled = pickle.loads(pickle.dumps(size))
        assert unpickled.guess(100_000_000) == untaught.guess(100_000_000)
