# SPDX-License-Identifier: MIT
"""The notation of the theorems (*.thm), and what it becomes: SMT-LIB. README.md explains the notation by an example.

`check` reads theorems with load(), and asks solvers about obligations() and histories. A tree is a word or a list of trees.
"""
import copy
import itertools
import re
from types import SimpleNamespace

# ---- Trees -------------------------------------------------------------------------------------------------------

class Malformed(Exception):
    """A theorem breaks a rule of the notation."""


def parse(text):
    stack = [[]]
    for token in re.findall(r'"[^"]*"|;.*|[()]|[^\s()";]+', text):
        if token == '(':
            stack.append([])
        elif token != ')' and token[0] != ';':
            stack[-1].append(token)
        elif token == ')' and len(stack) > 1:
            stack[-2].append(stack.pop())
        elif token == ')':
            raise Malformed('a parenthesis too many')
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


# ---- Theorems ----------------------------------------------------------------------------------------------------

# How an item is written. Its text in quotes must be there.
FORMS = {'axiom': '(axiom name "why" sentence)', 'fact': '(fact name "why" sentence)',
         'invariant': '(invariant name "why" sentence)', 'promise': '(promise name "what" sentence)',
         'action': '(action name (parameters) "what it stands for" (when ...) (put ...))', 'when': '(when name "why" condition)',
         'control': '(control name "title" (without action.name) (steps ...) (breaks promise))'}


class Theorem:
    def __init__(self, name):
        self.name = name
        self.sorts, self.rigid, self.state, self.defs, self.assumed = [], {}, {}, {}, set()
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
        t = copy.deepcopy(self)
        for label, tree in changes.items():
            action, _, part = label.rpartition('.')
            a = t.actions.get(action)
            places = [a.guards, a.lets, a.puts] if a else [] if action else [t.axioms, t.defs]
            place = next((p for p in places if part in p), None)
            if place is None:
                raise Malformed(f'nothing is called {label}')
            if tree is None:
                del place[part]
            else:  # of a put, the value; of a def, the condition
                place[part] = (place[part][0], tree) if isinstance(place[part], tuple) else tree
        return t


def check_text(item):
    """Raises Malformed where a text or a part is missing: otherwise the next part would silently count as the text."""
    if item[0] in FORMS:
        text = item[3 if item[0] == 'action' else 2]
        if len(item) < 4 or not isinstance(text, str) or text[0] != '"':
            raise Malformed(f'a part is missing: {FORMS[item[0]]}')


def read_action(name, body):
    params = [(p[0], p[1] if len(p) == 3 else [], p[-1]) for p in body[0]]
    a = SimpleNamespace(name=name, params=params, code=body[1], guards={}, lets={}, puts={})  # label: tree
    for part in body[2:]:
        kind, *rest = part
        if kind == 'put':  # (put [label] target value)
            target = [rest[-2]] if isinstance(rest[-2], str) else rest[-2]
            a.puts[rest[0] if len(rest) == 3 else f'put{len(a.puts)}'] = (target, rest[-1])
        else:
            check_text(part)
            {'when': a.guards, 'let': a.lets}[kind][rest[0]] = rest[-1]
    return a


def read_history(kind, parts):
    h = {'changes': {}, 'sizes': {}, 'steps': [], 'breaks': None, 'also': []}
    for part, *rest in parts:
        if part == 'without':
            h['changes'].update(dict.fromkeys(rest))
        elif part == 'with':
            h['changes'][rest[0]] = rest[1]
        elif part == 'sizes':
            h['sizes'] = {sort: int(size) for sort, size in rest}
        else:
            h[part] = rest[0] if part == 'breaks' else rest
    if len(h) != 5 or not h['steps'] or (kind == 'control') != (h['breaks'] is not None):
        raise Malformed(f'its parts are {sorted(h)}: {FORMS["control"]}, (reach name (steps ...))')
    return h


