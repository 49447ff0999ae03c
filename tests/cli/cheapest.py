"""The cheapest plan of a certificate's problem, in a few lines of Python that share nothing with the command: what
its answers are checked against. For small models: tables are dicts."""
import itertools

IMPOSSIBLE = float("inf")


def number(us):
    return IMPOSSIBLE if us is None else us


def costs_of_sets(tensor, first):
    """By set of places (bits): the least that reorders cost that make exactly these of `first`, one after the other."""
    places, reorder = len(tensor["places"]), tensor["reorder_us"]
    out = [IMPOSSIBLE] * (1 << places)
    out[1 << first] = 0
    for made in range(1 << places):
        for a, b in itertools.product(range(places), repeat=2):
            if out[made] < IMPOSSIBLE and made >> a & 1 and not made >> b & 1:
                out[made | 1 << b] = min(out[made | 1 << b], out[made] + number(reorder[a][b]))
    return out


class Problem:
    def __init__(self, certificate):
        self.operations, self.tensors = certificate["operations"], certificate["tensors"]
        self.sets = {}

    def reorders(self, t, first, wanted):
        """The least that one of each of these lists of places costs, where the first place is written."""
        if (t, first) not in self.sets:
            self.sets[t, first] = costs_of_sets(self.tensors[t], first)
        groups = [sum(1 << p for p in places) for places in wanted]
        return min((cost for made, cost in enumerate(self.sets[t, first]) if all(made & group for group in groups)),
                   default=IMPOSSIBLE)

    def choices(self, o):
        return range(len(self.operations[o]["choices"]))

    def factor(self, scope, value):
        """A table: what `value` says of the choices of these operations."""
        return scope, {at: value(dict(zip(scope, at))) for at in itertools.product(*map(self.choices, scope))}

    def factors(self):
        for o, operation in enumerate(self.operations):
            chosen = operation["choices"]
            yield self.factor((o,), lambda at, o=o, chosen=chosen: number(chosen[at[o]]["us"]))
            if "hint" in operation:
                def goes(at, o=o, chosen=chosen, hint=operation["hint"]):
                    return 0 if at[hint] in chosen[at[o]].get("with_hint", self.choices(hint)) else IMPOSSIBLE
                yield self.factor((operation["hint"], o), goes)
            for i, t in enumerate(operation["dst"]):
                readers = [r for r, other in enumerate(self.operations) if t in other["src"]]

                def reordered(at, o=o, i=i, t=t, readers=readers):
                    wanted = [places for r in readers for s, places in
                              zip(self.operations[r]["src"], self.operations[r]["choices"][at[r]]["src"]) if s == t]
                    return self.reorders(t, self.operations[o]["choices"][at[o]]["dst"][i], wanted)
                if readers:
                    yield self.factor((o, *readers), reordered)

    def cheapest(self):
        """Operations are eliminated one after the other, each time one with the fewest neighbours."""
        factors, total = list(self.factors()), 0
        while factors:
            neighbours = {}
            for scope, _ in factors:
                for o in scope:
                    neighbours.setdefault(o, set()).update(scope)
            last = min(neighbours, key=lambda o: len(neighbours[o]))
            joined = [factor for factor in factors if last in factor[0]]
            factors = [factor for factor in factors if last not in factor[0]]
            rest = tuple(sorted(neighbours[last] - {last}))

            def least(at):
                return min(sum(values[tuple({**at, last: c}[o] for o in scope)] for scope, values in joined)
                           for c in self.choices(last))
            scope, values = self.factor(rest, least)
            if rest:
                factors.append((scope, values))
            else:
                total += values[()]
        return total


def cheapest(certificate):
    return Problem(certificate).cheapest()
