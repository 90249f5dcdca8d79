# SPDX-License-Identifier: MIT
"""The notation of the theorems (*.thm), and what it becomes: SMT-LIB. README.md explains the notation by an example.

`check` reads theorems with load() and asks solvers about obligations(), histories() and lemmas().
"""
import itertools

from trees import Malformed, both, check_names, check_tree, parse, show, swap, words

# ---- Theorems ----------------------------------------------------------------------------------------------------

class Action:
    def __init__(self, name, params):
        self.name, self.params = name, params
        self.guards, self.lets, self.puts = {}, {}, {}  # label: tree; of a put: (target, value)
        self.code = ''  # what it stands for


class Theorem:
    def __init__(self, name):
        self.name = name
        self.sorts, self.rigid, self.state, self.defs = [], {}, {}, {}
        self.axioms, self.init, self.actions, self.invariant, self.promises = {}, {}, {}, {}, {}
        self.lemmas, self.controls, self.reaches, self.sizes, self.by = {}, {}, {}, {}, {}

    def expand(self, tree):
        """Puts the bodies of `def`s where they are used."""
        if isinstance(tree, str):
            return tree
        tree = [self.expand(part) for part in tree]
        if tree and isinstance(tree[0], str) and tree[0] in self.defs:
            params, body = self.defs[tree[0]]
            return self.expand(swap(body, dict(zip(params, tree[1:]))))
        return tree

    def variant(self, changes):
        """A copy in which labels are left out (None) or have another tree."""
        t = Theorem(self.name)
        t.__dict__.update(self.__dict__)
        t.axioms, t.defs, t.actions = dict(self.axioms), dict(self.defs), {}
        for name, a in self.actions.items():
            b = t.actions[name] = Action(name, a.params)
            b.guards, b.lets, b.puts = dict(a.guards), dict(a.lets), dict(a.puts)
        for label, tree in changes.items():
            action, _, part = label.rpartition('.')
            a = t.actions.get(action)
            places = [t.axioms, t.defs] if not action else [a.guards, a.lets, a.puts] if a else []
            place = next((p for p in places if part in p), None)
            if place is None:
                raise Malformed(f'nothing is called {label}')
            if tree is None:
                del place[part]
            elif place is t.defs:
                place[part] = (place[part][0], tree)
            else:
                place[part] = (place[part][0], tree) if isinstance(place[part], tuple) else tree
        return t


def read_action(t, name, body):
    params = [(p[0], p[1:-1][0] if len(p) == 3 else [], p[-1]) for p in body[0]]
    a = t.actions[name] = Action(name, params)
    a.code = body[1]
    for kind, *rest in body[2:]:
        if kind == 'when':  # (when label "why" condition)
            a.guards[rest[0]] = rest[2]
        elif kind == 'let':
            a.lets[rest[0]] = rest[1]
        elif kind == 'put':  # (put [label] target value)
            label = rest[0] if len(rest) == 3 else f'put{len(a.puts)}'
            a.puts[label] = (rest[-2], rest[-1])
        else:
            raise Malformed(f'{name}: {kind}?')


def read_history(parts):
    """(without label...) (with label tree) (sizes (Sort n)...) (steps action...) (breaks promise)"""
    h = {'changes': {}, 'sizes': {}, 'steps': [], 'breaks': None, 'also': []}
    for kind, *rest in parts:
        if kind == 'without':
            h['changes'].update(dict.fromkeys(rest))
        elif kind == 'with':
            h['changes'][rest[0]] = rest[1]
        elif kind == 'sizes':
            h['sizes'] = {sort: int(size) for sort, size in rest}
        elif kind == 'steps':
            h['steps'] = rest
        elif kind == 'also':  # conditions on the rigid part, which make the history shorter to find
            h['also'] = rest
        else:
            h['breaks'] = rest[0]
    return h


def load(name, text):
    try:
        tree = parse(text)
        check_tree(tree)
        return read(name, tree)
    except Malformed as why:
        raise Malformed(f'{name}.thm: {why}') from None
    except (IndexError, TypeError, ValueError) as why:
        raise Malformed(f'{name}.thm: README.md knows no such form ({why})') from None