def read_item(t, kind, key, *rest):
    labelled = {'axiom': t.axioms, 'fact': t.axioms, 'init': t.init, 'invariant': t.invariant, 'promise': t.promises}
    pairs = {'rigid': t.rigid, 'state': t.state, 'def': t.defs, 'lemma': t.lemmas}
    check_text([kind, key, *rest])
    if kind == 'sizes':
        t.sizes = {sort: int(size) for sort, size in [key, *rest]}
    elif kind == 'sort':
        t.sorts.append(key)
    elif kind in pairs:
        pairs[kind][key] = (rest[-2], rest[-1])
    elif kind in labelled:
        labelled[kind][key] = rest[-1]
        if kind == 'axiom':
            t.assumed.add(key)
        if kind == 'promise' and len(rest) == 3:  # it rests on other promises, instead of on the invariant
            t.by[key] = [t.promises[other] for other in rest[1][1:]]
    elif kind == 'action':
        t.actions[key] = read_action(key, rest)
    else:
        {'control': t.controls, 'reach': t.reaches}[kind][key] = read_history(kind, rest[kind == 'control':])


def check_names(t):
    """Raises Malformed where a history names what the theorem does not have, or where a history is missing."""
    for name, h in {**t.controls, **t.reaches}.items():
        strange = set(h['steps']) - set(t.actions) | set(h['sizes']) - set(t.sorts) | {h['breaks']} - {None, *t.promises}
        if strange:
            raise Malformed(f'{name} names {sorted(strange)}, which is not there')
        t.variant(h['changes'])  # each of its labels is there
    needed = {*t.assumed, *(f'{a.name}.{guard}' for a in t.actions.values() for guard in a.guards)}
    alone = needed.difference(*(h['changes'] for h in t.controls.values()))
    idle = set(t.actions).difference(*(h['steps'] for h in t.reaches.values()))
    if alone or idle:
        raise Malformed(f'no control is without {sorted(alone)}' if alone else f'no reach has the step {sorted(idle)}')


def load(name, text):
    t, seen, head = Theorem(name), set(), ''
    groups = [('axiom', 'fact', 'invariant', 'promise', 'action'), ('state', 'rigid'), ('control', 'reach')]
    try:
        for item in parse(text):
            head = f'{show(item[:2])[1:-1]}: '
            key = (next((g for g in groups if item[0] in g), item[0]), head.split()[1])
            if key in seen:
                raise Malformed('something else has this name')
            seen.add(key)
            read_item(t, *item)
        head = ''
        check_names(t)
    except Malformed as why:
        raise Malformed(f'{name}.thm: {head}{why}') from None
    except (IndexError, KeyError, TypeError, ValueError):
        raise Malformed(f'{name}.thm: {head}README.md knows no such form: {show(item)[:90]}') from None
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
    for (name, *places), value in a.puts.values():
        args, sort = t.state[name]
        free = [p if isinstance(p, str) and p[0] == '?' else f'?{i}' for i, p in enumerate(places)]
        here = ['and', 'true', *(['=', v, p] for v, p in zip(free, places) if v != p)]
        was = after[name] if not places else [after[name], *free]
        whole = ['ite', before(here), before(value), was]
        fresh = f'{new[name]}.{len(lines)}'
        params = ' '.join(f'({v} {s})' for v, s in zip(free, args))
        lines.append(f'(define-fun {fresh} ({params}) {sort} {show(whole)})'.replace('?', 'any_'))
        after[name] = fresh
    return lines, local, after


# ---- Obligations: for any number of everything -------------------------------------------------------------------

