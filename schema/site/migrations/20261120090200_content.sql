-- What the pages show: headlines, testimonials, articles, questions, openings, the timeline and the chat's opening lines.

create table public.hero_headlines (
  id uuid primary key default gen_random_uuid(),
  headline text not null,
  order_index integer not null default 0,
  is_visible boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint hero_headlines_headline_length check (private.is_line(headline, 1, 120)),
  constraint hero_headlines_order_index_positive check (order_index >= 0)
);
comment on table public.hero_headlines is 'Phrases that the home page''s headline types out in turn.';
comment on column public.hero_headlines.id is 'Identity of the row.';
comment on column public.hero_headlines.headline is 'The phrase; one line of at most 120 characters.';
comment on column public.hero_headlines.order_index is 'Place in the rotation, lowest first.';
comment on column public.hero_headlines.is_visible is 'False hides the phrase from visitors.';
comment on column public.hero_headlines.created_at is 'When the row was made.';
comment on column public.hero_headlines.updated_at is 'When the row was last changed; kept by trigger.';
create index hero_headlines_visible_idx on public.hero_headlines (order_index) where is_visible;

create table public.testimonials (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  title text not null,
  role text not null,
  quote text not null,
  about text not null,
  image_path text,
  is_visible boolean not null default true,
  visible_on_pages text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint testimonials_name_length check (private.is_line(name, 2, 100)),
  constraint testimonials_title_length check (private.is_line(title, 1, 200)),
  constraint testimonials_role_length check (private.is_line(role, 1, 100)),
  constraint testimonials_quote_length check (private.is_text(quote, 1, 1000)),
  constraint testimonials_about_length check (private.is_text(about, 1, 2000)),
  constraint testimonials_image_path_shape check (image_path ~ '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$'),
  constraint testimonials_pages_known check (visible_on_pages <@ private.page_names())
);
comment on table public.testimonials is
  'People who speak for the product: experts on the home page, leaders and investors on the about page.';
comment on column public.testimonials.id is 'Identity of the row.';
comment on column public.testimonials.name is 'The person''s name.';
comment on column public.testimonials.title is 'What the person does or did, under the name on the card.';
comment on column public.testimonials.role is
  'The person''s part in the company, shown on pages other than home. The exact word Investor puts the person among the investors.';
comment on column public.testimonials.quote is 'What the person says, without quotation marks.';
comment on column public.testimonials.about is 'A few sentences about the person.';
comment on column public.testimonials.image_path is
  'Portrait as bucket/path in storage; without a bucket it lies in experts. NULL shows initials.';
comment on column public.testimonials.is_visible is 'False hides the person from visitors on every page.';
comment on column public.testimonials.visible_on_pages is
  'Pages that show the person, of ''home'' and ''about us''; used where testimonial_page_orders has no rows for the page.';
comment on column public.testimonials.created_at is 'When the row was made.';
comment on column public.testimonials.updated_at is 'When the row was last changed; kept by trigger.';
create index testimonials_pages_idx on public.testimonials using gin (visible_on_pages) where is_visible;

create table public.testimonial_page_orders (
  page_name text not null,
  testimonial_id uuid not null references public.testimonials (id) on delete cascade,
  order_index integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (page_name, testimonial_id),
  constraint testimonial_page_orders_page_known check (page_name = any (private.page_names())),
  constraint testimonial_page_orders_order_index_positive check (order_index >= 0)
);
comment on table public.testimonial_page_orders is 'Which testimonials a page shows, and in which order.';
comment on column public.testimonial_page_orders.page_name is 'The page: ''home'' or ''about us''.';
comment on column public.testimonial_page_orders.testimonial_id is 'The testimonial; the row goes when the testimonial goes.';
comment on column public.testimonial_page_orders.order_index is 'Place on the page, lowest first.';
comment on column public.testimonial_page_orders.created_at is 'When the row was made.';
comment on column public.testimonial_page_orders.updated_at is 'When the row was last changed; kept by trigger.';
create index testimonial_page_orders_page_idx on public.testimonial_page_orders (page_name, order_index);
create index testimonial_page_orders_testimonial_idx on public.testimonial_page_orders (testimonial_id);

