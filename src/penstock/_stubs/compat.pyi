# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.util.text import as_bytes as as_bytes
from penstock.util.text import as_str as as_str
from penstock.util.text import as_str_any as as_str_any
from penstock.util.text import as_text as as_text
from penstock.util.text import bytes_or_text_types as bytes_or_text_types
from penstock.util.text import complex_types as complex_types
from penstock.types.tensor_shape import dimension_at_index as dimension_at_index
from penstock.types.tensor_shape import dimension_value as dimension_value
from penstock.config.forward import forward_compatibility_horizon as forward_compatibility_horizon
from penstock.config.forward import forward_compatible as forward_compatible
from penstock.util.text import integral_types as integral_types
from penstock.util.text import path_to_str as path_to_str
from penstock.util.text import real_types as real_types
from penstock.compat import v1 as v1
