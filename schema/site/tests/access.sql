-- Proves the site's rules as the API's roles meet them: what each may read and write, and that every way around is shut.
-- Runs against a migrated database as its owner, leaves nothing behind, and stops at the first rule that does not hold:
--   psql -v ON_ERROR_STOP=1 -f schema/site/tests/access.sql

begin;

-- Runs the statement as the role (as nobody's client if user_id is NULL) and returns "<n> rows" or the SQLSTATE.
create function pg_temp.outcome(role_name text, user_id uuid, statement text) returns text
language plpgsql as $$
declare
  affected bigint;
begin
  perform set_config('request.jwt.claims', jsonb_strip_nulls(jsonb_build_object(
    'role', role_name, 'sub', user_id, 'session_id', 'b0000000-0000-4000-8000-00000000000' || right(user_id::text, 1)))::text, true);
  execute format('set local role %I', role_name);
  begin
    execute statement;
    get diagnostics affected = row_count;
    reset role;
    return affected || ' rows';
  exception when others then
    reset role;
    return sqlstate;
  end;
end
$$;

create function pg_temp.expect(expected text, role_name text, user_id uuid, statement text) returns void
language plpgsql as $$
declare
  found text := pg_temp.outcome(role_name, user_id, statement);
begin
  if found is distinct from expected then
    raise exception 'as %: expected %, found %: %', role_name, expected, found, statement;
  end if;
end
$$;

create function pg_temp.must_hold(holds boolean, rule text) returns void language plpgsql as $$
begin
  if holds is not true then
    raise exception 'does not hold: %', rule;
  end if;
end
$$;

-- Ada is a plain user, Bea an admin, Cyd is banned, Dan's session is over, Eve was deleted.
create function pg_temp.ada() returns uuid language sql immutable return 'a0000000-0000-4000-8000-000000000001'::uuid;
create function pg_temp.bea() returns uuid language sql immutable return 'a0000000-0000-4000-8000-000000000002'::uuid;

insert into auth.users (id, aud, role, email, encrypted_password, raw_user_meta_data, banned_until, deleted_at) values
  (pg_temp.ada(), 'authenticated', 'authenticated', 'ada@people.example', 'hash', '{"full_name": "  Ada\nOyelle ", "avatar_url": "other/ada.png"}', null, null),
  (pg_temp.bea(), 'authenticated', 'authenticated', 'bea@people.example', 'hash', '{"name": "Bea Quillon", "picture": "https://pictures.example/bea.png"}', null, null),
  ('a0000000-0000-4000-8000-000000000003', 'authenticated', 'authenticated', 'cyd@people.example', 'hash', '[1]', now() + interval '1 day', null),
  ('a0000000-0000-4000-8000-000000000004', 'authenticated', 'authenticated', 'dan@people.example', null, '"rubbish"', null, null),
  ('a0000000-0000-4000-8000-000000000005', 'authenticated', 'authenticated', null, null, '{"full_name": {"a": 1}, "avatar_url": "javascript:alert(1)"}', null, now()),
  ('a0000000-0000-4000-8000-000000000006', 'authenticated', 'authenticated', 'fay@people.example', '', jsonb_build_object('full_name', repeat('x', 5000), 'password_updated_at', '1999-01-01'), null, null);
insert into auth.sessions (id, user_id, not_after)
select ('b0000000-0000-4000-8000-00000000000' || right(id::text, 1))::uuid, id,
  case when email like 'dan@%' then now() - interval '1 second' when email like 'bea@%' then now() + interval '1 hour' end
from auth.users where id::text like 'a0000000-0000-4000-8000-00000000000_';
insert into public.user_roles (user_id, role) values (pg_temp.bea(), 'admin'), (pg_temp.ada(), 'member');

-- Profiles come with sign-up, take only what is usable, and follow the e-mail address.
select pg_temp.must_hold(
  array_agg((email, full_name, avatar_url)::text order by id) = array[
    '(ada@people.example,"Ada Oyelle",other/ada.png)',
    '(bea@people.example,"Bea Quillon",)', '(cyd@people.example,,)', '(dan@people.example,,)', '(,,)',
    '(fay@people.example,' || repeat('x', 100) || ',)'],
  'profiles are made from sign-ups: ' || string_agg((email, full_name)::text, ' '))
from public.profiles where id::text like 'a0000000-0000-4000-8000-00000000000_';
update auth.users set email = 'ada@club.example' where id = pg_temp.ada();
select pg_temp.must_hold(email = 'ada@club.example', 'the profile follows the e-mail address')
from public.profiles where id = pg_temp.ada();

-- Password changes are stamped; nobody else writes the stamp.
select pg_temp.must_hold(
  (raw_user_meta_data ->> 'password_updated_at')::timestamptz = date_trunc('milliseconds', now())
  and raw_user_meta_data ->> 'full_name' is not null, 'a sign-up with a password is stamped')
from auth.users where id = pg_temp.ada();
select pg_temp.must_hold(not raw_user_meta_data ? 'password_updated_at', 'a stamp cannot be brought along')
from auth.users where email = 'fay@people.example';
update auth.users set raw_user_meta_data = '{"password_updated_at": "2999-01-01"}' where id = pg_temp.ada();
select pg_temp.must_hold(raw_user_meta_data ->> 'password_updated_at' not like '2999%', 'a stamp cannot be forged')
from auth.users where id = pg_temp.ada();
update auth.users set raw_user_meta_data = '{"full_name": "Ada"}' where id = pg_temp.ada();
select pg_temp.must_hold(raw_user_meta_data ? 'password_updated_at', 'a stamp cannot be dropped')
from auth.users where id = pg_temp.ada();
update auth.users set encrypted_password = 'other' where email = 'fay@people.example';
select pg_temp.must_hold(raw_user_meta_data ? 'password_updated_at', 'a changed password is stamped')
from auth.users where email = 'fay@people.example';

-- Visitors read what is shown, and nothing else.
insert into public.testimonials (id, name, title, role, quote, about, is_visible, visible_on_pages) values
  ('c0000000-0000-4000-8000-000000000001', 'Shown Person', 'T', 'R', 'Q', 'A', true, '{home}'),
  ('c0000000-0000-4000-8000-000000000002', 'Hidden Person', 'T', 'R', 'Q', 'A', false, '{home}');
insert into public.testimonial_page_orders (page_name, testimonial_id, order_index) values
  ('home', 'c0000000-0000-4000-8000-000000000001', 0), ('home', 'c0000000-0000-4000-8000-000000000002', 1);
insert into public.hero_headlines (headline, is_visible) values ('Hidden headline', false);
insert into public.faqs (question, answer, is_visible) values ('Hidden?', 'Hidden.', false);
insert into public.blog_posts (title, category, description, link, content, is_visible)
  values ('Hidden', 'Hidden', 'Hidden', '/blog/hidden-article', 'Hidden', false);
insert into public.job_openings (title, emoji, description, is_active) values ('Hidden', '🙈', 'Hidden', false);
select
  pg_temp.expect('1 rows', reader, null, $$select from public.testimonials where name in ('Shown Person', 'Hidden Person')$$),
  pg_temp.expect('1 rows', reader, null, $$select from public.testimonial_page_orders where testimonial_id::text like 'c0000000%'$$),
  pg_temp.expect('1 rows', reader, null, $$select from public.testimonial_page_orders o left join public.testimonials t on t.id = o.testimonial_id where o.testimonial_id::text like 'c0000000%'$$),
  pg_temp.expect('0 rows', reader, null, $$select from public.hero_headlines where not is_visible$$),
  pg_temp.expect('0 rows', reader, null, $$select from public.faqs where not is_visible$$),
  pg_temp.expect('0 rows', reader, null, $$select from public.blog_posts where not is_visible$$),
  pg_temp.expect('0 rows', reader, null, $$select from public.job_openings where not is_active$$),
  pg_temp.expect('42501', reader, null, $$select from private.page_names()$$)
from unnest(array['anon', 'authenticated']) as reader;
select
  pg_temp.expect('42501', 'anon', null, format('update public.%I set %I = default', name, first_column)),
  pg_temp.expect('42501', 'anon', null, format('delete from public.%I', name)),
  pg_temp.expect('42501', 'anon', null, format('truncate public.%I cascade', name)),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), format('truncate public.%I cascade', name)),
  pg_temp.expect('42501', 'service_role', null, format('truncate public.%I cascade', name))
