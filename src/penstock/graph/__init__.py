"""Graphs: operations and edges, their text and message forms, and what a plan is made from."""
