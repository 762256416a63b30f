-- Rows of schema "auth" that earlier releases wrote with null where the Supabase Auth service, on the same database, expects
-- text: it answered 500 for whoever they belong to. Rows that are right are not touched.
do $$
declare
  wrong record;
begin
  for wrong in
    select w.owner, w.name from (values
      ('auth.mfa_factors', 'secret'),
      ('auth.mfa_challenges', 'otp_code'),
      ('auth.flow_state', 'provider_access_token'),
      ('auth.flow_state', 'provider_refresh_token'),
      ('auth.saml_relay_states', 'redirect_to'),
      ('auth.oauth_clients', 'client_secret_hash')
    ) w (owner, name)
    -- A role that may not change the rows has not written them either.
    where pg_catalog.has_table_privilege(w.owner, 'select') and pg_catalog.has_table_privilege(w.owner, 'update')
  loop
    execute pg_catalog.format('update %s set %I = %L where %2$I is null', wrong.owner, wrong.name, '');
  end loop;
end $$;