def read(name, tree):
    t, needed = Theorem(name), set()
    labelled = {'axiom': t.axioms, 'fact': t.axioms, 'init': t.init, 'invariant': t.invariant, 'promise': t.promises}
    for kind, key, *rest in tree:
        if kind == 'sizes':
            t.sizes = {sort: int(size) for sort, size in [key, *rest]}
        elif kind == 'sort':
            t.sorts.append(key)
        elif kind in ('rigid', 'state'):
            getattr(t, kind)[key] = (rest[0], rest[1])
        elif kind == 'def':
            t.defs[key] = ([p for p in rest[0]], rest[-1])
        elif kind in labelled:
            labelled[kind][key] = rest[-1]
            if kind == 'promise' and len(rest) == 3:
                t.by[key] = rest[1][1:]
                if not set(t.by[key]) < set(t.promises):
                    raise Malformed(f'{key} rests on what comes later')
            if kind == 'axiom':
                needed.add(key)
        elif kind == 'action':
            read_action(t, key, rest)
        elif kind == 'lemma':
            t.lemmas[key] = (rest[-2], rest[-1])
        elif kind == 'control':
            t.controls[key] = read_history(rest[1:])
        elif kind == 'reach':
            t.reaches[key] = read_history(rest)
        else:
            raise Malformed(f'{kind}?')
    needed |= {f'{a.name}.{g}' for a in t.actions.values() for g in a.guards}
    idle = set(t.actions) - {step for h in t.reaches.values() for step in h['steps']}
    check_names(t, {**t.controls, **t.reaches})
    for h in t.controls.values():
        t.variant(h['changes'])  # each of its labels is there
        needed -= set(h['changes'])
    if needed:
        raise Malformed(f'no control is without {sorted(needed)}')
    if idle:
        raise Malformed(f'no reach has the step {sorted(idle)}')
    return t


# ---- One step ----------------------------------------------------------------------------------------------------

def declare(name, args, sort):
    return f'(declare-fun {name} {show(args)} {sort})'


def step_text(t, a, old, new, tag, see):
    """Declares the parameters of the action, asserts its guards, and defines what it changes. `old` and `new` name the
    state before and after. Returns the text, the names of the parameters and those of the changed state."""
    local = {p: f'{p}{tag}' for p, _, _ in a.params}
    lines = [declare(local[p], args, sort) for p, args, sort in a.params]
    before = lambda tree: see(swap(t.expand(swap(tree, values)), {**old, **local}))
    values = {}
    for name, tree in a.lets.items():
        values[name] = swap(tree, values)
    lines += [f'(assert {show(before(g))})' for g in a.guards.values()]
    after = dict(old)
    for target, value in a.puts.values():
        target = [target] if isinstance(target, str) else target
        name, places = target[0], target[1:]
        args, sort = t.state[name]
        free = [p if isinstance(p, str) and p[0] == '?' else f'?{i}' for i, p in enumerate(places)]
        here = both(['=', v, p] for v, p in zip(free, places) if v != p)
        was = after[name] if not places else [after[name], *free]
        whole = ['ite', before(here), before(value), was]
        count = sum(1 for o, _ in a.puts.values() if (o if isinstance(o, str) else o[0]) == name)
        fresh = new[name] + ('' if count == 1 else f'.{len(lines)}')
        params = ' '.join(f'({v} {s})' for v, s in zip(free, args))
        lines.append(f'(define-fun {fresh} ({params}) {sort} {show(whole)})'.replace('?', 'any_'))
        after[name] = fresh
    return lines, local, after


# ---- Obligations: for any number of everything -------------------------------------------------------------------

def obligations(t):
    """Pairs of a name and a script that ends with check-sat: each must be unsat."""
    same = {s: s for s in t.state}
    text = lambda tree, names=same: show(swap(t.expand(tree), names))
    base = [f'(declare-sort {s} 0)' for s in t.sorts]
    base += [declare(n, *sig) for n, sig in {**t.rigid, **t.state}.items()]
    base += [f'(assert {text(a)})' for a in t.axioms.values()]
    holds = [f'(assert {text(i)})' for i in t.invariant.values()]
    begin = [f'(assert {text(i)})' for i in t.init.values()]
    yield 'init', base + begin, [(f'init: {n}', f'(assert (not {text(i)}))') for n, i in t.invariant.items()]
    for name, tree in t.promises.items():
        known = holds
        if name in t.by:  # a promise may rest on others instead of on the invariant
            known = [f'(assert {text(t.promises[other])})' for other in t.by[name]]
        yield 'promise', base + known, [(f'promise: {name}', f'(assert (not {text(tree)}))')]
    for a in t.actions.values():
        lines, _, after = step_text(t, a, same, {s: f'{s}.next' for s in t.state}, '.it', lambda tree: tree)
        goals = []
        for name, tree in t.invariant.items():
            tree = t.expand(tree)
            if any(after[w] != w for w in words(tree) & set(t.state)):
                goals.append((f'{a.name}: {name}', f'(assert (not {show(swap(tree, after))}))'))
        yield a.name, base + holds + lines, goals


