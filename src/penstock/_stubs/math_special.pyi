# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.math_special import bessel_i0 as bessel_i0
from penstock.ops.math_special import bessel_i0e as bessel_i0e
from penstock.ops.math_special import bessel_i1 as bessel_i1
from penstock.ops.math_special import bessel_i1e as bessel_i1e
from penstock.ops.math_special import expint as expint
from penstock.ops.math_special import spence as spence
