#!/usr/bin/env bash
# Prepares a new database for a standby: the role that replicates, and its right to connect. Called once, by the image.
set -euo pipefail

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username postgres <<'SQL'
\set password `cat "$REPLICATION_PASSWORD_FILE"`
create role replicator login replication password :'password';
SQL
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
