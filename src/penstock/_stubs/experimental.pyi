# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.extension_type import BatchableExtensionType as BatchableExtensionType
from penstock.ops.ragged_tensor import DynamicRaggedShape as DynamicRaggedShape
from penstock.core.extension_type import ExtensionType as ExtensionType
from penstock.core.extension_type import ExtensionTypeBatchEncoder as ExtensionTypeBatchEncoder
from penstock.core.extension_type import ExtensionTypeSpec as ExtensionTypeSpec
from penstock.ops.optional import Optional as Optional
from penstock.ops.ragged_partition import RowPartition as RowPartition
from penstock.ops.dispatch_for import dispatch_for_api as dispatch_for_api
from penstock.ops.dispatch_for import dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis
from penstock.ops.dispatch_for import dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis
from penstock.ops.dispatch_for import dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis
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
from penstock.ops.dispatch_for import unregister_dispatch_for as unregister_dispatch_for
from penstock._stubs import experimental_dlpack as dlpack
from penstock._stubs import experimental_extension_type as extension_type
from penstock._stubs import experimental_numpy as numpy
