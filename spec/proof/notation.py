# SPDX-License-Identifier: MIT
"""The notation of the theorems (*.thm), and what it becomes: SMT-LIB. README.md explains the notation by an example.

`check` reads theorems with load() and asks solvers about obligations(), histories() and lemmas().
"""
import itertools
import re


class Malformed(Exception):
    """A theorem breaks a rule of the notation."""


# ---- Text and trees: a tree is a word or a list of trees ---------------------------------------------------------

def parse(text):
    tokens = re.findall(r'"[^"]*"|[()]|[^\s()";]+', re.sub(r'"[^"]*"|;.*', lambda m: m[0] if m[0][0] == '"' else '', text))
    stack = [[]]
    for token in tokens:
        if token == '(':
            stack.append([])
        elif token == ')':
            if len(stack) < 2:
                raise Malformed('a parenthesis too many')
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise Malformed('a parenthesis is not closed')
    return stack[0]


def show(tree):
    return tree if isinstance(tree, str) else '(' + ' '.join(map(show, tree)) + ')'


def swap(tree, names):
    """The tree with words replaced by trees."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    return [swap(part, names) for part in tree]


def words(tree):
    return {tree} if isinstance(tree, str) else set().union(*map(words, tree))


def both(trees):
    return ['and', 'true', *trees]


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
            places = [t.axioms, t.defs] if not action else [t.actions[action].guards, t.actions[action].lets, t.actions[action].puts]
            place = next((p for p in places if part in p), None)
            if place is None:
                raise Malformed(f'{self.name}: nothing is called {label}')
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
    t = Theorem(name)
    needed = set()
    labelled = {'axiom': t.axioms, 'fact': t.axioms, 'init': t.init, 'invariant': t.invariant, 'promise': t.promises}
    for kind, key, *rest in parse(text):
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
                    raise Malformed(f'{name}: {key} rests on what comes later')
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
            raise Malformed(f'{name}: {kind}?')
    needed |= {f'{a.name}.{g}' for a in t.actions.values() for g in a.guards}
    idle = set(t.actions) - {step for h in t.reaches.values() for step in h['steps']}
    for h in t.controls.values():
        t.variant(h['changes'])  # each of its labels is there
        needed -= set(h['changes'])
    if needed or idle:
        raise Malformed(f'{name}: no control for {sorted(needed)}, not reached: {sorted(idle)}')
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

def history(t, h, changes):
    """The script of a history, and what to ask the solver for afterwards, step by step."""
    t = t.variant(changes)
    things = {s: [f'{s.lower()}{i + 1}' for i in range({**t.sizes, **h['sizes']}[s])] for s in t.sorts}

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

    lines = [f'(declare-datatypes (({s} 0)) (({" ".join(f"({x})" for x in xs)})))' for s, xs in things.items()]
    lines += [declare(n, *sig) for n, sig in t.rigid.items()]
    now = {s: f'{s}_0' for s in t.state}
    lines += [declare(now[n], *sig) for n, sig in t.state.items()]
    lines += [f'(assert {show(see(t.expand(a)))})' for a in [*t.axioms.values(), *h['also']]]
    lines += [f'(assert {show(swap(see(t.expand(i)), now))})' for i in t.init.values()]
    told = []
    for i, name in enumerate(h['steps'], 1):
        a = t.actions[name]
        text, local, now = step_text(t, a, now, {s: f'{s}_{i}' for s in t.state}, f'_{i}', see)
        lines += text
        ask = []
        for p, args, _ in a.params:
            calls = [[local[p], *case] for case in itertools.product(*(things[s] for s in args))] if args else [local[p]]
            ask += [(show([p, *c[1:]]) if args else p, show(c)) for c in calls]
        told.append((name, ask))
    if h['breaks']:
        lines.append(f'(assert (not {show(swap(see(t.expand(t.promises[h["breaks"]])), now))}))')
    return lines, told
