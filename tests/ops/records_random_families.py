from tests.ops.harness import Record

FILE = "tests/ops/test_random_generator.py"
NAMES = {
    "RngReadAndSkip": "skip",
    "RngSkip": "RngSkip",
    "StatefulUniform": "StatefulUniform",
    "StatefulUniformFullInt": "StatefulUniformFullInt",
    "StatefulStandardNormalV2": "StatefulStandardNormalV2",
    "StatefulTruncatedNormal": "StatefulTruncatedNormal",
    "StatefulUniformInt": "StatefulUniformInt",
    "StatefulRandomBinomial": "binomial",
    "NonDeterministicInts": "NonDeterministicInts",
    "RandomGamma": "random.gamma",
    "RandomGammaGrad": "random.gamma",
    "StatelessRandomGammaV2": "StatelessRandomGammaV2",
    "StatelessRandomGammaV3": "stateless_gamma",
    "RandomPoissonV2": "random.poisson",
    "RandomPoisson": "RandomPoisson",
    "StatelessRandomPoisson": "stateless_poisson",
    "StatelessRandomBinomial": "stateless_binomial",
}
BETWEEN = {
    "ParameterizedTruncatedNormal": "ParameterizedTruncatedNormal",
    "StatelessParameterizedTruncatedNormal": "stateless_parameterized_truncated_normal",
}
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()] + [
    Record(op, tested_by="tests/ops/test_random_between.py", named_by=name)
    for op, name in BETWEEN.items()
]