from (
  select table_name, column_name from information_schema.columns
  where table_schema = 'public' and ordinal_position = 1
) as tables (name, first_column);
select
  pg_temp.expect('0 rows', 'authenticated', pg_temp.ada(), format('update public.%I set updated_at = now()', name)),
  pg_temp.expect('0 rows', 'authenticated', pg_temp.ada(), format('delete from public.%I', name))
from unnest(array['settings', 'hero_headlines', 'testimonials', 'testimonial_page_orders', 'blog_posts', 'faqs',
  'job_openings', 'timeline_events', 'chat_widget_config', 'chat_suggested_questions', 'chat_passages']) as name;
select
  pg_temp.expect('42501', 'anon', null, $$insert into public.faqs (question, answer) values ('Q?', 'A')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into public.faqs (question, answer) values ('Q?', 'A')$$);

-- Admins edit content, and see what is hidden.
insert into storage.buckets (id, name, public) values ('experts', 'experts', true), ('private-files', 'private-files', false)
on conflict do nothing;
select
  pg_temp.expect('1 rows', 'authenticated', pg_temp.bea(), $$insert into public.faqs (question, answer) values ('Q?', 'A')$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.bea(), $$update public.faqs set is_visible = true where question = 'Hidden?'$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.bea(), $$delete from public.blog_posts where link = '/blog/hidden-article'$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.bea(), $$insert into public.user_roles values ('a0000000-0000-4000-8000-000000000001', 'admin')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.bea(), $$update public.setting_defaults set value = 'x'$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.bea(), $$insert into storage.objects (bucket_id, name) values ('experts', 'access-test.webp')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.bea(), $$insert into storage.objects (bucket_id, name) values ('private-files', 'access-test.webp')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into storage.objects (bucket_id, name) values ('experts', 'access-test-2.webp')$$),
  pg_temp.expect('42501', 'anon', null, $$insert into storage.objects (bucket_id, name) values ('experts', 'access-test-3.webp')$$);

