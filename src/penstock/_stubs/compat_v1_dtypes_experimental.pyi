# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.types.dtypes import float4_e2m1fn as float4_e2m1fn
from penstock.types.dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from penstock.types.dtypes import float8_e4m3fn as float8_e4m3fn
from penstock.types.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from penstock.types.dtypes import float8_e5m2 as float8_e5m2
from penstock.types.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from penstock.types.dtypes import int2 as int2
from penstock.types.dtypes import int4 as int4
from penstock.types.dtypes import uint2 as uint2
from penstock.types.dtypes import uint4 as uint4
