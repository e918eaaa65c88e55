#!/bin/sh
# Migrates Temporal's two databases to the schema of this image's version. Safe to run again.
set -eu

SQL_PASSWORD="$(cat /run/secrets/temporal-db-password)"
export SQL_PASSWORD

for database in temporal temporal_visibility; do
  folder="${database#temporal_}"
  tool() {
    temporal-sql-tool --plugin postgres12 --endpoint postgres --port 5432 --user temporal --database "$database" "$@"
  }
  tool setup-schema --version 0.0
  tool update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$folder/versioned"
done
