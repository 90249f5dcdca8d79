# SPDX-License-Identifier: MIT
"""The text of a theorem as trees, and what is refused in it before anything is asked or generated.

A tree is a word or a list of trees. notation.py gives the trees their meaning.
"""
import re

# Words of C, and what to_c.py calls its own variables and functions.
TAKEN = set('auto bool break case char const continue default do double else enum extern false float for goto if inline int '
            'long real refuse register return s short signed sizeof static struct switch times true typedef union unsigned '
            'void volatile while why'.split())
# How an item is written. Its text in quotes must be there.
FORMS = {'axiom': '(axiom name "why" sentence)', 'fact': '(fact name "why" sentence)',
         'invariant': '(invariant name "why" sentence)', 'promise': '(promise name "what" sentence)',
         'action': '(action name (parameters) "what it stands for" (when ...) (put ...))', 'when': '(when name "why" condition)',
         'control': '(control name "title" (without action.name) (steps ...) (breaks promise))'}
HISTORY = {'without', 'with', 'sizes', 'steps', 'also', 'breaks'}


class Malformed(Exception):
    """A theorem breaks a rule of the notation."""


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


# ---- Refusals ----------------------------------------------------------------------------------------------------

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


def check_item(item):
    """Raises Malformed where a text or a part is missing: otherwise the next part would silently count as the text."""
    kind = item[0]
    if kind in FORMS:
        text = item[3 if kind == 'action' else 2]
        if not isinstance(text, str) or text[0] != '"' or len(item) < 4:
            raise Malformed(f'a part is missing: {FORMS[kind]}')
    for part in item[4:] if kind == 'action' else []:
        if part[0] == 'when':
            check_item(part)
    if kind in ('control', 'reach'):
        parts = {part[0] for part in item[3 if kind == 'control' else 2:]}
        if parts - HISTORY or 'steps' not in parts or (kind == 'control') != ('breaks' in parts):
            raise Malformed(f'its parts are {sorted(parts)}: {FORMS["control"]}, (reach name (steps ...))')


def check_tree(tree):
    same, seen = {'fact': 'axiom', 'invariant': 'axiom', 'promise': 'axiom', 'action': 'axiom', 'state': 'rigid',
                  'control': 'reach'}, set()
    for item in tree:
        try:
            head = f'{item[0]} {show(item[1])}'
            check_item(item)
            for word in names(item):
                if word in TAKEN or not re.fullmatch(r'[A-Za-z]\w*', word):
                    raise Malformed(f'nothing can be called {word}, as the theorem becomes C too')
            key = f'{same.get(item[0], item[0])} {show(item[1])}'
            if key in seen:
                raise Malformed('something else has this name')
            seen.add(key)
        except (IndexError, TypeError):
            raise Malformed(f'README.md knows no such form: {show(item)[:90]}') from None
        except Malformed as why:
            raise Malformed(f'{head}: {why}') from None


def check_names(t, histories):
    """Raises Malformed where a history names what the theorem does not have."""
    for name, h in histories.items():
        strange = set(h['steps']) - set(t.actions) | set(h['sizes']) - set(t.sorts) | {h['breaks']} - {None, *t.promises}
        if strange:
            raise Malformed(f'{name} names {sorted(strange)}, which is not there')
