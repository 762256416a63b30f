-- What the chat knows: everything that visitors can read on the site, cut into passages and searched by words.

create extension if not exists pg_trgm with schema extensions;

create table public.chat_passages (
  id uuid primary key default gen_random_uuid(),
  page text not null,
  title text not null,
  body text not null,
  is_visible boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint chat_passages_page_shape check (page ~ '^/[a-z0-9/#-]*$'),
  constraint chat_passages_title_length check (private.is_line(title, 1, 200)),
  constraint chat_passages_body_length check (private.is_text(body, 1, 5000))
);
comment on table public.chat_passages is
  'What the chat assistant knows besides the articles, questions, openings and the timeline: what pages say in words of their own.';
comment on column public.chat_passages.id is 'Identity of the row.';
comment on column public.chat_passages.page is 'The page that says it, as a path with or without a section.';
comment on column public.chat_passages.title is 'What it is about; words here count double in the search.';
comment on column public.chat_passages.body is 'What the assistant answers with.';
comment on column public.chat_passages.is_visible is 'False hides it from the assistant.';
comment on column public.chat_passages.created_at is 'When the row was made.';
comment on column public.chat_passages.updated_at is 'When the row was last changed; kept by trigger.';

create table public.chat_synonyms (
  word text primary key,
  meaning text not null,
  constraint chat_synonyms_word_shape check (word ~ '^[a-z]{2,40}$'),
  constraint chat_synonyms_meaning_length check (private.is_line(meaning, 2, 100))
);
comment on table public.chat_synonyms is 'Words of visitors that the site says in other words.';
comment on column public.chat_synonyms.word is 'A word of a question, in lower case.';
comment on column public.chat_synonyms.meaning is 'One or more words that are searched for as well.';

create trigger set_updated_at before update on public.chat_passages
  for each row execute function private.set_updated_at();
alter table public.chat_passages enable row level security;
alter table public.chat_synonyms enable row level security;
revoke all on public.chat_passages, public.chat_synonyms from anon, authenticated, service_role;
grant select on public.chat_passages, public.chat_synonyms to anon, authenticated;
grant insert, update, delete on public.chat_passages, public.chat_synonyms to authenticated;
grant select, insert, update, delete on public.chat_passages, public.chat_synonyms to service_role;
create policy "visible passages are public" on public.chat_passages for select using (is_visible);
create policy "synonyms are public" on public.chat_synonyms for select using (true);
create policy "admins edit passages" on public.chat_passages to authenticated
  using ((select private.has_role('admin'))) with check ((select private.has_role('admin')));
create policy "admins edit synonyms" on public.chat_synonyms to authenticated
  using ((select private.has_role('admin'))) with check ((select private.has_role('admin')));

-- Computed with each question: the whole site is a few hundred passages, and an edit is found at once.
create function public.search_site(question text, most integer default 4) returns table (
  kind text, page text, title text, body text, score real, coverage real, words integer)
