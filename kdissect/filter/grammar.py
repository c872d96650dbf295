"""From the text of a filter to its syntax tree: the grammar, and what to say about text that does not follow it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from kdissect.filter.errors import FilterError

if TYPE_CHECKING:
    from lark import Lark, Token, Tree, UnexpectedToken

LONGEST: Final = 10_000
"""Characters of a filter; more is no filter that anybody writes, and would only take long to refuse."""

# A word is a number with its unit, an address, a time, a name.  A keyword is one only as a whole word, and not where
# a value stands: `topic == in` compares with the topic named "in".
_GRAMMAR: Final = r"""
?start: either
?either: both (_OR both)*
?both: negated (_AND negated)*
?negated: _NOT negated      -> negation
        | _LPAR either _RPAR
        | FIELD             -> presence
        | FIELD OP value    -> comparison
        | FIELD _IN choice  -> membership
        | FIELD _NOT _IN choice -> absence
value: WORD WORD? | STRING
?choice: value | set
set: _LBRACE value (_COMMA value)* _RBRACE

_OR.3: /or(?![^\s(){}"',=!<>&|~])|\|\|/i
_AND.3: /and(?![^\s(){}"',=!<>&|~])|&&/i
_NOT.3: /not(?![^\s(){}"',=!<>&|~])|!(?!=)/i
_IN.3: /in(?![^\s(){}"',=!<>&|~])/i
OP.3: /(?:eq|ne|any_eq|all_eq|any_ne|all_ne|lt|le|gt|ge|contains|matches)(?![^\s(){}"',=!<>&|~])|===|!==|[=!<>]=|[<>~=]/i
STRING.2: /r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*'/s
FIELD.1: /(?!(?:and|or|not|in)(?![^\s(){}"',=!<>&|~]))[^\s(){}"',=!<>&|~]+/i
WORD: /[^\s(){}"',=!<>&|~]+/
_LPAR: "("
_RPAR: ")"
_LBRACE: "{"
_RBRACE: "}"
_COMMA: ","
%ignore /\s+/
"""

OPERATORS: Final = {
    "eq": "==", "any_eq": "==", "ne": "!=", "all_ne": "!=", "any_ne": "!==", "all_eq": "===",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "~": "matches",
}  # fmt: skip
"""Other ways to write an operator, and what the tree has for it."""


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="contextual")


def parse(text: str) -> Tree[Token]:
    """The syntax tree; :class:`FilterError` for text that is no filter."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if not text.strip():
        raise FilterError("the filter is empty", text, len(text), len(text))
    if len(text) > LONGEST:
        raise FilterError(f"the filter has {len(text):,} characters, more than {LONGEST:,}", text, LONGEST, LONGEST)
    try:
        return _parser().parse(text)
    except UnexpectedCharacters as error:
        raise _bad_character(text, error.pos_in_stream or 0) from None
    except UnexpectedToken as error:
        raise _bad_token(text, error) from None


def _bad_character(text: str, at: int) -> FilterError:
    char = text[at]
    if char in "\"'":
        return FilterError("a quotation mark that is not closed", text, at, len(text))
    if char in "&|":
        return FilterError(f"a single {char}", text, at, at + 1, [f"{char}{char}"])
    return FilterError(f"{char} has no place here; put quotation marks around text", text, at, at + 1)


def _bad_token(text: str, error: UnexpectedToken) -> FilterError:
    token, expected = error.token, set(error.accepts or error.expected)
    at_end = token.type == "$END"
    start = len(text.rstrip()) if at_end else token.start_pos or 0
    end = start if at_end else start + len(token)
    shown = "" if at_end else f", not {_quoted(token)}"
    if "_RBRACE" in expected:
        return FilterError(f"expected a comma or the set's closing brace{shown}", text, start, end)
    if at_end and "_RPAR" in expected:
        opened = _unclosed(text)
        return FilterError("a parenthesis that is not closed", text, opened, opened + 1)
    if "_NOT" in expected and "_LPAR" in expected:
        return FilterError(f"expected a condition{shown}", text, start, end)
    if "_LBRACE" in expected:
        return FilterError(f"expected a set in braces, or a value{shown}", text, start, end)
    if "STRING" in expected:
        return FilterError(f"expected a value{shown}", text, start, end)
    if "OP" in expected:
        return FilterError(f"expected an operator, such as == or contains, or the end{shown}", text, start, end)
    if expected == {"_IN"}:
        return FilterError(f"expected in{shown}", text, start, end)
    if token.type == "_RPAR":
        return FilterError("a parenthesis that was not opened", text, start, end)
    return FilterError(f"expected and, or or the end{shown}", text, start, end)


def _quoted(token: Token) -> str:
    return token if len(token) <= 40 else f"{token[:39]}…"


def _unclosed(text: str) -> int:
    """Where the innermost parenthesis opens that is still open at the end."""
    opened: list[int] = []
    for token in _parser().lex(text):
        if token.type == "_LPAR":
            opened.append(token.start_pos or 0)
        elif token.type == "_RPAR":
            opened.pop()
    return opened[-1]
