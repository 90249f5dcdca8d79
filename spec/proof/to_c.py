#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes C of a theorem: a checker that takes its actions one by one, over things that are there (traces.md).

  spec/proof/to_c.py lock >theorem_lock.h

The header has a struct with all that is rigid and all that is state, as arrays; for each action a function that refuses
where a `when` does not hold, and then puts; and for each sentence (axiom, invariant, promise) a function that finds things
for which it is false. After an action the sentences are asked that speak of what it has changed. A refusal is a text in
`why`: the rule, and the value of each term in it. Reals are whole numbers, in a unit that the caller chooses.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import notation  # noqa: E402

SIZES = {'Node': 7, 'Quorum': 100, 'Claim': 120, 'Value': 128, 'Ttl': 120, 'Enter': 250, 'Key': 12, 'Name': 4, 'Repair': 60,
         'Round': 160, 'Token': 128, 'Int': 64}
# Words of C, and what this file calls its own variables and functions.
TAKEN = set('auto bool break case char const continue default do double else enum extern false float for goto if inline int '
            'long real refuse register return s short signed sizeof static struct switch times true typedef union unsigned '
            'void volatile while why'.split())
INFIX = {'and': '&&', 'or': '||', '+': '+', '-': '-', '<': '<', '<=': '<=', '>': '>', '>=': '>=', '=': '=='}
WIDE = 'Quorum'  # sentences about all of these are not asked when only time has passed


def plain(variable):
    """`?x` of the notation is any_x in C."""
    return 'any_' + variable[1:] if variable[0] == '?' else variable


