"""Feature columns: how a model takes the features of examples, whatever form they come in.

A column is an immutable description of what one or more features become: numbers, or ids of
categories. `columns` has the base classes and `Features`, the features of a batch with what
columns made of them, so that each column is computed once. `categorical` and `dense` have the
columns and the functions that make them; `models` the functions that compute: `input_layer`,
`linear_model` and, for parsing, `make_parse_example_spec`.
"""
