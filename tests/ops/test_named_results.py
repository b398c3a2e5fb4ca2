"""Results of several outputs have TensorFlow's names: `max_pool_with_argmax(...).argmax`."""

import numpy as np
import pytest

import penstock as tf

IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
BOX = [[[0.0, 0.0, 1.0, 1.0]]]
CLASSES = np.int64([[1, 2]])
SAMPLED = ("sampled_candidates", "true_expected_count", "sampled_expected_count")

RESULTS = [
    (
        lambda: tf.nn.max_pool_with_argmax(IMAGE, 2, 2, "SAME"),
        "MaxPoolWithArgmax",
        ("output", "argmax"),
    ),
    (
        lambda: tf.nn.compute_accidental_hits(CLASSES, np.int64([1, 3]), 2),
        "ComputeAccidentalHits",
        ("indices", "ids", "weights"),
    ),
    (
        lambda: tf.nn.fractional_max_pool(IMAGE, [1.0, 1.4, 1.4, 1.0], seed=1),
        "FractionalMaxPool",
        ("output", "row_pooling_sequence", "col_pooling_sequence"),
    ),
    (lambda: tf.nn.all_candidate_sampler(CLASSES, 2, 3, True), "AllCandidateSampler", SAMPLED),
    (
        lambda: tf.audio.decode_wav(tf.audio.encode_wav([[0.5], [0.1]], 8000)),
        "DecodeWav",
        ("audio", "sample_rate"),
    ),
    (
        lambda: tf.image.stateless_sample_distorted_bounding_box([10, 10, 3], BOX, seed=[1, 2]),
        "StatelessSampleDistortedBoundingBox",
        ("begin", "size", "bboxes"),
    ),
    (
        lambda: tf.image.combined_non_max_suppression(
            np.zeros([1, 2, 1, 4], np.float32), np.zeros([1, 2, 1], np.float32), 1, 1
        ),
        "CombinedNonMaxSuppression",
        ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    ),
    (lambda: tf.raw_ops.Unique(x=[1, 1]), "Unique", ("y", "idx")),
]


@pytest.mark.parametrize(("call", "name", "fields"), RESULTS)
def test_names(call, name, fields):
    found = []
    tf.function(lambda: found.append(call())).get_concrete_function()
    for result in (call(), *found):
        assert (type(result).__name__, result._fields) == (name, fields)
    assert type(call()) is type(found[0])
