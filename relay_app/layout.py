"""Where the sessions of a relay graph stand: callers left of their targets. Pure."""

from collections.abc import Iterable, Mapping

Place = tuple[int, int]  # column, row


def layout(edges: Iterable[tuple[str, str]]) -> Mapping[str, Place]:
    """A place for every end of an edge. Circles are opened at the node that was named first."""
    targets: dict[str, list[str]] = {}
    incoming: dict[str, int] = {}
    for start, end in dict.fromkeys(edges):
        targets.setdefault(start, [])
        targets.setdefault(end, [])
        incoming.setdefault(start, 0)
        incoming[end] = incoming.get(end, 0) + (start != end)
        if start != end:
            targets[start].append(end)
    columns: dict[str, int] = {}
    left = dict(incoming)
    ready = [node for node in targets if not left[node]]
    while len(columns) < len(targets):
        if not ready:
            ready = [next(node for node in targets if node not in columns)]
        node = ready.pop(0)
        if node in columns:
            continue
        before = [columns[each] for each in targets if node in targets[each] and each in columns]
        columns[node] = max(before, default=-1) + 1
        for end in targets[node]:
            left[end] -= 1
            if left[end] <= 0 and end not in columns:
                ready.append(end)
    filled: dict[int, int] = {}
    places: dict[str, Place] = {}
    for node, column in columns.items():
        places[node] = (column, filled.get(column, 0))
        filled[column] = places[node][1] + 1
    return places
