-- How often things have been done, counted by all nodes together. Losing the counts in a crash costs nothing but a fresh
-- allowance, so the table is not logged; rows are updated in place, so pages keep room for the next version.

create unlogged table basalt.rate_limits (
  bucket text not null,
  client text not null,
  tokens double precision not null,
  updated_at timestamptz not null,
  full_at timestamptz not null,
  primary key (bucket, client)
) with (fillfactor = 50);

comment on table basalt.rate_limits is 'What clients may still do; see docs/decisions/0008-where-limits-count.md';
comment on column basalt.rate_limits.bucket is 'What is counted';
comment on column basalt.rate_limits.client is 'For whom: an address, or the value of a header; empty for everybody together';
comment on column basalt.rate_limits.tokens is 'What was left at updated_at';
comment on column basalt.rate_limits.full_at is 'When the allowance is whole again, so that the row may go';

grant usage on schema basalt to supabase_auth_admin;
grant select, insert, update, delete on basalt.rate_limits to supabase_auth_admin;
