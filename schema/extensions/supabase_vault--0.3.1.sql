-- The tables and functions of the extension supabase_vault (names, columns and rights as they are there), on pgcrypto.
--
-- The key is a file beside the database's files, "vault.key", which Basalt makes: neither SQL nor a dump shows it.

\echo Use "create extension supabase_vault" to load this file. \quit

create table vault.secrets (
  id uuid primary key default gen_random_uuid(),
  name text,
  description text not null default '',
  secret text not null,
  key_id uuid,
  nonce bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index secrets_name_idx on vault.secrets (name) where name is not null;
alter table vault.secrets enable row level security;
comment on table vault.secrets is 'Secrets, encrypted; vault.decrypted_secrets shows them';
comment on column vault.secrets.secret is 'The secret, encrypted with the key of this database and in base64';
comment on column vault.secrets.key_id is 'Not used: there is one key';
comment on column vault.secrets.nonce is 'Not used: the encrypted text holds its own';
select pg_catalog.pg_extension_config_dump('vault.secrets', '');

-- The key of 256 random bits needs no stretching (s2k-mode=0); a message that was changed is refused (OpenPGP's MDC).
create function vault._encrypt(secret text) returns text
language sql volatile strict security definer
set search_path = pg_catalog, pg_temp
return pg_catalog.encode(
  @extschema:pgcrypto@.pgp_sym_encrypt(
    secret, pg_catalog.encode(pg_catalog.pg_read_binary_file('vault.key'), 'hex'), 's2k-mode=0, cipher-algo=aes256'
  ),
  'base64'
);

create function vault._decrypt(secret text) returns text
language sql stable strict security definer
set search_path = pg_catalog, pg_temp
return @extschema:pgcrypto@.pgp_sym_decrypt(
  pg_catalog.decode(secret, 'base64'), pg_catalog.encode(pg_catalog.pg_read_binary_file('vault.key'), 'hex')
);

create view vault.decrypted_secrets with (security_barrier = true) as
select id, name, description, secret, vault._decrypt(secret) as decrypted_secret, key_id, nonce, created_at, updated_at
from vault.secrets;
comment on view vault.decrypted_secrets is 'Secrets in the clear';

create function vault.create_secret(
  new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null
) returns uuid
language sql volatile security definer
set search_path = pg_catalog, pg_temp
begin atomic
  insert into vault.secrets (secret, name, description, key_id)
  values (vault._encrypt(new_secret), new_name, coalesce(new_description, ''), new_key_id)
  returning id;
end;
comment on function vault.create_secret(text, text, text, uuid) is 'Keeps a secret and returns its id';

create function vault.update_secret(
  secret_id uuid,
  new_secret text default null,
  new_name text default null,
  new_description text default null,
  new_key_id uuid default null
) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update vault.secrets
  set
    secret = coalesce(vault._encrypt(new_secret), secret),
    name = coalesce(new_name, name),
    description = coalesce(new_description, description),
    key_id = coalesce(new_key_id, key_id),
    updated_at = now()
  where id = secret_id;
end;
comment on function vault.update_secret(uuid, text, text, text, uuid) is 'Changes what is given of a secret';

revoke all on all tables in schema vault from public;
revoke all on all functions in schema vault from public;
do $$
declare
  role_name name;
begin
  for role_name in select rolname from pg_catalog.pg_roles where rolname in ('postgres', 'service_role') loop
    execute pg_catalog.format('grant usage on schema vault to %I', role_name);
    execute pg_catalog.format('grant select, delete on vault.secrets, vault.decrypted_secrets to %I', role_name);
    execute pg_catalog.format('grant execute on all functions in schema vault to %I', role_name);
  end loop;
end $$;
