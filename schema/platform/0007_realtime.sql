-- skip if: to_regclass('realtime.messages') is not null and exists (select from pg_publication where pubname = 'supabase_realtime')

-- Schema "realtime": broadcasts from the database and the table whose policies authorize private channels.

do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
    if pg_catalog.pg_has_role(current_user, 'postgres', 'member') then
      alter publication supabase_realtime owner to postgres; -- who adds the tables
    end if;
    comment on publication supabase_realtime is 'Tables whose changes subscribers get: alter publication supabase_realtime add table …';
  end if;
end $$;

create schema if not exists realtime;
comment on schema realtime is 'Broadcasts from the database; policies on realtime.messages authorize private channels';
grant usage on schema realtime to postgres, anon, authenticated, service_role;
grant all on schema realtime to supabase_realtime_admin, dashboard_user;

set local role supabase_realtime_admin;

alter default privileges in schema realtime grant all on tables to postgres, dashboard_user;
alter default privileges in schema realtime grant all on routines to postgres, dashboard_user;

-- One partition per day keeps dropping what is old cheap; see basalt.keep_message_partitions().
create table realtime.messages (
  topic text not null,
  extension text not null,
  payload jsonb,
  event text,
  private boolean default false,
  updated_at timestamp not null default now(),
  inserted_at timestamp not null default now(),
  id uuid not null default gen_random_uuid(),
  binary_payload bytea,
  constraint messages_pkey primary key (id, inserted_at),
  constraint messages_payload_exclusive check (payload is null or binary_payload is null)
) partition by range (inserted_at);
comment on table realtime.messages is 'Messages to channels: every inserted row is broadcast. Its policies say who may read (select) and write (insert) a private channel';
comment on column realtime.messages.topic is 'Name of the channel';
comment on column realtime.messages.extension is 'broadcast or presence; policies tell the two apart by it';
comment on column realtime.messages.private is 'Whether only members of the private channel get it';
comment on column realtime.messages.inserted_at is 'In UTC; says which day''s partition holds the row';
create index messages_inserted_at_topic_index on realtime.messages (inserted_at desc, topic)
  where extension = 'broadcast' and private is true;

alter table realtime.messages enable row level security;
grant select, insert, update on realtime.messages to anon, authenticated, service_role;

create function realtime.topic() returns text
language sql stable
as $$
  select nullif(current_setting('realtime.topic', true), '')
$$;
comment on function realtime.topic() is 'Channel that is being authorized, for policies on realtime.messages';

-- A broadcast never fails the transaction that sends it: what goes wrong becomes a warning.
create function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void
language plpgsql
as $$
declare
  message_id constant uuid := gen_random_uuid();
begin
  perform set_config('realtime.topic', topic, true);
  insert into realtime.messages (id, payload, event, topic, private, extension)
  values (
    message_id,
    case when payload ? 'id' then payload else jsonb_set(payload, '{id}', to_jsonb(message_id)) end,
    event, topic, private, 'broadcast'
  );
exception when others then
  raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$$;
comment on function realtime.send(jsonb, text, text, boolean) is 'Broadcasts an object to a channel when the transaction commits; adds an id to the payload unless it has one';

create function realtime.send_binary(payload bytea, event text, topic text, private boolean default true) returns void
language plpgsql
as $$
begin
  perform set_config('realtime.topic', topic, true);
  insert into realtime.messages (binary_payload, event, topic, private, extension)
  values (payload, event, topic, private, 'broadcast');
exception when others then
  raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$$;
comment on function realtime.send_binary(bytea, text, text, boolean) is 'Broadcasts bytes to a channel when the transaction commits';

create function realtime.broadcast_changes(
  topic_name text,
  event_name text,
  operation text,
  table_name text,
  table_schema text,
  new record,
  old record,
  level text default 'ROW'
) returns void
language plpgsql
as $$
begin
  if level = 'STATEMENT' then
    raise exception 'function can only be triggered for each row, not for each statement';
  end if;
  if operation not in ('INSERT', 'UPDATE', 'DELETE') then
    raise exception 'Unexpected operation type: %', operation;
  end if;
  perform realtime.send(
    jsonb_build_object(
      'old_record', old, 'record', new, 'operation', operation, 'table', table_name, 'schema', table_schema
    ),
    event_name,
    topic_name
  );
exception when others then
  raise exception 'Failed to process the row: %', sqlerrm;
end
$$;
comment on function realtime.broadcast_changes(text, text, text, text, text, record, record, text) is 'Broadcasts a row''s change to a private channel; for row-level triggers';

reset role;

-- Not part of Supabase's interface: its service keeps the partitions, and so does ours, by this function.
create function basalt.keep_message_partitions() returns void
language plpgsql
as $$
declare
  today constant date := (now() at time zone 'utc')::date;
  day date;
  partition name;
begin
  for day in select generate_series(today - 1, today + 3, interval '1 day')::date loop
    partition := 'messages_' || to_char(day, 'YYYY_MM_DD');
    if to_regclass(format('realtime.%I', partition)) is null then
      execute format(
        'create table realtime.%I partition of realtime.messages for values from (%L) to (%L)',
        partition, day::timestamp, (day + 1)::timestamp
      );
      execute format('alter table realtime.%I owner to supabase_realtime_admin', partition);
    end if;
  end loop;
  for partition in
    select c.relname
    from pg_catalog.pg_inherits i
    join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'realtime.messages'::regclass
      and c.relname < 'messages_' || to_char(today - 3, 'YYYY_MM_DD')
  loop
    execute format('drop table realtime.%I', partition);
  end loop;
end
$$;
comment on function basalt.keep_message_partitions() is 'Makes the partitions of realtime.messages from yesterday to three days ahead and drops those older than 72 hours';

select basalt.keep_message_partitions();
