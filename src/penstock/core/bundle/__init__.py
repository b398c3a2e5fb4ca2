"""Tensors on disk: TensorFlow's bundle format, and the older one of a single table.

A bundle is an index, `PREFIX.index`, and data files, `PREFIX.data-00000-of-00001` and so on. The
index is a sorted table (`table`): the empty key holds a BundleHeaderProto, each other key a
BundleEntryProto that says where a tensor's bytes lie and what their checksum is. A tensor that was
saved in parts has an entry that lists the slices, and an entry for each under a key that `slices`
makes. `writer` writes one so that a reader sees the old bundle or the new one, whenever the program
or the machine stops; `reader` reads one and believes nothing that a checksum or a file's length
does not bear out. `merge` makes one bundle of several; `single_file` is the older format.

The object graph, savers and managers are in `penstock.checkpoint`.
"""
