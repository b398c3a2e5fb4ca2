from tests.ops.harness import Record

NAMES = {
    "CTCLoss": "ctc_loss",
    "CTCLossV2": "CTCLossV2",
    "PenstockCTCLoss": "ctc_loss",
    "PenstockUniqueByRow": "ctc_unique_labels",
    "PenstockCollapseRepeated": "collapse_repeated",
    "CTCGreedyDecoder": "ctc_greedy_decoder",
    "CTCBeamSearchDecoder": "ctc_beam_search_decoder",
}
RECORDS = [Record(op, tested_by="tests/ops/test_ctc.py", named_by=n) for op, n in NAMES.items()]