class C:
    """The C of one theorem."""

    def __init__(self, theorem):
        self.t, self.out, self.loops = theorem, [], 0
        self.named = {**theorem.rigid, **theorem.state}
        self.number = 'Int' if any(sort == 'Int' for _, sort in theorem.state.values()) else 'Real'

    def sort(self, tree, env):
        """Bool, Real, or a sort of things."""
        if isinstance(tree, str):
            if tree in env:
                return env[tree][1]
            return self.named[tree][1] if tree in self.named else 'Bool' if tree in ('true', 'false') else self.number
        head = tree[0]
        if head in env:
            return env[head][1]
        if head in self.named:
            return self.named[head][1]
        return self.sort(tree[2], env) if head == 'ite' else self.number if head in '+-*/' else 'Bool'

    @staticmethod
    def type(sort):
        return {'Bool': 'bool', 'Real': 'real', 'Int': 'int64_t'}.get(sort, 'unsigned')

    def takes(self, name, args, sort):
        """A parameter: one that has places is an array."""
        return f', {"const " if args else ""}{self.type(sort)} {name}' + ''.join(f'[{SIZES[s]}]' for s in args)

    def text(self, tree, env):
        """An expression. `env`: a variable, and what it is in C, its sort, and whether it has places."""
        if isinstance(tree, str):
            if tree in env:
                return env[tree][0]
            return f's->{tree}' if tree in self.named else tree.removesuffix('.0')
        head, *rest = tree
        if head in ('forall', 'exists'):
            return self.loop(tree, env)
        parts = [self.text(part, env) for part in rest]
        if head in env or head in self.named:
            return (env[head][0] if head in env else f's->{head}') + ''.join(f'[{p}]' for p in parts)
        if head == '=>':
            return f'(!({parts[0]}) || ({parts[1]}))'
        if head == 'ite':
            return f'(({parts[0]}) ? ({parts[1]}) : ({parts[2]}))'
        if head == 'not':
            return f'!({parts[0]})'
        if head == 'distinct':
            return f'({parts[0]} != {parts[1]})'
        if head == '-' and len(parts) == 1:
            return f'(-{parts[0]})'
        if len(parts) > 2 and head[0] in '<>=':  # each with the next one
            return '(' + ' && '.join(f'{a} {INFIX[head]} {b}' for a, b in zip(parts, parts[1:])) + ')'
        return '(' + f' {INFIX[head]} '.join(parts) + ')'

    @staticmethod
    def nest(names, lines):
        """Lines for each thing of each variable."""
        text = []
        for i, (v, sort) in enumerate(names):
            text += ['\t' * (2 * i + 1) + f'for (unsigned {v} = 0; {v} < s->most_{sort}; {v}++)',
                     '\t' * (2 * i + 2) + f'if (s->is_{sort}[{v}])']
        return text + ['\t' * (2 * len(names) + 1) + line for line in lines]

    def loop(self, tree, env):
        """A quantifier inside of an expression is a function of the variables that it sees."""
        kind, names, body = tree
        self.loops += 1
        name = f'{self.t.name}_{kind}_{self.loops}'
        seen = [v for v in env if v in notation.words(body) and v not in dict(names)]
        inner = {**env, **{v: (v, sort, []) for v, sort in names}, **{v: (plain(v), *env[v][1:]) for v in seen}}
        takes = ''.join(self.takes(plain(v), env[v][2], env[v][1]) for v in seen)
        test = self.text(body, inner)
        good = kind == 'forall'
        self.out += [f'static inline bool {name}(const struct {self.t.name} *s{takes})', '{',
                     *self.nest(names, [f'if ({"!" if good else ""}({test}))', f'\treturn {"false" if good else "true"};']),
                     f'\treturn {"true" if good else "false"};', '}']
        return f'{name}(s{"".join(", " + env[v][0] for v in seen)})'

    # ---- A false sentence is told with the value of each term ---------------------------------------------------

    def terms(self, tree, env, found):
        """The terms of a sentence that have a value of their own, outside of inner quantifiers."""
        if isinstance(tree, str):
            if tree in self.named or tree in env:
                found.setdefault(tree, tree)
            return
        if tree and tree[0] in ('forall', 'exists'):
            return
        if tree[0] in self.named or tree[0] in env:
            if not any(isinstance(p, list) and p[0] in ('forall', 'exists') for p in tree):
                found.setdefault(notation.show(tree), tree)
        for part in tree[1:]:
            self.terms(part, env, found)

    def refusal(self, test, rule, sentence, tree, env):
        found = {}
        self.terms(tree, env, found)
        lines = [f'if (!({test})) {{', f'\trefuse(s, "{rule}: {sentence}");']
        for shown, term in found.items():
            sort = self.sort(term, env)
            lines.append(f'\ttell_{sort if sort in ("Bool", "Real", "Int") else "thing"}(s, "{shown}", {self.text(term, env)});')
        return [*lines, '\treturn false;', '}']

    def sentence(self, label, kind, text, tree):
        tree = self.t.expand(tree)
        names, body = (tree[1], tree[2]) if tree[0] == 'forall' else ([], tree)
        env = {v: (v, sort, []) for v, sort in names}
        lines = self.refusal(self.text(body, env), f'{kind} {label}', text, body, env)
        self.out += [f'static inline bool {self.t.name}_{label}(struct {self.t.name} *s)', '{', *self.nest(names, lines),
                     '\treturn true;', '}']

    # ---- Actions -------------------------------------------------------------------------------------------------

    def action(self, a, texts):
        env = {p: (p, sort, args) for p, args, sort in a.params}
        takes = ''.join(self.takes(p, args, sort) for p, args, sort in a.params)
        inlined = {}
        body = []
        for label, tree in a.guards.items():
            tree = self.t.expand(tree)
            names, inner = (tree[1], tree[2]) if tree[0] == 'forall' else ([], tree)
            there = {**env, **{v: (v, sort, []) for v, sort in names}}
            body += self.nest(names, self.refusal(self.text(inner, there), f'{a.name}.{label}', texts[a.name, label], inner,
                                                  there))
        for name, tree in a.lets.items():
            tree = self.t.expand(tree)
            if any(w[0] == '?' for w in notation.words(tree)):
                inlined[name] = tree
                continue
            body.append(f'\t{self.type(self.sort(tree, env))} {name} = {self.text(tree, env)};')
            env[name] = (name, self.sort(tree, env), [])
        body += self.puts(a, env, inlined)
        written = self.written(a)
        body += [f'\ts->times[{self.t.name.upper()}_{a.name.upper()}]++;', '\treturn true'
                 + ''.join(f'\n\t    && {self.t.name}_{label}(s)' for label in self.asked(a, written)) + ';']
        self.out += [f'/* {a.code} */', f'static inline bool {self.t.name}_{a.name}(struct {self.t.name} *s{takes})', '{',
                     *body, '}']

    @staticmethod
    def written(a):
        return [target[0] for target, _ in a.puts.values()]

    def asked(self, a, written):
        for kind in (self.t.invariant, self.t.promises):
            for label, tree in kind.items():
                words = notation.words(self.t.expand(tree))
                if words & set(written) and (a.params and a.params[0][1] == [] or WIDE not in words):
                    yield label

    def puts(self, a, env, inlined):
        """Each put reads what was before the action: so no put may read what one before it has written elsewhere."""
        lines, done = [], set()
        for (name, *places), value in a.puts.values():
            value = self.t.expand(notation.swap(value, inlined))
            places = [self.t.expand(p) for p in places]
            for other in notation.words(value) | set().union(set(), *map(notation.words, places)):
                if other in done:
                    raise notation.Malformed(f'{self.t.name}.thm: {a.name}: {other} is read in the put of {name}, after its own put: '
                                             'move that put to the end, or name the old value by a let')
            done.add(name)
            sorts = {p: sort for p, sort in zip(places, self.named[name][0]) if isinstance(p, str)}
            free = [(plain(p), sort) for p, sort in sorts.items() if p[0] == '?']
            there = {**env, **{'?' + v[4:]: (v, sort, []) for v, sort in free}}
            place = self.text([name, *places] if places else name, there)
            lines += self.nest(free, [f'{place} = {self.text(value, there)};'])
        return lines

    def whole(self, texts):
        t, name = self.t, self.t.name
        fields = [f'\tbool is_{s}[{SIZES[s]}];\n\tunsigned most_{s}; /* all of them are below it */' for s in t.sorts]
        for f, (args, sort) in self.named.items():
            fields.append(f'\t{self.type(sort)} {f}{"".join(f"[{SIZES[s]}]" for s in args)};')
        upper = name.upper()
        for label, tree in {**t.axioms, **t.invariant, **t.promises}.items():
            kind = 'axiom' if label in t.axioms else 'invariant' if label in t.invariant else 'promise'
            self.sentence(label, kind, texts[kind, label], tree)
        for a in t.actions.values():
            self.action(a, texts)
        return [f'/* Made of spec/proof/{name}.thm by spec/proof/to_c.py. */', '#pragma once',
                'enum {', *[f'\t{upper}_{a.upper()},' for a in t.actions], f'\t{upper}_ACTIONS', '};',
                f'#define {upper}_NAMES {", ".join(chr(34) + a + chr(34) for a in t.actions)}',
                f'struct {name} {{', *fields, f'\tuint64_t times[{upper}_ACTIONS];', '\tchar why[1024];', '};',
                *self.out]