create table public.blog_posts (
  id bigint generated by default as identity primary key,
  title text not null,
  category text not null,
  description text not null,
  image_url text,
  link text not null unique,
  is_visible boolean not null default true,
  content text not null,
  source_link1 text,
  source_title1 text,
  source_link2 text,
  source_title2 text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint blog_posts_title_length check (private.is_line(title, 1, 200)),
  constraint blog_posts_category_length check (private.is_line(category, 1, 60)),
  constraint blog_posts_description_length check (private.is_text(description, 1, 500)),
  constraint blog_posts_image_url_shape check (
    image_url ~ '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$' or private.is_web_address(image_url)),
  constraint blog_posts_link_shape check (link ~ '^/blog/[a-z0-9]+(-[a-z0-9]+)*$'),
  constraint blog_posts_content_length check (private.is_text(content, 1, 100000)),
  constraint blog_posts_source1_shape check (
    private.is_web_address(source_link1) and private.is_line(source_title1, 1, 200)),
  constraint blog_posts_source1_complete check ((source_link1 is null) = (source_title1 is null)),
  constraint blog_posts_source2_shape check (
    private.is_web_address(source_link2) and private.is_line(source_title2, 1, 200)),
  constraint blog_posts_source2_complete check ((source_link2 is null) = (source_title2 is null))
);
comment on table public.blog_posts is 'Articles of the insights section, listed in the order of their ids.';
comment on column public.blog_posts.id is 'Identity of the row, and its place in lists.';
comment on column public.blog_posts.title is 'Headline of the article and of its card.';
comment on column public.blog_posts.category is 'Topic, shown on the card.';
comment on column public.blog_posts.description is 'Summary on the card.';
comment on column public.blog_posts.image_url is
  'Picture of the card: bucket/path in storage or an absolute address. NULL shows the placeholder.';
comment on column public.blog_posts.link is 'Route of the article on the site, such as /blog/beyond-ads; articles are looked up by it.';
comment on column public.blog_posts.is_visible is 'False hides the article from visitors.';
comment on column public.blog_posts.content is 'Plain text; a blank line ends a paragraph.';
comment on column public.blog_posts.source_link1 is 'Address of the first source. NULL without a source.';
comment on column public.blog_posts.source_title1 is 'Title of the first source; given exactly when its address is.';
comment on column public.blog_posts.source_link2 is 'Address of the second source. NULL without a source.';
comment on column public.blog_posts.source_title2 is 'Title of the second source; given exactly when its address is.';
comment on column public.blog_posts.created_at is 'When the row was made.';
comment on column public.blog_posts.updated_at is 'When the row was last changed; kept by trigger.';
create index blog_posts_visible_idx on public.blog_posts (id) where is_visible;

create table public.faqs (
  id uuid primary key default gen_random_uuid(),
  question text not null,
  answer text not null,
  labels text[] not null default '{}',
  is_visible boolean not null default true,
  order_index integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint faqs_question_length check (private.is_line(question, 1, 300)),
  constraint faqs_answer_length check (private.is_text(answer, 1, 5000)),
  constraint faqs_labels_known check (
    labels <@ array['DAVE', 'Monetization', 'BrandControl', 'FanExperience', 'Data']),
  constraint faqs_order_index_positive check (order_index >= 0)
);
comment on table public.faqs is 'Questions and answers of the home page.';
comment on column public.faqs.id is 'Identity of the row.';
comment on column public.faqs.question is 'The question, one line.';
comment on column public.faqs.answer is 'The answer, plain text.';
comment on column public.faqs.labels is
  'Filters that show the question, of DAVE, Monetization, BrandControl, FanExperience and Data. DAVE stands for Digital Assets & Viewing Experience.';
comment on column public.faqs.is_visible is 'False hides the question from visitors.';
comment on column public.faqs.order_index is 'Place in the list, lowest first.';
comment on column public.faqs.created_at is 'When the row was made.';
comment on column public.faqs.updated_at is 'When the row was last changed; kept by trigger.';
create index faqs_visible_idx on public.faqs (order_index) where is_visible;

