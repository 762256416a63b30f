-- skip if: (select count(*) = 2 from pg_attribute where attrelid = to_regclass('realtime.messages') and attname in ('skip_broadcast', 'expires_at') and not attisdropped)

-- Broadcasts of private channels that their senders have stored for replays (`persist` of realtime-js 2.119), as Supabase
-- Realtime has them from August 2026 on.

do $$
begin
  -- The columns belong to whoever owns the messages.
  perform pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner), true)
  from pg_catalog.pg_class where oid = 'realtime.messages'::regclass;
  alter table realtime.messages
    add column if not exists skip_broadcast boolean not null default false,
    add column if not exists expires_at timestamp;
  comment on column realtime.messages.skip_broadcast is 'Whether the channel has got the message already, so that it is not broadcast when it is inserted';
  comment on column realtime.messages.expires_at is 'In UTC; from then on the message is not replayed';
  comment on column realtime.messages.extension is 'broadcast or presence, or persistence where a policy is asked whether a broadcast may be stored; policies tell these apart by it';
exception when insufficient_privilege then
  -- Another server owns the messages or their partitions, as on hosted Supabase: until it adds the columns, no broadcast is
  -- stored.
  null;
end $$;