def sentences(tree):
    """The texts of axioms, invariants and promises, and of the guards of actions."""
    texts = {}
    for kind, key, *rest in tree:
        if kind in ('axiom', 'fact', 'invariant', 'promise'):
            texts['axiom' if kind == 'fact' else kind, key] = rest[0].strip('"')
        if kind == 'action':
            texts.update({(key, part[1]): part[2].strip('"') for part in rest
                          if isinstance(part, list) and part[:1] == ['when'] and len(part) > 3})
    return {k: ' '.join(v.split()) for k, v in texts.items()}


def names(tree):
    """Yields the names of state, parameters and variables, which become names of C."""
    if isinstance(tree, str) or not tree:
        return
    if tree[0] in ('rigid', 'state', 'let'):
        yield tree[1]
    elif tree[0] in ('forall', 'exists', 'action'):
        yield from (v[0] for v in tree[2 if tree[0] == 'action' else 1])
    for part in tree:
        yield from names(part)


def header(name, text):
    theorem = notation.load(name, text)
    for item in notation.parse(text):
        for word in names(item):
            if word in TAKEN or not re.fullmatch(r'[A-Za-z]\w*', word):
                raise notation.Malformed(f'{name}.thm: {item[0]} {notation.show(item[1])}: nothing can be called {word}, as the '
                                         'theorem becomes C too')
    unknown = set(theorem.sorts) - set(SIZES)
    if unknown:
        raise notation.Malformed(f'{name}.thm: to_c.py has no entry in SIZES for {sorted(unknown)}')
    return '\n'.join(C(theorem).whole(sentences(notation.parse(text))))


def main(name):
    print(header(name, (pathlib.Path(__file__).resolve().parent / f'{name}.thm').read_text()))


if __name__ == '__main__':
    main(sys.argv[1])