def obligations(t):
    """Names, scripts and goals: what is asserted, and each negated goal, must be unsat. A goal has a name, too."""
    same = {s: s for s in t.state}
    text = lambda tree: show(t.expand(tree))
    base = [f'(declare-sort {s} 0)' for s in t.sorts]
    base += [declare(n, *sig) for n, sig in {**t.rigid, **t.state}.items()]
    base += [f'(assert {text(a)})' for a in t.axioms.values()]
    holds = [f'(assert {text(i)})' for i in t.invariant.values()]
    begin = [f'(assert {text(i)})' for i in t.init.values()]
    yield 'init', base + begin, [(f'init: {n}', f'(assert (not {text(i)}))') for n, i in t.invariant.items()]
    for name, tree in t.promises.items():
        known = [f'(assert {text(other)})' for other in t.by[name]] if name in t.by else holds
        yield 'promise', base + known, [(f'promise: {name}', f'(assert (not {text(tree)}))')]
    sentences = [(name, t.expand(tree)) for name, tree in t.invariant.items()]
    for a in t.actions.values():
        lines, _, after = step_text(t, a, same, {s: f'{s}.next' for s in t.state}, '.it', lambda tree: tree)
        goals = [(f'{a.name}: {name}', f'(assert (not {show(swap(tree, after))}))') for name, tree in sentences
                 if any(after[w] != w for w in words(tree) & set(t.state))]
        yield a.name, base + holds + lines, goals
    for name, (names, tree) in t.lemmas.items():
        yield 'lemma', [declare(n, [], sort) for n, sort in names], [(f'lemma: {name}', f'(assert (not {show(tree)}))')]


# ---- Histories: few of everything, step by step ------------------------------------------------------------------

def history(t, h, changes, begin=None):
    """The script of a history, and what to ask the solver for afterwards: `told` has it for each step, `given` for what is
    fixed, `first` and `last` for the state. An ask is a label, a sort and a term. `simple` are wishes: with them the history
    is easier to read. `begin`: what holds at first, instead of the initial states."""
    t = t.variant(changes)
    things = {s: [f'{s.lower()}{i + 1}' for i in range({**t.sizes, **h['sizes']}[s])] for s in t.sorts}
    out = SimpleNamespace(lines=[], told=[], given=[], first=[], simple=[])

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

    def asks(name, args, sort, term):
        """A function at each place. There are too many places if one is a number."""
        for place in itertools.product(*(things.get(s, []) for s in args)):
            yield (show([name, *place]), sort, show([term, *place])) if args else (name, sort, term)

    lines = out.lines
    lines += [f'(declare-datatypes (({s} 0)) (({" ".join(f"({x})" for x in xs)})))' for s, xs in things.items()]
    lines += [declare(n, *sig) for n, sig in t.rigid.items()]
    now = {s: f'{s}_0' for s in t.state}
    lines += [declare(now[n], *sig) for n, sig in t.state.items()]
    lines += [f'(assert {show(see(t.expand(a)))})' for a in [*t.axioms.values(), *h['also']]]
    lines += [f'(assert {show(swap(see(t.expand(i)), now))})' for i in (begin or t.init).values()]
    for kind, found in ((t.rigid, out.given), (t.state, out.first)):
        for name, (args, sort) in kind.items():
            own = list(asks(name, args, sort, now.get(name, name)))
            found += own
            if sort in ('Real', 'Int'):
                out.simple += [f'(= {term} 0)' if kind is t.state else f'(<= {term} 10)' for _, _, term in own]
            elif kind is t.rigid and sort in things:  # no two share a value
                out.simple += [f'(distinct {a[2]} {b[2]})' for a, b in itertools.combinations(own, 2)]
    last = {}
    for i, name in enumerate(h['steps'], 1):
        a = t.actions[name]
        text, local, now = step_text(t, a, now, {s: f'{s}_{i}' for s in t.state}, f'_{i}', see)
        lines += text
        out.told.append((name, [ask for p, args, sort in a.params for ask in asks(p, args, sort, local[p])]))
        for p, args, sort in a.params:
            if sort in ('Real', 'Int'):
                out.simple += [f'(<= 0 {term} 10)' for _, _, term in asks(p, args, sort, local[p])]
            if not args and sort in last:  # the same thing as in the step before
                out.simple.append(f'(= {local[p]} {last[sort]})')
            if sort in things:
                last[sort] = local[p]
    changed = {n: sig for n, sig in t.state.items() if now[n] != f'{n}_0'}
    out.last = [ask for name, (args, sort) in changed.items() for ask in asks(name, args, sort, now[name])]
    if h['breaks']:
        broken = {**t.promises, **t.invariant}[h['breaks']]
        lines.append(f'(assert (not {show(swap(see(t.expand(broken)), now))}))')
    return out
