"""Operations of devices that nothing here serves: TPUs, NCCL's and cuDNN's own.

Some are of no device at all any more, as boosted trees. TensorFlow on a CPU knows them without a
kernel. So do we: `raw_ops` has them, graphs and GraphDefs may hold them, an eager call is a
NotFoundError and a graph that runs one an InvalidArgumentError. `unserved_ops.txt` has a line for
each, as `tools/op_signature.py --plain NAME` prints it; a comment says which are stateful. Their
shapes are not inferred.
"""

import importlib.resources

from penstock.core.op_def import define_unserved


def _define_all() -> None:
    listing = importlib.resources.files("penstock.ops").joinpath("unserved_ops.txt")
    for line in listing.read_text(encoding="utf-8").splitlines():
        text, _, comment = line.partition("  # ")
        define_unserved(text, stateful=comment == "stateful")


_define_all()
