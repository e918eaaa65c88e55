"""A check of our own for schemathesis: a request that the schema allows may be refused with 400 only for a known reason."""

import os
import re

import schemathesis

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "accepted-refusals.txt"), encoding="utf-8") as file:
    ACCEPTED = [re.compile(line.rstrip("\n")) for line in file if line.strip() and not line.startswith("#")]


def mistakes_of(body):
    """The mistakes that an error of ours names, one line each: `dateTo: must not be before dateFrom`."""
    if not isinstance(body, dict):
        return ["no JSON object"]
    errors = body.get("errors") or []
    return [f"{each.get('path')}: {each.get('message')}" for each in errors] or [str(body.get("detail"))]


@schemathesis.check
def refusal_is_explained(ctx, response, case):
    meta = case.meta
    if response.status_code != 400 or meta is None or not meta.generation.mode.is_positive:
        return None
    unexplained = [
        mistake for mistake in mistakes_of(response.json()) if not any(each.search(mistake) for each in ACCEPTED)
    ]
    if unexplained:
        raise AssertionError(f"The schema allows this request, but it was refused: {'; '.join(unexplained)}")
    return None
