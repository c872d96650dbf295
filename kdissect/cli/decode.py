"""``kdissect decode``: one message from bytes given by hand."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

import click

from kdissect.cli import common
from kdissect.cli.command import Command
from kdissect.cli.given_bytes import Form, read_bytes
from kdissect.cli.names import ApiType, VersionType, known_version

if TYPE_CHECKING:
    from kdissect.schema.catalogue import Api
    from kdissect.schema.message import DecodeOptions, Message

MOST = 512 << 20
"""Bytes that are read at most: more than any broker takes by default for one message."""

_WHAT = "What it is"

_EXAMPLES = [
    ("A request: its header says what it is.", "kdissect decode '00 12 00 00 00 00 00 07 00 02 6d 65'"),
    ("A response:", "kdissect decode --api Fetch --version 12 response.bin"),
    ("What tcpdump -x, Wireshark or a log shows, with each field's bytes:", "xxd message.bin | kdissect decode --bytes -"),
    ("As JSON:", "kdissect decode -f json --api ApiVersions --version 0 0000000700000000 0000"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Decode one message from bytes given by hand.")
@click.argument("given", nargs=-1, required=True, metavar="HEX|FILE|-")
@common.option("--api", section=_WHAT, type=ApiType(), metavar="API", help="Name or key; requests say it themselves.")
@common.option("--version", section=_WHAT, type=VersionType(), metavar="N", help="Version of the API.")
@common.option(
    "--kind",
    section=_WHAT,
    type=click.Choice(["request", "response"]),
    help="What it is; without this a response if --api is given, else a request.",
)
@common.option(
    "--as",
    "form",
    section=_WHAT,
    type=click.Choice(["auto", "hex", "base64", "raw"]),
    default="auto",
    help="What the input is written in; auto tells hex of many styles, base64 and raw bytes apart.",
)
@common.option(
    "--size/--no-size",
    "sized",
    section=_WHAT,
    default=None,
    help="Whether the message's four bytes of size come first; without this both are tried.",
)
@common.option("--bytes", "spans", section=common.SHOW, is_flag=True, help="Offset, length and bytes of each field.")
@common.option("--full", "--all", "full", section=common.SHOW, is_flag=True, help="All elements, all records, values uncut.")
@common.zone
@common.secrets
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=click.Choice(["tree", "json"]),
    default="tree",
    help="tree (default) or json.",
)
@common.color
@common.quiet
def command(
    given: tuple[str, ...],
    api: Api | None,
    version: int | None,
    kind: Literal["request", "response"] | None,
    form: Form,
    sized: bool | None,
    spans: bool,
    full: bool,
    utc: bool,
    show_secrets: bool,
    output: str,
    color: str,
    quiet: bool,
) -> int:
    """Decode one request or response from bytes: in hex or base64, in a FILE, or on standard input (-).

    A message may come with its four bytes of size or without, and cut off:
    then what is there is shown, and where it ended.
    """
    from kdissect.report.fields import Reading
    from kdissect.report.one_message import show_message, write_message_json
    from kdissect.schema.message import DecodeOptions

    chosen: Literal["request", "response"] = kind or ("response" if api is not None else "request")
    if chosen == "response" and (api is None or version is None):
        missing = " and ".join(name for name, value in (("--api", api), ("--version", version)) if value is None)
        raise click.UsageError(f"a response does not say what it answers: give {missing}")
    if api is not None and version is not None:
        known_version(api, version, "--version")
    data = _input(given, form)
    options = DecodeOptions(show_secrets=show_secrets)
    message, frame = _decode(data, chosen, api, version, sized, options)
    _open(message, options)
    if chosen == "request" and api is not None and (message.api_key, message.version) != (api.key, _or(version, message.version)):
        said = f"{api.name}" + ("" if version is None else f" v{version}")
        common.warn(f"the header says {message.api} v{message.version}, not {said}")
    sink = common.make_sink(color, utc)
    if output == "json":
        write_message_json(message, sink)
    else:
        show_message(message, sink, Reading(sink.clock, common.host(), full), frame if spans else None, options)
    if message.fault is not None:
        common.warn(f"not decoded to its end: {message.fault.reason} (byte {message.fault.offset})")
    elif message.trailing:
        common.warn(f"{message.trailing} bytes are left over after the {message.kind}")
    return 0


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _input(given: tuple[str, ...], form: Form) -> bytes:
    """The bytes meant; several arguments are pieces of hex or base64, as a shell splits them."""
    from_file = len(given) == 1 and (given[0] == "-" or os.path.exists(given[0]))
    if from_file:
        if given[0] == "-":
            raw = sys.stdin.buffer.read(MOST + 1)
        else:
            with open(given[0], "rb") as file:
                raw = file.read(MOST + 1)
        if len(raw) > MOST:
            raise click.ClickException(f"{given[0]}: more than {MOST >> 20} MiB, which no message is")
    else:
        raw = " ".join(given).encode("utf-8", "surrogateescape")
        if form == "raw":
            raise click.BadParameter(f"there is no file {given[0]}; raw bytes come from a file or -", param_hint="HEX|FILE|-")
    try:
        data = read_bytes(raw, form)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="HEX|FILE|-") from None
    if not from_file and form == "auto" and data is raw:
        raise click.BadParameter(f"{given[0]!r} is neither a file nor bytes in hex or base64", param_hint="HEX|FILE|-")
    if not data:
        raise click.BadParameter("there are no bytes in it", param_hint="HEX|FILE|-")
    return data


def _decode(
    data: bytes,
    kind: Literal["request", "response"],
    api: Api | None,
    version: int | None,
    sized: bool | None,
    options: DecodeOptions,
) -> tuple[Message, bytes]:
    """The message and the bytes that it was read from, without size."""

    def read(frame: bytes) -> Message:
        from kdissect.schema.message import decode_request, decode_response

        if kind == "request":
            return decode_request(frame, options=options)
        assert api is not None and version is not None
        return decode_response(frame, api.key, version, options=options)

    size = int.from_bytes(data[:4], "big", signed=True) if len(data) >= 4 else -1
    if sized is None:
        # Most of what fits is told by the size alone; a correlation id may look like one, so the better reading wins.
        if size == len(data) - 4:
            sized = _rank(read(data[4:])) <= _rank(read(data))
        else:
            sized = size > 0 and _rank(read(data[4 : 4 + size])) == 0 < _rank(read(data))
    if not sized:
        return read(data), data
    if size < 0:
        raise click.UsageError("there is no size in front: it would be negative or cut off")
    frame = data[4 : 4 + size]
    if len(data) - 4 > size:
        common.warn(f"{len(data) - 4 - size} bytes after the message are left out")
    elif len(data) - 4 < size:
        common.warn(f"{size - len(data) + 4} bytes of the message are missing")
    return read(frame), frame


def _open(message: Message, options: DecodeOptions) -> None:
    """Opens what stands inside, as far as one message alone tells how."""
    from kdissect.protocol.contents.unfold import unfold, unfold_contents

    unfold(message, options)
    unfold_contents(message, lambda _: None, show_secrets=options.show_secrets)


def _rank(message: Message) -> int:
    """How well bytes read: 0 to the end, 1 with bytes left over, 2 up to a fault, 3 not at all."""
    if message.fault is None:
        return 1 if message.trailing else 0
    return 3 if message.body is None else 2