-- A missing setting comes back with its default, and in no other way.
insert into public.settings (key, value, category, description)
select key, value, category, description from public.setting_defaults on conflict (key) do nothing;
delete from public.settings where key in ('site_name', 'password_protection');
insert into public.settings (key, value, category, description) values ('site_name', 'Chosen by an admin', 'site', 'Kept.');
select
  pg_temp.expect('42501', writer, null, $$insert into public.settings (key, value, category, description)
    select key, '1', category, description from public.setting_defaults where key = 'password_protection'$$),
  pg_temp.expect('42501', writer, null, $$insert into public.settings (key, value, category, description)
    select key, value, 'site', description from public.setting_defaults where key = 'password_protection'$$),
  pg_temp.expect('42501', writer, null, $$insert into public.settings (key, value, category, description)
    select key, value, category, 'Vandalised' from public.setting_defaults where key = 'password_protection'$$),
  pg_temp.expect('42501', writer, null, $$insert into public.settings (key, value, category, description) values ('unknown', '1', 'site', 'x')$$),
  pg_temp.expect('23505', writer, null, $$insert into public.settings (key, value, category, description)
    select key, value, category, description from public.setting_defaults where key = 'site_name'$$)
from unnest(array['anon', 'authenticated']) as writer;
select
  pg_temp.expect('42501', 'anon', null, $$insert into public.settings (key, value, category, description)
    select key, value, category, description from public.setting_defaults where key = 'site_name'
    on conflict (key) do update set value = excluded.value$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into public.settings (key, value, category, description)
    select key, value, category, description from public.setting_defaults where key = 'site_name'
    on conflict (key) do update set value = excluded.value$$),
  pg_temp.expect('42501', 'anon', null, $$insert into public.settings (key, value, category, description, updated_at)
    select key, value, category, description, 'infinity' from public.setting_defaults where key = 'password_protection'$$),
  pg_temp.expect('1 rows', 'anon', null, $$insert into public.settings (key, value, category, description)
    select key, value, category, description from public.setting_defaults where key = 'password_protection'$$),
  pg_temp.expect('23514', 'service_role', null, $$update public.settings set value = '{"home":1}' where key = 'page_titles'$$),
  pg_temp.expect('23514', 'service_role', null, $$update public.settings set value = 'not json' where key = 'favicons'$$),
  pg_temp.expect('23514', 'service_role', null, $$update public.settings set value = '2' where key = 'password_protection'$$),
  pg_temp.expect('1 rows', 'service_role', null, $$update public.settings set value = '"1"' where key = 'password_protection'$$);
select pg_temp.must_hold(value = 'Chosen by an admin', 'a setting that is there stays') from public.settings where key = 'site_name';

