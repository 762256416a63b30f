-- The certificate of HTTPS that nodes share, the account at the ACME server, and the answers to its challenges.
create table if not exists basalt_platform.certificates (
  name text primary key,
  sealed bytea not null,
  changed_at timestamptz not null default pg_catalog.clock_timestamp()
);
comment on table basalt_platform.certificates is 'What nodes share for HTTPS';
comment on column basalt_platform.certificates.sealed is 'JSON, encrypted with a key that follows from the shared secret';

create table if not exists basalt_platform.certificate_orders (
  name text primary key,
  holder text not null,
  held_until timestamptz not null,
  failures integer not null default 0
);
comment on table basalt_platform.certificate_orders is 'Which node orders a certificate; nobody does before held_until';
