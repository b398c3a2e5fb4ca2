"""`tf.function`: Python traced into graphs, one for each signature."""
