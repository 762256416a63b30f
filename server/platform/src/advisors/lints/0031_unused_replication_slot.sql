-- Replication slots whose readers are gone.
select
  'unused_replication_slot' as name,
  'Unused Replication Slot' as title,
  case s.wal_status when 'lost' then 'ERROR' else 'WARN' end as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'Nothing reads from this replication slot, and what it needs is larger than max_slot_wal_keep_size or already '
  'deleted.' as description,
  pg_catalog.format(
    'Nothing reads from the replication slot `%s`, and its state is `%s`.',
    s.slot_name, s.wal_status
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0031_unused_replication_slot' as remediation,
  pg_catalog.jsonb_build_object(
    'entity', s.slot_name,
    'type', 'replication_slot',
    'slot_type', s.slot_type,
    'wal_status', s.wal_status,
    'plugin', s.plugin,
    'database', s.database
  ) as metadata,
  pg_catalog.format('unused_replication_slot_%s_%s', s.slot_name, s.wal_status) as cache_key
from pg_catalog.pg_replication_slots s
where not s.active
  and s.wal_status in ('unreserved', 'lost') -- the other states are normal while a reader is away for a moment
order by cache_key
