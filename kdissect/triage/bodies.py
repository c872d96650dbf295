"""The decoded bodies of an exchange, and who is behind a Fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdissect.exchange import Exchange


def asked_for(exchange: Exchange) -> dict[str, Any] | None:
    """The request's fields as far as they could be read; a body that a fault cut short lacks some."""
    return exchange.request.body if exchange.request is not None else None


def answered_with(exchange: Exchange) -> dict[str, Any] | None:
    """The response's fields as far as they could be read."""
    return exchange.response.body if exchange.response is not None else None


def is_follower(exchange: Exchange) -> bool:
    """Whether a Fetch comes from a replicating broker or controller; its id is in a tagged struct from v15 on (KIP-903)."""
    body = asked_for(exchange) or {}
    state = body.get("replica_state")
    return bool((state if isinstance(state, dict) else body).get("replica_id", -1) >= 0)
