-- A row that is hidden leaves the pages that are open. Realtime sends a change only to those who may read the new row,
-- and that is nobody then, so a trigger tells the site's channel which table it was. docs/hidden-rows.md says how other
-- apps do the same.

do $$
declare
  content record;
begin
  -- A database without broadcasts: pages read again when their window gets the focus.
  if to_regprocedure('realtime.send(jsonb, text, text, boolean)') is null then
    return;
  end if;

  create function private.tell_hidden() returns trigger
  language plpgsql security definer set search_path = '' as $tell$
  begin
    -- Only the table's name: what was hidden is nobody's business any more.
    perform realtime.send(jsonb_build_object('table', tg_table_name), 'hidden', 'content', true);
    return null;
  end
  $tell$;
  comment on function private.tell_hidden() is
    'Row trigger: tells the private channel "content" the name of a table of which a row was hidden.';
  revoke execute on function private.tell_hidden() from public;

  for content in
    select * from (values
      ('hero_headlines', 'is_visible'),
      ('testimonials', 'is_visible'),
      ('blog_posts', 'is_visible'),
      ('faqs', 'is_visible'),
      ('job_openings', 'is_active')
    ) as listed (table_name, shown_if)
  loop
    execute format(
      'create trigger tell_hidden after update on public.%1$I for each row when (old.%2$I and not new.%2$I) '
      'execute function private.tell_hidden()',
      content.table_name, content.shown_if);
  end loop;

  -- The channel is private so that the database alone can send to it: there is no policy for insert, and a message
  -- makes every open page read its content again.
  create policy "Everybody hears that content was hidden" on realtime.messages
    for select to anon, authenticated
    using (messages.extension = 'broadcast' and (select realtime.topic()) = 'content');
end
$$;
