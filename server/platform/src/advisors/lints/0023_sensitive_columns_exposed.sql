-- Tables of the API without row-level security that have columns with secrets or personal data. Only the name tells.
select
  'sensitive_columns_exposed' as name,
  'Sensitive Columns Exposed' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'The API serves columns whose names say that their content is secret or personal, and row-level security is '
  'off.' as description,
  pg_catalog.format(
    'Row-level security of the table `%s.%s` is off, and callers of the API can read these columns: %s.',
    n.nspname, c.relname, pg_catalog.array_agg(distinct a.attname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0023_sensitive_columns_exposed' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table',
    'sensitive_columns', pg_catalog.array_agg(distinct a.attname),
    'matched_patterns', pg_catalog.array_agg(distinct w.word)
  ) as metadata,
  pg_catalog.format('sensitive_columns_exposed_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
-- "accessToken", "Access-Token" and "access_token" are one word.
cross join lateral (
  select
    pg_catalog.lower(
      pg_catalog.regexp_replace(pg_catalog.replace(a.attname, '-', '_'), '([a-z0-9])([A-Z])', '\1_\2', 'g')
    ) as word
) w
where c.relkind in ('r', 'p')
  and not c.relrowsecurity
  and w.word in (
    'access_token', 'account_number', 'activation_key', 'api_key', 'api_secret', 'apikey', 'auth_code', 'auth_token',
    'backup_code', 'bank_account', 'bank_account_number', 'bearer_token', 'bic', 'card_number', 'client_secret',
    'credit_card', 'credit_card_number', 'cvc', 'cvv', 'date_of_birth', 'diagnosis', 'driver_license',
    'drivers_license', 'encryption_key', 'gpg_key', 'health_insurance', 'iban', 'id_token', 'imei',
    'insurance_number', 'jwt', 'license_key', 'mac_address', 'medical_record', 'mfa_secret', 'national_id',
    'oauth_token', 'otp', 'otp_secret', 'passcode', 'passphrase', 'passport_id', 'passport_number', 'passwd',
    'password', 'password_hash', 'patient_id', 'pgp_key', 'pin_code', 'private_key', 'pwd', 'recovery_code',
    'refresh_token', 'routing_number', 'secret', 'secret_key', 'session_id', 'session_key', 'session_token',
    'social_security', 'social_security_number', 'ssh_key', 'ssn', 'swift_code', 'tax_id', 'token', 'totp_secret',
    'two_factor', 'verification_code', 'webhook_secret'
  )
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT')
  )
  {api_schemas}
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
group by n.nspname, c.relname
order by cache_key
