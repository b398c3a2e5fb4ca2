"""Graphs: operations and edges, their text and message forms, and the program that a plan is made from."""
