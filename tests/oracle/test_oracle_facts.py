"""Every layout against Kafka's message definitions, field by field: names, order, types, nullability, tags, defaults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kdissect import schema
from kdissect.schema.layout import Field, Layout
from tests.oracle.oracle_facts import TABLE, Described, Facts, described, read_table, table
from tests.oracle.oracle_vectors import OLD_NAMES, RELEASES

ENTITIES = {
    "topicName": "topic",
    "groupId": "group",
    "brokerId": "broker",
    "producerId": "producer_id",
    "transactionalId": "transactional_id",
}
"""What Kafka's definitions call the values, and what ours do."""
NOT_ON_THE_WIRE = {"AbortedTxn", "ProducerSnapshot", "QuorumStateData"}
"""Files on a broker's disk."""


def find(facts: Facts) -> Layout:
    if facts.kind != "fields":
        return schema.api(facts.name).layout(facts.kind, facts.version)  # type: ignore[arg-type]
    if facts.releases[-1] < "4.1" and facts.name.endswith("Key"):
        # Up to 4.0 the number of a key's record counted as its version.
        name = "LegacyOffsetCommitKey" if (facts.name, facts.version) == ("OffsetCommitKey", 0) else facts.name
        assert schema.format(name).head.record == facts.version
        return schema.format(name).fields(0)
    return schema.format(facts.name).fields(facts.version)


def known_then(fields: tuple[Field, ...], facts: Described) -> tuple[Field, ...]:
    """The fields without the tagged ones that a later release added: records get those without a new version."""
    names = {text.split()[0] for text in facts if isinstance(text, str)}
    kept = [field for field in fields if field.tag is None or field.name in names]
    inner = iter(each for each in facts if isinstance(each, list))
    return tuple(replace(field, fields=known_then(field.fields, next(inner))) if field.fields else field for field in kept)


def same(theirs: Described, fields: tuple[Field, ...], flexible: bool, where: str) -> int:
    """Asserts that our fields are as the table has them, and returns how many there are."""
    count = 0
    rest = iter(theirs)
    for field in fields:
        text, *inner = described((field,), flexible)
        said, _, entity = next(rest).partition(" :")
        name, *what = said.split()
        if name.replace("_", "") == OLD_NAMES.get(field.name):
            name = field.name
        assert [name, *what] == text.split(), (where, said)
        assert not entity or ENTITIES[entity] in field.meanings, (where, said, entity)
        count += 1
        if inner:
            count += same(next(rest), field.fields, flexible, f"{where}.{field.name}")
    assert not list(rest), where
    return count


def test_every_layout_is_as_kafka_defines_it(capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, set[tuple[str, str, int]]] = {"apis": set(), "formats": set()}
    said: dict[str, set[tuple[str, str, int]]] = {release: set() for release in RELEASES}
    count = 0
    for facts in read_table():
        if facts.name in NOT_ON_THE_WIRE:
            continue
        layout = find(facts)
        where = f"{facts.name} {facts.kind} v{facts.version} of {', '.join(facts.releases)}"
        assert layout.flexible == facts.flexible, where
        fields = layout.fields
        if facts.kind == "fields" and RELEASES[-1] not in facts.releases:
            fields = known_then(fields, facts.fields)
        count += same(facts.fields, fields, layout.flexible, where)
        identity = (layout.name, layout.kind, layout.version)
        seen["formats" if facts.kind == "fields" else "apis"].add(identity)
        for release in facts.releases:
            said[release].add(identity)
    with capsys.disabled():
        print(f"\n{len(seen['apis'])} layouts of APIs, {len(seen['formats'])} of formats, {count} fields as Kafka defines them:")
        print(", ".join(f"{len(layouts)} of {release}" for release, layouts in said.items()))
    assert seen["apis"] == {
        (head.name, kind, version)
        for head in schema.apis()
        for version in range(head.min_version, head.max_version + 1)
        for kind in ("request", "response")
    }
    assert len(seen["apis"]) == 736
    assert len(seen["formats"]) > 60


@pytest.mark.broker
def test_the_table_is_what_the_jars_say() -> None:
    from tests.oracle import oracle_jars

    if not oracle_jars.available():
        pytest.skip("needs Java and Maven")
    assert TABLE.read_text(encoding="utf-8") == table((release, oracle_jars.jars(release)) for release in RELEASES)
