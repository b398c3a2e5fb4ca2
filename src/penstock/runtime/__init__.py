"""The runtime: from a graph, feeds and fetches to a plan, and from a plan to values."""
