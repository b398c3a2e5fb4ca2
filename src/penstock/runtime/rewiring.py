"""Putting other nodes in the place of some: what passes over programs have in common."""

from penstock.runtime.program import Node, Program, Ref, sort


def rewired(program: Program, replaced: dict[int, list[Ref]], gone: dict[int, Node]) -> Program:
    """The program with outputs of replaced nodes taken from elsewhere.

    Args:
      program: what is changed; its nodes are all that have inputs to replace, new ones too.
      replaced: for the id of each replaced node what stands for its outputs.
      gone: for the id of a node what is waited for in its place.
    """

    def ref(item: Ref) -> Ref:
        seen = item
        while id(seen[0]) in replaced:
            seen = replaced[id(seen[0])][seen[1]]
        return seen

    def node(item: Node) -> Node:
        while id(item) in gone:
            item = gone[id(item)]
        return item

    for n in program.nodes:
        n.inputs = [ref(i) for i in n.inputs]
        n.control = list(dict.fromkeys(node(c) for c in n.control))
    return sort(
        program.feeds, [ref(f) for f in program.fetches], [node(t) for t in program.targets]
    )
