-- Backups: which versions of objects the target of backups has, named by a random word that lies in it, and the moments
-- to which an operator may want to go back.
create table if not exists basalt.backed_up_objects (
  target text not null,
  version text not null,
  primary key (target, version)
);

create table if not exists basalt_platform.restore_points (
  name text primary key,
  created_at timestamptz not null default pg_catalog.clock_timestamp()
);
