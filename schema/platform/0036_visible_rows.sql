-- Which rows several users of one role see: realtime asks for many users at once.
--
-- statement returns, for the text array $1, the rows that its user sees as text; keys holds such arrays as texts, and key_of
-- the position in keys of each user's. claims are the claims of the users' tokens. There is one result for each user, in
-- their order: what statement has returned, or NULL if a policy has failed.
--
-- Each user is judged in a subtransaction that is rolled back, so that whatever a policy does, it does it to nobody else. The
-- statement is planned once for all of them.
create function basalt.visible_rows(user_role text, claims text[], keys text[], key_of integer[], statement text)
returns setof text
language plpgsql
as $$
declare
  seen text;
  -- Only roles of clients: those that authenticator may become. The empty role is none, which is an error.
  known_role text := coalesce(
    (select r.rolname::text from pg_catalog.pg_roles r
      where r.rolname = user_role and pg_catalog.pg_has_role('authenticator', r.oid, 'member')), '');
begin
  -- One may be left from a call that was cancelled.
  if exists (select from pg_catalog.pg_prepared_statements p where p.name = 'basalt_visible_rows') then
    deallocate basalt_visible_rows;
  end if;
  execute 'prepare basalt_visible_rows (text[]) as ' || statement;
  perform pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true);
  for number in 1 .. pg_catalog.cardinality(claims) loop
    begin
      perform
        pg_catalog.set_config('role', known_role, true),
        pg_catalog.set_config('request.jwt.claims', claims[number], true),
        pg_catalog.set_config('request.jwt.claim.role', user_role, true),
        pg_catalog.set_config('request.jwt.claim.sub', coalesce(claims[number]::jsonb ->> 'sub', ''), true);
      seen := null;
      execute pg_catalog.format('execute basalt_visible_rows(%L)', keys[key_of[number]]) into seen;
      raise sqlstate 'BSEEN';
    exception
      when sqlstate 'BSEEN' then
        null;
      when others then
        seen := null;
    end;
    return next seen;
  end loop;
  deallocate basalt_visible_rows;
end
$$;
comment on function basalt.visible_rows(text, text[], text[], integer[], text)
  is 'Which rows several users of one role see';
revoke all on function basalt.visible_rows(text, text[], text[], integer[], text) from public;
-- Realtime logs in as the project's administrator.
grant execute on function basalt.visible_rows(text, text[], text[], integer[], text) to postgres;
