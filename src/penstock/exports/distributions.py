"""Public names of probability distributions."""


def _named(*names: str) -> dict[str, list[str]]:
    return {name: [f"compat.v1.distributions.{name}"] for name in names}


EXPORTS = {
    "penstock.ops.distributions.base": _named(
        "Distribution", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "ReparameterizationType"
    ),
    "penstock.ops.distributions.continuous": _named("Laplace", "Normal", "Uniform"),
    "penstock.ops.distributions.counts": _named("DirichletMultinomial", "Multinomial"),
    "penstock.ops.distributions.dirichlet": _named("Dirichlet"),
    "penstock.ops.distributions.discrete": _named("Bernoulli", "Categorical"),
    "penstock.ops.distributions.gamma": _named("Beta", "Exponential", "Gamma", "StudentT"),
    "penstock.ops.distributions.divergence": _named("RegisterKL", "kl_divergence"),
}
