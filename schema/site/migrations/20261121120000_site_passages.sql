-- The chat's search reads passages and their words from tables. They are made when the site is edited, not when it is
-- asked: cutting all articles into words took most of a question's time.

create table private.site_passages (
  id bigint primary key,
  source text not null,
  row_id text not null,
  kind text not null,
  page text not null,
  title text not null,
  body text not null,
  length integer not null default 0
);
comment on table private.site_passages is
  'What visitors can read on the site, in the parts that the chat answers with; kept by triggers on the tables that it comes from.';
comment on column private.site_passages.id is 'Identity of the passage; a new one with each edit.';
comment on column private.site_passages.source is 'The table that it comes from.';
comment on column private.site_passages.row_id is 'The id of the row that it comes from.';
comment on column private.site_passages.kind is 'faq, article, opening, event or page.';
comment on column private.site_passages.page is 'Where visitors read it, as a path.';
comment on column private.site_passages.title is 'What it is about.';
comment on column private.site_passages.body is 'What it says.';
comment on column private.site_passages.length is 'Words, those of the title counted twice.';
create sequence private.site_passages_id_seq owned by private.site_passages.id;
create index site_passages_row_idx on private.site_passages (source, row_id);

create table private.site_words (
  lexeme text not null,
  passage_id bigint not null references private.site_passages on delete cascade,
  often integer not null,
  primary key (lexeme, passage_id)
);
comment on table private.site_words is 'The words of the passages.';
comment on column private.site_words.lexeme is 'A word without its ending, as text search has it.';
comment on column private.site_words.passage_id is 'The passage that has it.';
comment on column private.site_words.often is 'How often: once for each time in the body, twice for each in the title.';
create index site_words_passage_idx on private.site_words (passage_id);
create index site_words_alike_idx on private.site_words using gin (lexeme extensions.gin_trgm_ops);

alter table private.site_passages enable row level security;
alter table private.site_words enable row level security;

create view private.site_texts as
  select 'faqs' as source, faqs.id::text as row_id, 'faq' as kind, '/#faq' as page, faqs.question as title, faqs.answer as body
  from public.faqs where faqs.is_visible
  union all
  select 'blog_posts', blog_posts.id::text, 'article', blog_posts.link, blog_posts.title, paragraph
  from public.blog_posts, regexp_split_to_table(blog_posts.content, '\n\s*\n') as paragraph
  where blog_posts.is_visible and btrim(paragraph) <> ''
  union all
  select 'blog_posts', blog_posts.id::text, 'article', blog_posts.link, blog_posts.title, blog_posts.description
  from public.blog_posts where blog_posts.is_visible
  union all
  select 'job_openings', job_openings.id::text, 'opening', '/careers#jobs', job_openings.title, job_openings.description
  from public.job_openings where job_openings.is_active
  union all
  select 'timeline_events', timeline_events.id::text, 'event', '/about',
    timeline_events.period || ': ' || timeline_events.title, timeline_events.description
  from public.timeline_events
  union all
  select 'chat_passages', chat_passages.id::text, 'page', chat_passages.page, chat_passages.title, chat_passages.body
  from public.chat_passages where chat_passages.is_visible;
comment on view private.site_texts is 'The passages as the tables of the site have them now.';

create function private.index_site_texts(source text, row_id text default null) returns void
language sql volatile set search_path = ''
begin atomic
  with texts as materialized (
    select site_texts.*, to_tsvector('english', site_texts.title) as head, to_tsvector('english', site_texts.body) as text
    from private.site_texts
    where site_texts.source = index_site_texts.source
      and (index_site_texts.row_id is null or site_texts.row_id = index_site_texts.row_id)
  ), numbered as materialized (
    select nextval('private.site_passages_id_seq') as id, texts.* from texts
  ), words as materialized (
    select found.id, found.lexeme, sum(found.weight * coalesce(array_length(found.positions, 1), 1)) as often
    from (
      select numbered.id, lexeme, positions, 2 as weight from numbered, unnest(numbered.head)
      union all
      select numbered.id, lexeme, positions, 1 from numbered, unnest(numbered.text)
    ) as found
    group by found.id, found.lexeme
  ), passages as (
    insert into private.site_passages (id, source, row_id, kind, page, title, body, length)
    select numbered.id, numbered.source, numbered.row_id, numbered.kind, numbered.page, numbered.title, numbered.body,
      (select coalesce(sum(words.often), 0) from words where words.id = numbered.id)
    from numbered
  )
  insert into private.site_words (lexeme, passage_id, often) select words.lexeme, words.id, words.often from words;
end;
comment on function private.index_site_texts(text, text) is
  'Makes the passages of a row of the table, or of all of its rows; there must be none of them yet.';