-- Newsletter: one address once, with consent, in nobody else's name; nobody reads.
select
  pg_temp.expect('1 rows', 'anon', null, $$insert into public.newsletter_subscriptions (email, consent_given, ip_address, user_id, csrf_token)
    values ('  Fan@Stand.Example ', true, '203.0.113.9', null, repeat('0f', 32))$$),
  pg_temp.expect('23505', 'anon', null, $$insert into public.newsletter_subscriptions (email, consent_given) values ('fan@stand.example', true)$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$insert into public.newsletter_subscriptions (email, consent_given, user_id)
    values ('ada@stand.example', true, 'a0000000-0000-4000-8000-000000000001')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into public.newsletter_subscriptions (email, consent_given, user_id)
    values ('bea@stand.example', true, 'a0000000-0000-4000-8000-000000000002')$$),
  pg_temp.expect('42501', 'anon', null, $$insert into public.newsletter_subscriptions (email, consent_given, user_id)
    values ('bea@stand.example', true, 'a0000000-0000-4000-8000-000000000002')$$),
  pg_temp.expect('42501', 'anon', null, $$insert into public.newsletter_subscriptions (email, consent_given) values ('x@stand.example', true) returning email$$),
  pg_temp.expect('42501', 'anon', null, $$insert into public.newsletter_subscriptions (email, consent_given) values ('fan@stand.example', true)
    on conflict (email) do update set consent_given = true$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.bea(), $$select email from public.newsletter_subscriptions$$),
  pg_temp.expect('42501', 'anon', null, $$select from public.newsletter_subscriptions$$);
select pg_temp.expect(expected, 'anon', null,
  format('insert into public.newsletter_subscriptions (email, consent_given, ip_address, csrf_token) values (%L, %L, %L, %L)',
    email, consent, ip, token))
from (values
  ('23514', 'a@b', true, null, null), ('23514', 'two@@at.example', true, null, null),
  ('23514', 'dots..dots@at.example', true, null, null), ('23514', '.dot@at.example', true, null, null),
  ('23514', 'dot.@at.example', true, null, null), ('23514', 'tag<b>@at.example', true, null, null),
  ('23514', 'quote"@at.example', true, null, null), ('23514', E'line\nbreak@at.example', true, null, null),
  ('23514', repeat('x', 250) || '@at.example', true, null, null), ('23502', null, true, null, null),
  ('23514', 'no@consent.example', false, null, null), ('23502', 'no@consent.example', null, null, null),
  ('22P02', 'ok@ip.example', true, 'not an address', null), ('23514', 'ok@ip.example', true, '10.0.0.0/8', null),
  ('23514', 'ok@token.example', true, null, 'short'), ('1 rows', 'ok+tag@sub.ip.example', true, '2001:db8::1', null)
) as attempt (expected, email, consent, ip, token);

-- Submissions and applications pass through the service, under the forms' rules.
select
  pg_temp.expect('42501', caller, null, $$select from public.contact_submissions$$),
  pg_temp.expect('42501', caller, null, $$select from public.job_applications$$),
  pg_temp.expect('42501', caller, null, $$insert into public.contact_submissions (name, company, email) values ('Ann Lee', 'Club', 'ann@club.example')$$),
  pg_temp.expect('42501', caller, null, $$insert into public.job_applications (name, email) values ('Ann Lee', 'ann@club.example')$$)
from unnest(array['anon', 'authenticated']) as caller;
select pg_temp.expect(expected, 'service_role', null,
  format('insert into public.contact_submissions (name, company, email, message) values (%L, %L, %L, %L)', name, company, email, message))
from (values
  ('1 rows', 'José Ñandú', 'Harbour Row & Sons', 'Jose@Club.Example', E'Hello,\nplease select a date & update us: 50% off?'),
  ('1 rows', 'Ann', 'Club', 'ann@club.example', null), ('23514', 'A', 'Club', 'ann@club.example', null),
  ('23514', '<b>Ann', 'Club', 'ann@club.example', null), ('23514', 'Ann', 'Club (Ltd)', 'ann@club.example', null),
  ('23514', repeat('a', 101), 'Club', 'ann@club.example', null), ('23514', 'Ann', repeat('c', 201), 'ann@club.example', null),
  ('23514', 'Ann', 'Club', 'ann', null), ('23514', 'Ann', 'Club', 'ann@club.example', repeat('m', 2001)),
  ('23514', 'Ann', 'Club', 'ann@club.example', '<script>alert(1)</script>'), ('23514', 'Ann', 'Club', 'ann@club.example', 'javascript:alert(1)'),
  ('23514', E'An\u0007n', 'Club', 'ann@club.example', null), ('23514', 'Ann', 'Club', 'ann@club.example', E'bell\u0007')
) as attempt (expected, name, company, email, message);
select pg_temp.expect(expected, 'service_role', null,
  format('insert into public.job_applications (name, email, message, job_role_id) values (%L, %L, %L, %L)', name, 'a@club.example', message, role_id))
