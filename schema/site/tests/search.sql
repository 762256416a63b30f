-- Proves that the chat's search knows an edit at once, and forgets what visitors may no longer read.
-- Runs against a migrated database as its owner, leaves nothing behind, and stops at the first rule that does not hold:
--   psql -v ON_ERROR_STOP=1 -f schema/site/tests/search.sql

begin;

create function pg_temp.must_find(question text, expected text[]) returns void language plpgsql as $$
declare
  found constant text[] := array(select title from public.search_site(question) order by title);
begin
  if found is distinct from expected then
    raise exception '%: expected %, found %', question, expected, found;
  end if;
end
$$;

-- Words that the site does not have, nor any like them.
select pg_temp.must_find('zwrkvq', '{}');

insert into public.faqs (id, question, answer) values
  ('a0000000-0000-4000-8000-000000000001', 'Who keeps the zwrkvq?', 'The groundsman, with the xqjvkw.'),
  ('a0000000-0000-4000-8000-000000000002', 'Another', 'Nothing of it.');
select pg_temp.must_find('zwrkvq', '{Who keeps the zwrkvq?}');
select pg_temp.must_find('xqjvkw', '{Who keeps the zwrkvq?}');
select pg_temp.must_find('a zwrkvqs', '{Who keeps the zwrkvq?}');

update public.faqs set answer = 'The groundsman, with the hjqxzv.' where id = 'a0000000-0000-4000-8000-000000000001';
select pg_temp.must_find('xqjvkw', '{}');
select pg_temp.must_find('hjqxzv', '{Who keeps the zwrkvq?}');

update public.faqs set is_visible = false where id = 'a0000000-0000-4000-8000-000000000001';
select pg_temp.must_find('hjqxzv', '{}');
update public.faqs set is_visible = true where id = 'a0000000-0000-4000-8000-000000000001';
select pg_temp.must_find('hjqxzv', '{Who keeps the zwrkvq?}');

delete from public.faqs where id = 'a0000000-0000-4000-8000-000000000001';
select pg_temp.must_find('hjqxzv', '{}');

-- The words of an article are those of all of its paragraphs and of its description.
update public.blog_posts set content = content || E'\n\nAt last the zwrkvq.\n\nAnd the hjqxzv.', description = 'Of the xqjvkw.'
where id = (select min(id) from public.blog_posts where is_visible);
do $$
begin
  if (select count(*) from public.search_site('zwrkvq hjqxzv xqjvkw')) <> 3 then
    raise exception 'an article has a passage for each paragraph and one for its description';
  end if;
end
$$;

-- What is kept is what would be made anew.
do $$
begin
  if exists (
    (select source, row_id, kind, page, title, body from private.site_passages
      except all select source, row_id, kind, page, title, body from private.site_texts)
    union all
    (select source, row_id, kind, page, title, body from private.site_texts
      except all select source, row_id, kind, page, title, body from private.site_passages)
  ) then
    raise exception 'the passages are not those of the tables';
  end if;
end
$$;

truncate public.faqs;
do $$
begin
  if exists (select from private.site_passages where source = 'faqs') then
    raise exception 'an emptied table has no passages';
  end if;
end
$$;

rollback;
