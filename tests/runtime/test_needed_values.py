"""Values that are part of an executable's key."""

import numpy as np

from penstock.runtime.needed_values import Values


def test_values_do_not_change_with_the_arrays_they_were_made_of():
    sizes, truth = np.int32([[1, 2], [3, 4]]), np.asarray(True)
    values = Values({0: sizes, 3: truth})
    same = Values({0: sizes.copy(), 3: truth.copy()})
    sizes[:] = 9
    assert values == same
    assert hash(values) == hash(same)
    assert values != Values({0: sizes, 3: truth})
    kept = values.arrays
    assert kept[0].dtype == np.int32
    assert kept[0].tolist() == [[1, 2], [3, 4]]
    assert kept[3].shape == ()
    assert kept[3]
