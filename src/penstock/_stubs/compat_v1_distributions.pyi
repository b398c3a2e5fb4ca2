# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.distributions.discrete import Bernoulli as Bernoulli
from penstock.ops.distributions.gamma import Beta as Beta
from penstock.ops.distributions.discrete import Categorical as Categorical
from penstock.ops.distributions.dirichlet import Dirichlet as Dirichlet
from penstock.ops.distributions.counts import DirichletMultinomial as DirichletMultinomial
from penstock.ops.distributions.base import Distribution as Distribution
from penstock.ops.distributions.gamma import Exponential as Exponential
from penstock.ops.distributions.base import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from penstock.ops.distributions.gamma import Gamma as Gamma
from penstock.ops.distributions.continuous import Laplace as Laplace
from penstock.ops.distributions.counts import Multinomial as Multinomial
from penstock.ops.distributions.base import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from penstock.ops.distributions.continuous import Normal as Normal
from penstock.ops.distributions.divergence import RegisterKL as RegisterKL
from penstock.ops.distributions.base import ReparameterizationType as ReparameterizationType
from penstock.ops.distributions.gamma import StudentT as StudentT
from penstock.ops.distributions.continuous import Uniform as Uniform
from penstock.ops.distributions.divergence import kl_divergence as kl_divergence
