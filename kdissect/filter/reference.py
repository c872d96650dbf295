"""The filter language, for users."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[tuple[tuple[str, str], ...]] = (
    ("api == Produce and latency > 50ms", "slow produce requests"),
    ('topic == "orders" and error', "whatever went wrong with a topic"),
    ('client_id contains "billing" or client in 10.0.0.0/8', "by client id or network"),
    ("request.acks == 0", "produced without waiting for an answer"),
    ("response.responses.partitions.error_code == NOT_LEADER_OR_FOLLOWER", "a field of the body, in any partition"),
    ("size > 1MB", "big ones"),
    ('time >= "2026-11-21 10:00"', "from then on"),
    ('records.key matches "^user-"', "by the keys of records produced or fetched"),
    ("api in {Fetch, Produce} and not response", "never answered"),
    ("findings or outcome != answered", "whatever is out of the ordinary"),
)
"""Filters with what they find."""

_EXAMPLE_LINES = "\n".join(f"  {text}\n      {meaning}" for text, meaning in EXAMPLES)

REFERENCE: Final = f"""\
Filters: which exchanges to show (-Y, --filter)

{_EXAMPLE_LINES}

Conditions
  FIELD                    there is a value that is not null; of a boolean: it is true
  FIELD == VALUE           != < <= > >=, or in words: eq ne lt le gt ge
  FIELD in {{A, B, 5..9}}    one of them; of numbers and times also spans; not in
  FIELD contains TEXT      the text is part of the value
  FIELD matches REGEX      the regular expression is found in the value; also ~
  FIELD == null            it is there and null, as in the JSON; != null

  and && or || not ! and parentheses; 'not' binds closest, then 'and', then 'or'.
  Keywords may be in capitals; text, names of topics and such are compared as they are.

Many values
  A path leads through arrays: each element is a value. A condition is true when any
  value passes. != is true when there are values and none is equal (as in Wireshark);
  'not topic == orders' is true without any topic, too. === and !== ask whether all are
  equal and whether any is not. Conditions do not look at the same element: topic and key
  of 'topic == a and records.key == b' may stand in different partitions.

Values
  text        "quoted", 'quoted', or a bare word; in quotation marks \\" \\\\ \\n \\t \\x1b \\u00e9;
              r"raw" leaves backslashes alone, and so does matches
  number      42, -1, 1_000_000, 0x2a
  size        1500, 64kB, 1MB (decimal), 16KiB, 1MiB (binary)
  duration    250us, 50ms, 1.5s, 2m, 1m30s, 1h; a number alone is in milliseconds
  time        "2026-11-21 10:00", 2026-11-21T10:00:00.25Z, 2026-11-21 (local without a zone,
              UTC with --utc); +30s is counted from the capture's first packet
  address     10.0.0.5, 10.0.0.5:9092, 10.0.0.0/8, fd00::/8, [2001:db8::5]:9092, :9092
  API, error  by name in any case (Produce, not_leader_or_follower) or by number
  bytes       text, compared as UTF-8; 0x00ff without quotation marks means these bytes

Regular expressions
  RE2's, as in Go: searched for anywhere unless anchored with ^ and $, case counts unless
  they begin with (?i). They take linear time on any text, so there are no
  back-references and no look-around.

Fields
  'kdissect fields' lists them all, 'kdissect fields PATTERN' some. Every field of a body
  goes by the path that it has in the JSON: request.topics.partitions.fetch_offset. What a
  version or an API does not have, has no value. records.* are the batches and records
  on either side. Below bytes that have a format of their own (the metadata of group
  members, records of internal topics) paths lead on: request.protocols.metadata.topics.
  Secrets can be compared with --show-secrets only.

Speed
  Conditions on the flat fields (api, client, size, latency, ...) are decided first, and
  bodies that they rule out are not looked at.
"""
