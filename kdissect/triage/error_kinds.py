"""What Kafka's error codes mean for whoever looks for trouble."""

from __future__ import annotations

from typing import Final

STALE_LEADER: Final = frozenset(
    {"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "LEADER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE"}
)
MEMBER_FENCED: Final = frozenset(
    {
        "UNKNOWN_MEMBER_ID",
        "ILLEGAL_GENERATION",
        "FENCED_INSTANCE_ID",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
        "UNRELEASED_INSTANCE_ID",
    }
)
PRODUCER_FENCED: Final = frozenset(
    {
        "INVALID_PRODUCER_EPOCH",
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_ID_MAPPING",
        "UNKNOWN_PRODUCER_ID",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
    }
)
AUTHENTICATION: Final = frozenset({"SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE"})
AUTHORIZATION: Final = frozenset(
    {
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    }
)
TOO_LARGE: Final = frozenset({"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
ELSEWHERE: Final = STALE_LEADER | MEMBER_FENCED | PRODUCER_FENCED | AUTHENTICATION | AUTHORIZATION | TOO_LARGE
"""Errors that questions of their own are about."""

STEPS: Final = frozenset(
    {
        ("UNSUPPORTED_VERSION", "ApiVersions"),
        ("MEMBER_ID_REQUIRED", "JoinGroup"),
        ("UNKNOWN_TOPIC_OR_PARTITION", "DescribeTopicPartitions"),
        ("ELECTION_NOT_NEEDED", "ElectLeaders"),
        ("NONE", ""),
    }
)
"""(error, API) that are part of how the protocol works, however often: version negotiation (KIP-511), the member id (KIP-394)."""

RETRIABLE: Final = frozenset(
    {
        "REBALANCE_IN_PROGRESS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_CONTROLLER",
        "CONCURRENT_TRANSACTIONS",
        "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH",
        "FETCH_SESSION_TOPIC_ID_ERROR",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "INCONSISTENT_TOPIC_ID",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "BROKER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "OFFSET_NOT_AVAILABLE",
        "UNSTABLE_OFFSET_COMMIT",
        "STALE_CONTROLLER_EPOCH",
        "STALE_BROKER_EPOCH",
        "DUPLICATE_BROKER_REGISTRATION",
        "SHARE_SESSION_NOT_FOUND",
        "INVALID_SHARE_SESSION_EPOCH",
        "REASSIGNMENT_IN_PROGRESS",
        "BROKER_ID_NOT_REGISTERED",
        "INELIGIBLE_REPLICA",
        "INVALID_UPDATE_VERSION",
        "UNKNOWN_CONTROLLER_ID",
        "NETWORK_EXCEPTION",
        "REQUEST_TIMED_OUT",
        "POSITION_OUT_OF_RANGE",
        "SNAPSHOT_NOT_FOUND",
        "THROTTLING_QUOTA_EXCEEDED",
        "TELEMETRY_TOO_LARGE",
        "UNKNOWN_SUBSCRIPTION_ID",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    }
)
"""Errors that clients answer by trying again; a few are part of starting up and failing over."""

GRAVE: Final = {
    "NOT_ENOUGH_REPLICAS": "fewer in-sync replicas than min.insync.replicas: nothing can be written with acks=all",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "written, but replicated to fewer brokers than min.insync.replicas",
    "KAFKA_STORAGE_ERROR": "a log directory of the broker failed",
    "CORRUPT_MESSAGE": "the broker found a batch whose checksum does not match",
    "OFFSET_OUT_OF_RANGE": "a consumer asked for offsets that are not there (any more): records were skipped or are read again",
}
"""Errors that mean that data is lost, damaged or cannot be written."""

OF_REQUESTS_THAT_FAIL: Final = frozenset({"Produce", "Fetch", "OffsetCommit", "TxnOffsetCommit", "EndTxn", "ShareFetch"})
"""APIs whose every refusal costs data or time; those of administrators may be refused as part of the day's work."""
