#!/usr/bin/env bash
# Starts one of a pair of Postgres servers, $HOSTNAME; the other one is $PEER.
#
# Without data it copies the other server, if that is a primary, and follows it. If nobody responds, the one with
# FOUNDER=true makes a new database, and the other one waits. A server that was the primary does not start while the
# other one is it, since both would take changes. `start.sh rebuild` makes it the standby: it copies the primary, and
# keeps the old data beside it.
set -euo pipefail

slot=${HOSTNAME//-/_}
PGPASSWORD=$(<"$REPLICATION_PASSWORD_FILE")
export PGPASSWORD PGCONNECT_TIMEOUT=3
peer="host=$PEER user=replicator dbname=postgres"

is_empty() { [ ! -s "$PGDATA/PG_VERSION" ]; }

peer_is_primary() {
  [ "$(psql --no-psqlrc --dbname "$peer" --tuples-only --no-align --command 'select pg_is_in_recovery()' 2>/dev/null)" = f ]
}

# Takes the place of what is in the data folder only when it is complete.
copy_peer() {
  echo "copying $PEER"
  rm -rf "$PGDATA.new" "$PGDATA.old"
  pg_receivewal --dbname "$peer" --slot "$slot" --create-slot --if-not-exists
  pg_basebackup --dbname "$peer" --slot "$slot" --write-recovery-conf --checkpoint fast --pgdata "$PGDATA.new"
  if [ -e "$PGDATA" ]; then mv "$PGDATA" "$PGDATA.old"; fi
  mv "$PGDATA.new" "$PGDATA"
}

if [ "${1:-}" = rebuild ]; then
  peer_is_primary || { echo "$PEER does not answer as a primary" >&2; exit 1; }
  copy_peer
  exit
fi
if is_empty; then
  for _ in {1..100}; do
    if peer_is_primary; then copy_peer; fi
    if ! is_empty || [ "${FOUNDER:-}" = true ]; then break; fi
    sleep 3
  done
  if is_empty && [ "${FOUNDER:-}" != true ]; then
    echo "there is no data yet, and $PEER does not answer as a primary" >&2
    exit 1
  fi
elif [ ! -e "$PGDATA/standby.signal" ] && peer_is_primary; then
  echo "$PEER is the primary now: this server can only come back as its standby, see \"rebuild\" in docs/deploying.md" >&2
  exit 1
fi
unset PGPASSWORD
exec docker-entrypoint.sh postgres -c config_file=/etc/postgresql/postgresql.conf -c cluster_name="$HOSTNAME"
