"""Random operations are tested by their numbers."""

from tests.ops.harness import Record

OPERATIONS = (
    "RandomUniform",
    "RandomUniformInt",
    "RandomStandardNormal",
    "TruncatedNormal",
    "RandomShuffle",
    "Multinomial",
    "StatelessRandomUniform",
    "StatelessRandomUniformV2",
    "StatelessRandomUniformInt",
    "StatelessRandomUniformIntV2",
    "StatelessRandomUniformFullInt",
    "StatelessRandomUniformFullIntV2",
    "StatelessRandomNormal",
    "StatelessRandomNormalV2",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
    "StatelessRandomGetKeyCounter",
    "StatelessRandomGetKeyCounterAlg",
    "StatelessRandomGetAlg",
    "StatelessShuffle",
    "StatelessMultinomial",
)

RECORDS = [Record(name, tested_by="tests/ops/test_random.py") for name in OPERATIONS]
RECORDS.append(Record("RandomIndexShuffle", tested_by="tests/ops/test_random_index.py"))
