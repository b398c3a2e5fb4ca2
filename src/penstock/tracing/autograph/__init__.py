"""Python control flow over tensors, as operations of a graph.

A traced function is rewritten (`convert`) so that its `if`, `while`, `for`, `and`, its calls and so
on go through operators of ours, which decide by the value at hand: a Python value does what Python
does, a tensor of the graph becomes a conditional or a loop of the graph.
"""
