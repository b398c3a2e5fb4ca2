# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.math_special import bessel_i0 as bessel_i0
from penstock.ops.math_special import bessel_i0e as bessel_i0e
from penstock.ops.math_special import bessel_i1 as bessel_i1
from penstock.ops.math_special import bessel_i1e as bessel_i1e
from penstock.ops.math_bessel import bessel_j0 as bessel_j0
from penstock.ops.math_bessel import bessel_j1 as bessel_j1
from penstock.ops.math_bessel import bessel_k0 as bessel_k0
from penstock.ops.math_bessel import bessel_k0e as bessel_k0e
from penstock.ops.math_bessel import bessel_k1 as bessel_k1
from penstock.ops.math_bessel import bessel_k1e as bessel_k1e
from penstock.ops.math_bessel import bessel_y0 as bessel_y0
from penstock.ops.math_bessel import bessel_y1 as bessel_y1
from penstock.ops.math_bessel import dawsn as dawsn
from penstock.ops.math_special import expint as expint
from penstock.ops.math_bessel import fresnel_cos as fresnel_cos
from penstock.ops.math_bessel import fresnel_sin as fresnel_sin
from penstock.ops.math_special import spence as spence