create table public.job_openings (
  id uuid primary key default gen_random_uuid(),
  title text not null,
  emoji text not null,
  description text not null,
  is_active boolean not null default true,
  display_order integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint job_openings_title_length check (private.is_line(title, 2, 150)),
  constraint job_openings_emoji_length check (private.is_line(emoji, 1, 12)),
  constraint job_openings_description_length check (private.is_text(description, 1, 5000)),
  constraint job_openings_display_order_positive check (display_order >= 0)
);
comment on table public.job_openings is 'Openings of the careers page and of the application form.';
comment on column public.job_openings.id is 'Identity of the row.';
comment on column public.job_openings.title is 'Name of the position.';
comment on column public.job_openings.emoji is 'Emoji before the title.';
comment on column public.job_openings.description is 'What the work is, plain text.';
comment on column public.job_openings.is_active is 'False takes the opening off the site.';
comment on column public.job_openings.display_order is 'Place in the list, lowest first.';
comment on column public.job_openings.created_at is 'When the row was made.';
comment on column public.job_openings.updated_at is 'When the row was last changed; kept by trigger.';
create index job_openings_active_idx on public.job_openings (display_order) where is_active;

create table public.timeline_events (
  id uuid primary key default gen_random_uuid(),
  period text not null,
  title text not null,
  description text not null,
  order_index integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint timeline_events_period_shape check (period ~ '^[0-9]{4}( Q[1-4])?$'),
  constraint timeline_events_title_length check (private.is_line(title, 1, 150)),
  constraint timeline_events_description_length check (private.is_text(description, 1, 2000)),
  constraint timeline_events_order_index_positive check (order_index >= 0)
);
comment on table public.timeline_events is 'Stations of the company''s journey on the about page, past and planned.';
comment on column public.timeline_events.id is 'Identity of the row.';
comment on column public.timeline_events.period is 'A year or a quarter: ''2026'' or ''2026 Q3''.';
comment on column public.timeline_events.title is 'What happened or will happen, in a few words.';
comment on column public.timeline_events.description is 'The details, shown when the card is expanded.';
comment on column public.timeline_events.order_index is 'Place on the timeline, lowest first.';
comment on column public.timeline_events.created_at is 'When the row was made.';
comment on column public.timeline_events.updated_at is 'When the row was last changed; kept by trigger.';
create index timeline_events_order_idx on public.timeline_events (order_index);

create table public.chat_widget_config (
  id smallint primary key default 1,
  welcome_message text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint chat_widget_config_single_row check (id = 1),
  constraint chat_widget_config_welcome_length check (private.is_text(welcome_message, 1, 1000))
);
comment on table public.chat_widget_config is 'The chat assistant''s configuration; exactly one row.';
comment on column public.chat_widget_config.id is 'Always 1, so that there is only one row.';
comment on column public.chat_widget_config.welcome_message is 'What the assistant says first.';
comment on column public.chat_widget_config.created_at is 'When the row was made.';
comment on column public.chat_widget_config.updated_at is 'When the row was last changed; kept by trigger.';

create table public.chat_suggested_questions (
  id uuid primary key default gen_random_uuid(),
  question text not null,
  order_index integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint chat_suggested_questions_question_length check (private.is_line(question, 1, 200)),
  constraint chat_suggested_questions_order_index_positive check (order_index >= 0)
);
comment on table public.chat_suggested_questions is 'Questions that the chat offers before the visitor has typed one.';
comment on column public.chat_suggested_questions.id is 'Identity of the row.';
comment on column public.chat_suggested_questions.question is 'The question, one line.';
comment on column public.chat_suggested_questions.order_index is 'Place in the list, lowest first.';
comment on column public.chat_suggested_questions.created_at is 'When the row was made.';
comment on column public.chat_suggested_questions.updated_at is 'When the row was last changed; kept by trigger.';
create index chat_suggested_questions_order_idx on public.chat_suggested_questions (order_index);

do $$
declare
  content_table text;
begin
  foreach content_table in array array[
    'hero_headlines', 'testimonials', 'testimonial_page_orders', 'blog_posts', 'faqs', 'job_openings',
    'timeline_events', 'chat_widget_config', 'chat_suggested_questions'
  ] loop
    execute format(
      'create trigger set_updated_at before update on public.%I for each row execute function private.set_updated_at()',
      content_table);
  end loop;
end
$$;
