"""Every recorded request, accepted or refused: the promises at each of its boundaries, fed back or not."""

from __future__ import annotations

import pytest

from tests import corpus
from tests.promises import broken_promises

ROWS = [*corpus.spoken("requests_accepted"), *corpus.spoken("requests_rejected")]
BATCH = 200


@pytest.mark.skipif(not ROWS, reason="the recorded requests are not at hand")
@pytest.mark.parametrize("first", range(0, len(ROWS), BATCH))
def test_what_was_sent_stays_as_it_was_sent(first: int) -> None:
    for row in ROWS[first : first + BATCH]:
        dialect, messages = corpus.DIALECTS[row["format"]], corpus.messages_of(row)
        assert not list(broken_promises(messages, corpus.target_of(row), dialect, judged=False)), (
            row["id"]
        )