def lemmas(t):
    for name, (names, tree) in t.lemmas.items():
        lines = [declare(n, [], sort) for n, sort in names]
        yield f'lemma: {name}', lines + [f'(assert (not {show(tree)}))']


# ---- Histories: few of everything, step by step ------------------------------------------------------------------

class History:
    """The script of a history, and what to ask the solver for afterwards: `told` has it for each step, `given` for what is
    fixed, `first` and `last` for the state. An ask is a label, a sort and a term. `simple` are wishes: with them the history
    is easier to read."""

    def __init__(self):
        self.lines, self.told, self.given, self.first, self.last, self.simple = [], [], [], [], [], []


def history(t, h, changes, begin=None):
    """`begin`: what holds at first, instead of the initial states."""
    t = t.variant(changes)
    things = {s: [f'{s.lower()}{i + 1}' for i in range({**t.sizes, **h['sizes']}[s])] for s in t.sorts}
    out = History()

    def see(tree):
        """Without quantifiers: each variable is each thing in turn."""
        if isinstance(tree, str) or not tree:
            return tree
        if tree[0] not in ('forall', 'exists'):
            return [see(part) for part in tree]
        names = [n for n, _ in tree[1]]
        cases = itertools.product(*(things[s] for _, s in tree[1]))
        parts = [see(swap(tree[2], dict(zip(names, case)))) for case in cases]
        return ['and' if tree[0] == 'forall' else 'or', *parts, 'true' if tree[0] == 'forall' else 'false']

    def calls(name, args):
        """A function at each place: pairs of its places and the term. There are too many places if one is a number."""
        cases = itertools.product(*(things.get(s, []) for s in args))
        return [(list(c), show([name, *c]) if args else name) for c in cases]

    lines = out.lines
    lines += [f'(declare-datatypes (({s} 0)) (({" ".join(f"({x})" for x in xs)})))' for s, xs in things.items()]
    lines += [declare(n, *sig) for n, sig in t.rigid.items()]
    now = {s: f'{s}_0' for s in t.state}
    lines += [declare(now[n], *sig) for n, sig in t.state.items()]
    lines += [f'(assert {show(see(t.expand(a)))})' for a in [*t.axioms.values(), *h['also']]]
    lines += [f'(assert {show(swap(see(t.expand(i)), now))})' for i in (begin or t.init).values()]
    for kind, asks in ((t.rigid, out.given), (t.state, out.first)):
        for name, (args, sort) in kind.items():
            own = calls(now.get(name, name), args)
            asks += [(show([name, *places]) if args else name, sort, term) for places, term in own]
            if sort in ('Real', 'Int'):
                out.simple += [f'(= {term} 0)' if kind is t.state else f'(<= {term} 10)' for _, term in own]
            elif kind is t.rigid and sort in things:  # no two share a value
                out.simple += [f'(distinct {a} {b})' for (_, a), (_, b) in itertools.combinations(own, 2)]
    last = {}
    for i, name in enumerate(h['steps'], 1):
        a = t.actions[name]
        text, local, now = step_text(t, a, now, {s: f'{s}_{i}' for s in t.state}, f'_{i}', see)
        lines += text
        ask = []
        for p, args, sort in a.params:
            ask += [(show([p, *places]) if args else p, sort, term) for places, term in calls(local[p], args)]
            if sort in ('Real', 'Int'):
                out.simple += [f'(<= 0 {term} 10)' for _, term in calls(local[p], args)]
            if not args and sort in last:  # the same thing as in the step before
                out.simple.append(f'(= {local[p]} {last[sort]})')
            if sort in things:
                last[sort] = local[p]
        out.told.append((name, ask))
    out.last = [(show([name, *places]) if args else name, sort, term) for name, (args, sort) in t.state.items()
                if now[name] != f'{name}_0' for places, term in calls(now[name], args)]
    if h['breaks']:
        broken = {**t.promises, **t.invariant}[h['breaks']]
        lines.append(f'(assert (not {show(swap(see(t.expand(broken)), now))}))')
    return out
