#!/bin/sh
# The server can read its password only from the environment.
set -eu

POSTGRES_PWD="$(cat /run/secrets/temporal-db-password)"
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh
