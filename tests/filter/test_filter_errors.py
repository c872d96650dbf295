"""What users are told about filters that mean nothing: the line, the place, the suggestion."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kdissect.filter import Filter, FilterError, compile_filter
from kdissect.filter.grammar import LONGEST
from tests.filter.exchanges_to_filter import exchange

GOLDEN = [
    ("", "the filter is empty", "^"),
    ("latencyy > 50ms", "there is no field latencyy; did you mean latency or latency_ms?", "^~~~~~~~"),
    ("api == Prodcue and error", "there is no API Prodcue; did you mean Produce?", "       ^~~~~~~"),
    ("api in {Fetch, Metdata}", "there is no API Metdata; did you mean Metadata?", "               ^~~~~~~"),
    ("error == NOT_LEADER", "there is no error NOT_LEADER", "         ^~~~~~~~~~"),
    (
        "error == NOT_LEADER_FOR_FOLLOWER",
        "there is no error NOT_LEADER_FOR_FOLLOWER; did you mean NOT_LEADER_OR_FOLLOWER?",
        "         ^~~~~~~~~~~~~~~~~~~~~~~",
    ),
    ("error == NONE", "NONE is no error; did you mean not error?", "         ^~~~"),
    ("Produce", "there is no field Produce; did you mean api == Produce?", "^~~~~~~"),
    (
        "request.ack == 0",
        "there is no field request.ack; did you mean request.acks or request.rack or request.rack_id?",
        "^~~~~~~~~~~",
    ),
    ("acks == 0", "there is no field acks; did you mean request.acks?", "^~~~"),
    ("API == Fetch", "there is no field API; did you mean api?", "^~~"),
    ("zzzzzz", "there is no field zzzzzz; 'kdissect fields' lists all", "^~~~~~"),
    ("api = Produce", "= is no operator; did you mean ==?", "    ^"),
    ("api == ", "expected a value", "      ^"),
    ("api Produce", "expected an operator, such as == or contains, or the end, not Produce", "    ^~~~~~~"),
    ("error topic", "expected an operator, such as == or contains, or the end, not topic", "      ^~~~~"),
    ("size > 1 MB error", "expected and, or or the end, not error", "            ^~~~~"),
    ("error and", "expected a condition", "         ^"),
    ("error or or topic", "expected a condition, not or", "         ^~"),
    ("not", "expected a condition", "   ^"),
    ("(error or (topic == a)", "a parenthesis that is not closed", "^"),
    ("error)", "a parenthesis that was not opened", "     ^"),
    ("api in {Fetch", "expected a comma or the set's closing brace", "             ^"),
    ("api in {}", "expected a value, not }", "        ^"),
    ("api in", "expected a set in braces, or a value", "      ^"),
    ("api not Fetch", "expected in, not Fetch", "        ^~~~~"),
    ('topic == "orders', "a quotation mark that is not closed", "         ^~~~~~~"),
    ("error & topic", "a single &; did you mean &&?", "      ^"),
    ("topic == a} ", "expected and, or or the end, not }", "          ^"),
    ("topic == blue green", "blue green are two words; put quotation marks around them", "         ^~~~~~~~~~"),
    ("size > 5ms", "ms is no unit of a size; write it like 1500, 64kB, 1MB or 16MiB", "       ^~~"),
    (
        "latency > 5 parsecs",
        "parsecs is no unit of a duration; write it like 250us, 50ms, 1.5s, 2m or 1m30s",
        "          ^~~~~~~~~",
    ),
    ("version > 5ms", "5ms has a unit, but the field has none; write it like 42 or 0x2a", "          ^~~"),
    ("size > big", "big is no size; write it like 1500, 64kB, 1MB or 16MiB", "       ^~~"),
    (
        "time > yesterday",
        "'yesterday' is no time: write it like '2026-11-21 10:00', 2026-11-21T10:00:00.25Z or +30s",
        "       ^~~~~~~~~",
    ),
    ('time > "2026-13-01"', "'2026-13-01' is no time: month must be in 1..12", "       ^~~~~~~~~~~~"),
    ("time in {+1s, 2026-11-21}", "either all times count from the first packet (+30s) or none", "         ^~~~~~~~~~~~~~~"),
    (
        "client == 10.0.0.300",
        "10.0.0.300 is no address; write it like 10.0.0.5, 10.0.0.5:9092, 10.0.0.0/8, [2001:db8::5]:9092, fd00::/8 or :9092",
        "          ^~~~~~~~~~",
    ),
    ("client == 10.0.0.3:70000", "70000 is no port: they end at 65535", "          ^~~~~~~~~~~~~~"),
    ("api > Fetch", "> compares numbers and times, and api is an API", "    ^"),
    ("size contains 5", "contains searches text, and size is a size", "     ^~~~~~~~"),
    ("topic > a", "> compares numbers and times, and topic is text", "      ^"),
    (
        "outcome == lost",
        "there is no outcome lost; it is one of answered, no_reply_expected, unanswered, request_missing",
        "           ^~~~",
    ),
    (
        "finding == frame.truncatd",
        "there is no finding frame.truncatd; did you mean frame.truncated?",
        "           ^~~~~~~~~~~~~~",
    ),
    (
        "request.acks == null or size > null",
        "null is only equal or not; did you mean == or !=?",
        "                             ^",
    ),
    ("request.validate_only == maybe", "maybe is neither true nor false", "                         ^~~~~"),
    (
        "request.topic_data == orders",
        "request.topic_data is a structure: compare one of the fields in it; did you mean request.topic_data.name or "
        "request.topic_data.partition_data or request.topic_data.topic_id?",
        "^~~~~~~~~~~~~~~~~~",
    ),
    ('topic matches "(a"', "no regular expression: missing ): (a", "              ^~~~"),
    ('topic matches "(?=a)"', "no regular expression: invalid perl operator: (?=", "              ^~~~~~~"),
    ('topic contains ""', "an empty text is in every text", "               ^~"),
    ("records.kez == a", "there is no field records.kez; did you mean records.key?", "^~~~~~~~~~~"),
    ("records.key == 0xzz", "0xzz are no bytes in hexadecimal; put quotation marks around text", "               ^~~~"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says", "caret"), GOLDEN, ids=[text for text, _, _ in GOLDEN])
def test_golden(text: str, says: str, caret: str) -> None:
    with pytest.raises(FilterError) as error:
        compile_filter(text, utc=True)
    assert (str(error.value), error.value.excerpt) == (says, (text, caret))


def test_an_open_word_may_be_quoted() -> None:
    assert compile_filter('finding == "frame.truncatd"').needs == {"findings"}
    assert compile_filter("finding == my.own_rule").needs == {"findings"}


def test_the_excerpt_of_a_long_filter_shows_the_place() -> None:
    text = " or ".join([*["topic == orders"] * 40, "topik == x", *["error"] * 40])
    with pytest.raises(FilterError) as error:
        compile_filter(text)
    line, caret = error.value.excerpt
    assert len(line) <= 80 and line[0] == line[-1] == "…"
    assert line[caret.index("^") : len(caret)] == "topik"


def test_the_excerpt_is_safe_and_aligned() -> None:
    with pytest.raises(FilterError) as error:
        compile_filter('topic == "\x1b[31m\u202e日本" or\nx == 1')
    line, caret = error.value.excerpt
    assert line.isprintable()
    assert caret.index("^") == line.index("x ==") + 2  # Two letters are two cells wide.


@pytest.mark.parametrize("text", ["not (" * 200 + "error" + ")" * 200, "not " * 200 + "error", "!" * 5000 + "error"])
def test_nesting_has_a_limit(text: str) -> None:
    with pytest.raises(FilterError, match="nested more than 100 deep"):
        compile_filter(text)


def test_parentheses_alone_nest_nothing() -> None:
    assert compile_filter("(" * 4000 + "error" + ")" * 4000).ast == {"op": "exists", "field": "error_codes"}


def test_length_has_a_limit() -> None:
    long = " or ".join(["error"] * (LONGEST // 9))
    assert compile_filter(long).needs == {"error_codes"}
    with pytest.raises(FilterError, match="more than 10,000"):
        compile_filter(long + " " * LONGEST)


def test_a_catastrophic_pattern_is_no_catastrophe() -> None:
    only = compile_filter(r"client_id matches '^(a+)+$' or client_id matches '(.*a){30}b'")
    start = time.process_time()
    assert not only.matches(exchange(client_id="a" * 1_000_000 + "!"))
    assert time.process_time() - start < 20


WORDS = st.sampled_from(
    [
        "api", "size", "latency", "time", "client", "topic", "error", "request.acks", "records.key", "response.error_code",
        "request", "finding", "==", "!=", "!==", "<", ">=", "=", "contains", "matches", "in", "not", "and", "or", "&&",
        "||", "!", "(", ")", "{", "}", ",", "Produce", "50ms", "1MB", "5..9", "+30s..+1m", "10.0.0.0/8", "[::1]:9092",
        ":99999", "2026-11-21", "10:00", '"a"', "'b\\'", 'r"\\d"', '"(a+"', '"\\U00110000"', "null", "true", "NONE", "0x",
        "0xff", "-1", "1e9", "9" * 50, "1__0", "..", "request..", "é", '\x00', "fe80::1%eth0", "0001-01-01",
        "9999-12-31T23:59:59Z", "request.topics.name.x", "records.value.a.b", "request.protocols.metadata.",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=2000)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=12).map(" ".join), st.lists(WORDS, max_size=9).map("".join)))
@example("time > 0001-01-01")
@example("time > 9999-12-31T23:59:59")
@example("time > +" + "9" * 60 + "h")
@example("client == fe80::1%eth0")
@example("topic matches '\ud800'")
@example("topic == '\ud800'")
@example('topic == "\\ud800"')
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    try:
        only = compile_filter(text)
    except FilterError as error:
        assert 0 <= error.start <= error.end <= max(len(text), LONGEST)
        assert str(error) and all(line.isprintable() for line in error.excerpt)
        return
    assert isinstance(only, Filter)
    only.start_ns = 0
    for each in (exchange(), exchange("Fetch", 12, topics=["a"])):
        assert only.header(each) in (None, only.matches(each))