language sql stable parallel safe set search_path = '' set jit = off
begin atomic
  with passages as (
    select 'faq' as kind, '/#faq' as page, faqs.question as title, faqs.answer as body
    from public.faqs where faqs.is_visible
    union all
    select 'article', blog_posts.link, blog_posts.title, paragraph
    from public.blog_posts, regexp_split_to_table(blog_posts.content, '\n\s*\n') as paragraph
    where blog_posts.is_visible and btrim(paragraph) <> ''
    union all
    select 'article', blog_posts.link, blog_posts.title, blog_posts.description
    from public.blog_posts where blog_posts.is_visible
    union all
    select 'opening', '/careers#jobs', job_openings.title, job_openings.description
    from public.job_openings where job_openings.is_active
    union all
    select 'event', '/about', timeline_events.period || ': ' || timeline_events.title, timeline_events.description
    from public.timeline_events
    union all
    select 'page', chat_passages.page, chat_passages.title, chat_passages.body
    from public.chat_passages where chat_passages.is_visible
  ), numbered as materialized (
    select row_number() over () as number, passages.*,
      to_tsvector('english', passages.title) as head, to_tsvector('english', passages.body) as text
    from passages
  ), words as materialized (
    -- A word in the title counts as often as two in the body.
    select number, lexeme, sum(weight * coalesce(array_length(positions, 1), 1)) as often
    from (
      select number, lexeme, positions, 2 as weight from numbered, unnest(head)
      union all
      select number, lexeme, positions, 1 from numbered, unnest(text)
    ) as found
    group by number, lexeme
  ), spread as materialized (
    select lexeme, ln(1 + ((select count(*) from numbered) - count(*) + 0.5) / (count(*) + 0.5)) as rarity
    from words group by lexeme
  ), synonyms as materialized (
    select to_tsvector('english', chat_synonyms.word) as word, to_tsvector('english', chat_synonyms.meaning) as meaning
    from public.chat_synonyms
    where chat_synonyms.word = any (regexp_split_to_array(lower(left(question, 1000)), '[^a-z]+'))
  ), replaced as materialized (
    select lexeme from synonyms, unnest(tsvector_to_array(word)) as lexeme
  ), asked as materialized (
    -- The product and a club are what every question and every passage is about. A word with a synonym means that.
    select lexeme, max(weight) as weight, bool_or(is_own) as is_own
    from (
      select lexeme, 1.0 as weight, true as is_own from synonyms, unnest(tsvector_to_array(meaning)) as lexeme
      union all
      select lexeme,
        case when lexeme in (select replaced.lexeme from replaced) then 0.5 else 1 end,
        lexeme not in (select replaced.lexeme from replaced)
      from unnest(tsvector_to_array(ts_delete(
        to_tsvector('english', left(question, 1000)),
        '{terrac,club,much,mani,could,would,get,need,like,pleas,tell}'::text[]))) as lexeme
    ) as every
    group by lexeme
  ), meant as materialized (
    -- A word that no passage has stands for the one that looks most like it.
    select asked.lexeme as wanted, asked.is_own,
      coalesce(spread.lexeme, alike.lexeme) as lexeme,
      asked.weight * case when spread.lexeme is null then alike.similarity else 1 end as weight,
      coalesce(spread.rarity, alike.rarity, (select max(spread.rarity) from spread)) as rarity
    from asked
    left join spread using (lexeme)
    left join lateral (
      select near.lexeme, near.rarity, extensions.similarity(near.lexeme, asked.lexeme) as similarity
      from spread as near
      where spread.lexeme is null and char_length(asked.lexeme) > 3
        and extensions.similarity(near.lexeme, asked.lexeme) >= 0.4
      order by similarity desc, near.rarity
      limit 1
    ) as alike on true
  ), lengths as (
    select number, sum(often) as length, avg(sum(often)) over () as usual from words group by number
  ), scored as (
    -- Okapi BM25 with its customary k1 = 1.2 and b = 0.5, since answers are short and articles are not.
    select words.number,
      sum(meant.weight * meant.rarity * words.often * 2.2
        / (words.often + 1.2 * (0.5 + 0.5 * lengths.length / lengths.usual))) as score,
      sum(meant.rarity * meant.weight) as covered
    from meant
    join words using (lexeme)
    join lengths using (number)
    group by words.number
  )
  select numbered.kind, numbered.page, numbered.title, numbered.body,
    -- An answer to a question says it better than an article or an opening that mentions it.
    (scored.score * case numbered.kind
      when 'faq' then 1.35
      when 'page' then 1
      when 'opening' then
        case when question ~* '\m(jobs?|roles?|openings?|vacanc|positions?|careers?|hiring|hire)' then 1.6 else 0.7 end
      else 0.8 end)::real as score,
    (scored.covered / (select sum(meant.rarity) from meant where meant.is_own))::real as coverage,
    (select count(*) from meant where meant.is_own)::integer as words
  from scored
  join numbered using (number)
  order by 5 desc, numbered.number
  limit least(most, 10);
end;
comment on function public.search_site(text, integer) is
  'The passages of the site that answer a question best, the best first. Coverage is the part of the question''s words, by how telling they are, that the passage has; far below 1 it does not speak of the question. Words is how many those are.';

revoke execute on function public.search_site(text, integer) from public;
grant execute on function public.search_site(text, integer) to anon, authenticated, service_role;