from (values
  ('1 rows', 'Anne-Marie O''Neil', null, null), ('1 rows', '佐々木 花子', null, null), ('1 rows', 'Zoë D’Arcy', 'Hi', null),
  ('23514', 'R2D2', null, null), ('23514', 'Ann_Lee', null, null), ('23514', 'Ann 🙂', null, null), ('23514', 'A', null, null),
  ('23514', 'Ann', repeat('m', 2001), null), ('23503', 'Ann', null, 'd0000000-0000-4000-8000-000000000001')
) as attempt (expected, name, message, role_id);

-- The functions' work in the database is for the service key; searching the site is for all, within what they may read.
select
  pg_temp.expect('42501', caller, null, $$select public.count_call('b', 'c', 1, 60)$$),
  pg_temp.expect('42501', caller, null, $$select public.receive_lead('contact_submission', '{}', 'c')$$),
  pg_temp.expect('42501', caller, null, $$select public.claim_lead_mails(1)$$),
  pg_temp.expect('42501', caller, null, $$select public.finish_lead_mail(null)$$),
  pg_temp.expect('42501', caller, null, $$select from private.lead_mails$$),
  pg_temp.expect('0 rows', caller, null, $$select from public.search_site('Hidden Hidden headline') where title = 'Hidden'$$),
  pg_temp.expect('1 rows', caller, null, $$select from public.search_site('How does the guarantee work?', 1)$$)
from unnest(array['anon', 'authenticated']) as caller;
select pg_temp.must_hold(
  array_agg(public.count_call('access test', 'somebody', 2, 60) order by number) = '{0,0,60,60}', 'calls are counted')
from generate_series(1, 4) as number;
select pg_temp.must_hold(public.count_call('access test', 'somebody else', 2, 60) = 0, 'everybody is counted alone');
create function pg_temp.lead() returns jsonb language sql return jsonb_build_object(
  'id', 'e0000000-0000-4000-8000-000000000001', 'name', 'Ann Lee', 'company', 'Club', 'email', 'ann@club.example');
select
  pg_temp.must_hold(public.receive_lead('contact_submission', pg_temp.lead(), 'access test') = '{"status":"stored"}', 'a lead is stored');
select
  pg_temp.must_hold(public.receive_lead('contact_submission', pg_temp.lead(), 'access test') = '{"status":"known"}', 'and once only');
select pg_temp.must_hold(count(*) = 1, 'its mail is due') from public.claim_lead_mails(10) where lead_id = (pg_temp.lead() ->> 'id')::uuid;
select pg_temp.must_hold(count(*) = 0, 'and for one sender only') from public.claim_lead_mails(10);
select public.finish_lead_mail((pg_temp.lead() ->> 'id')::uuid, 'refused');
update private.lead_mails set due_at = now();
select pg_temp.must_hold(count(*) = 1 and max(attempts) = 2, 'a mail that failed is due again') from public.claim_lead_mails(10);
select public.finish_lead_mail((pg_temp.lead() ->> 'id')::uuid);
update private.lead_mails set due_at = now();
select pg_temp.must_hold(count(*) = 0, 'a mail that was sent is not') from public.claim_lead_mails(10);

-- People see and change themselves.
select
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$select from public.profiles$$),
  pg_temp.expect('42501', 'anon', null, $$select from public.profiles$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$update public.profiles set full_name = 'Ada O.'$$),
  pg_temp.expect('0 rows', 'authenticated', pg_temp.ada(), $$update public.profiles set full_name = 'Bad' where id <> 'a0000000-0000-4000-8000-000000000001'$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$update public.profiles set email = 'x@y.example'$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$update public.profiles set id = gen_random_uuid()$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$delete from public.profiles$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$select from public.user_roles$$),
  pg_temp.expect('42501', 'anon', null, $$select from public.user_roles$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into public.user_roles values ('a0000000-0000-4000-8000-000000000001', 'admin')$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$update public.user_roles set role = 'admin'$$),
  pg_temp.expect('23514', 'service_role', null, $$insert into public.user_roles values ('a0000000-0000-4000-8000-000000000001', 'king')$$);

