"""Gradients: one registry of rules, one reverse walk, used by the tape and by `tf.gradients`."""
