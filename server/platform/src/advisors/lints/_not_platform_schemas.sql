-- Not the schemas of Postgres and of the platform: the project cannot change them.
and n.nspname !~ '^(pg_|_timescaledb_|basalt(_|$))'
and n.nspname not in (
  'auth', 'cron', 'extensions', 'graphql', 'graphql_public', 'information_schema', 'net', 'pgbouncer', 'pgmq',
  'pgroonga', 'pgsodium', 'pgsodium_masks', 'pgtle', 'platform', 'realtime', 'repack', 'storage', 'storage_vectors',
  'supabase_functions', 'supabase_migrations', 'tiger', 'topology', 'vault'
)