-- Pictures lie in storage; what was there before can be edited and taken away.
select
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$update public.profiles set avatar_url = 'experts/ada.webp'$$),
  pg_temp.expect('23514', 'authenticated', pg_temp.ada(), $$update public.profiles set avatar_url = 'https://pictures.example/ada.png'$$),
  pg_temp.expect('23514', 'authenticated', pg_temp.bea(), $$update public.blog_posts set image_url = 'https://pictures.example/one.png'$$),
  pg_temp.expect('23514', 'authenticated', pg_temp.bea(),
    $$update public.settings set value = '{"favicon": "https://pictures.example/one.ico"}' where key = 'favicons'$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.bea(),
    $$update public.settings set value = '{"favicon": "app/one.ico"}' where key = 'favicons'$$);
alter table public.profiles disable trigger refuse_foreign_picture;
update public.profiles set avatar_url = 'https://pictures.example/ada.png' where id = pg_temp.ada();
alter table public.profiles enable trigger refuse_foreign_picture;
select
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$update public.profiles set full_name = 'Ada O.', avatar_url = avatar_url$$),
  pg_temp.expect('1 rows', 'authenticated', pg_temp.ada(), $$update public.profiles set avatar_url = null$$);

-- Everybody hears that content was hidden, nobody else can say so.
update public.faqs set is_visible = false where id = (select id from public.faqs where is_visible limit 1);
select pg_temp.must_hold(
  count(*) = 1 and bool_and(private) and min(payload ->> 'table') = 'faqs', 'hiding a row is told on the private channel')
from realtime.messages where topic = 'content' and event = 'hidden' and inserted_at > now() at time zone 'utc' - interval '1 minute';
select set_config('realtime.topic', 'content', true);
select
  pg_temp.expect('42501', 'anon', null, $$insert into realtime.messages (topic, extension, event, payload, private) values ('content', 'broadcast', 'hidden', '{}', true)$$),
  pg_temp.expect('42501', 'authenticated', pg_temp.ada(), $$insert into realtime.messages (topic, extension, event, payload, private) values ('content', 'broadcast', 'hidden', '{}', true)$$);

-- A session is valid for its own active user alone.
create function pg_temp.integrity(expected text, role_name text, caller uuid, asked uuid) returns void language sql as $$
  select pg_temp.expect(expected, role_name, caller,
    format('select where public.validate_session_integrity(user_id => %L)', asked))
$$;
select
  pg_temp.integrity('1 rows', 'authenticated', pg_temp.ada(), pg_temp.ada()),
  pg_temp.integrity('1 rows', 'authenticated', pg_temp.bea(), pg_temp.bea()),
  pg_temp.integrity('0 rows', 'authenticated', pg_temp.ada(), pg_temp.bea()),
  pg_temp.integrity('0 rows', 'authenticated', pg_temp.ada(), null),
  pg_temp.integrity('0 rows', 'anon', null, pg_temp.ada()),
  pg_temp.integrity('0 rows', 'authenticated', 'a0000000-0000-4000-8000-000000000003', 'a0000000-0000-4000-8000-000000000003'),
  pg_temp.integrity('0 rows', 'authenticated', 'a0000000-0000-4000-8000-000000000004', 'a0000000-0000-4000-8000-000000000004'),
  pg_temp.integrity('0 rows', 'authenticated', 'a0000000-0000-4000-8000-000000000005', 'a0000000-0000-4000-8000-000000000005');
delete from auth.sessions where user_id = pg_temp.ada();
select pg_temp.integrity('0 rows', 'authenticated', pg_temp.ada(), pg_temp.ada());

-- Every table has row-level security, and every table and column says what it is for.
select pg_temp.must_hold(bool_and(relrowsecurity), 'row-level security on ' || string_agg(relname, ', ') filter (where not relrowsecurity))
from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r';
select pg_temp.must_hold(count(*) = 0, 'a comment on ' || coalesce(string_agg(relname || '.' || attname, ', '), 'every column'))
from pg_class join pg_attribute on attrelid = pg_class.oid
where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
  and col_description(pg_class.oid, attnum) is null;
select pg_temp.must_hold(bool_and(obj_description(oid, 'pg_class') is not null), 'a comment on every table')
from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r';
select pg_temp.must_hold(count(*) = 10, 'ten content tables announce their changes')
from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public';

rollback;
