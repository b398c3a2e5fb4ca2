"""`tf.data`: datasets, their iterators, and what feeds them."""