create function private.index_site_row() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op in ('UPDATE', 'DELETE') then
    delete from private.site_passages
    where site_passages.source = tg_table_name and site_passages.row_id = old.id::text;
  end if;
  if tg_op in ('INSERT', 'UPDATE') then
    perform private.index_site_texts(tg_table_name, new.id::text);
  end if;
  return null;
end
$$;
comment on function private.index_site_row() is 'Makes the passages of a row anew.';

create function private.forget_site_table() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from private.site_passages where site_passages.source = tg_table_name;
  return null;
end
$$;
comment on function private.forget_site_table() is 'Removes the passages of a table that was emptied.';

do $$
declare
  name text;
begin
  foreach name in array '{faqs,blog_posts,job_openings,timeline_events,chat_passages}'::text[] loop
    execute format(
      'create trigger index_site_row after insert or update or delete on public.%I for each row execute function private.index_site_row()',
      name);
    execute format(
      'create trigger forget_site_table after truncate on public.%I for each statement execute function private.forget_site_table()',
      name);
    -- What was there before the triggers.
    perform private.index_site_texts(name);
  end loop;
end
$$;

-- As before, but out of those tables, and in PL/pgSQL, which keeps the plan: to make it took longer than to run it.
create or replace function public.search_site(question text, most integer default 4) returns table (
  kind text, page text, title text, body text, score real, coverage real, words integer)
language plpgsql stable parallel safe security definer
set search_path = '' set jit = off set pg_trgm.similarity_threshold = 0.4 as $$
#variable_conflict use_column
begin
  return query with passages as materialized (
    select count(*) as number, avg(site_passages.length) as usual from private.site_passages
  ), synonyms as materialized (
    select to_tsvector('english', chat_synonyms.word) as word, to_tsvector('english', chat_synonyms.meaning) as meaning
    from public.chat_synonyms
    where chat_synonyms.word = any (regexp_split_to_array(lower(left(search_site.question, 1000)), '[^a-z]+'))
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
        to_tsvector('english', left(search_site.question, 1000)),
        '{terrac,club,much,mani,could,would,get,need,like,pleas,tell}'::text[]))) as lexeme
    ) as every
    group by lexeme
  ), meant as materialized (
    -- A word that no passage has stands for the one that looks most like it, or for one that is as rare as can be.
    select asked.is_own, coalesce(known.lexeme, alike.lexeme) as lexeme,
      asked.weight * coalesce(alike.similarity, 1) as weight,
      ln(1 + (passages.number - rarity.often + 0.5) / (rarity.often + 0.5)) as rarity
    from asked
    cross join passages
    left join lateral (
      select site_words.lexeme, count(*) as often from private.site_words
      where site_words.lexeme = asked.lexeme
      group by site_words.lexeme
    ) as known on true
    left join lateral (
      select site_words.lexeme, count(*) as often, extensions.similarity(site_words.lexeme, asked.lexeme) as similarity
      from private.site_words
      where known.lexeme is null and char_length(asked.lexeme) > 3
        and site_words.lexeme operator(extensions.%) asked.lexeme
      group by site_words.lexeme
      order by similarity desc, often desc
      limit 1
    ) as alike on true
    cross join lateral (select coalesce(known.often, alike.often, 1) as often) as rarity
  ), scored as (
    -- Okapi BM25 with its customary k1 = 1.2 and b = 0.5, since answers are short and articles are not.
    select site_words.passage_id,
      sum(meant.weight * meant.rarity * site_words.often * 2.2
        / (site_words.often + 1.2 * (0.5 + 0.5 * site_passages.length / passages.usual))) as score,
      sum(meant.rarity * meant.weight) as covered
    from meant
    join private.site_words using (lexeme)
    join private.site_passages on site_passages.id = site_words.passage_id
    cross join passages
    group by site_words.passage_id
  )
  select site_passages.kind, site_passages.page, site_passages.title, site_passages.body,
    -- An answer to a question says it better than an article or an opening that mentions it.
    (scored.score * case site_passages.kind
      when 'faq' then 1.35
      when 'page' then 1
      when 'opening' then
        case when search_site.question ~* '\m(jobs?|roles?|openings?|vacanc|positions?|careers?|hiring|hire)' then 1.6 else 0.7 end
      else 0.8 end)::real as score,
    (scored.covered / (select sum(meant.rarity) from meant where meant.is_own))::real as coverage,
    (select count(*) from meant where meant.is_own)::integer as words
  from scored
  join private.site_passages on site_passages.id = scored.passage_id
  order by 5 desc, site_passages.id
  limit least(search_site.most, 10);
end
$$;

revoke execute on function
  private.index_site_texts(text, text), private.index_site_row(), private.forget_site_table() from public;
