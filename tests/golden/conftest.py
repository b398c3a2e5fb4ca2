"""Recorded draws were the first of their process: each test's streams start there."""

import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def _streams_start_again() -> None:
    """Other tests draw from the streams of the same seeds, and leave a global seed."""
    tf.random.set_seed(None)
