-- Content tables tell subscribed clients about changes. The publication belongs to the platform; one that already
-- carries a table, or all tables, is left alone.

do $$
declare
  content_table text;
begin
  if not exists (select from pg_publication where pubname = 'supabase_realtime' and not puballtables) then
    return;
  end if;
  foreach content_table in array array[
    'settings', 'hero_headlines', 'testimonials', 'testimonial_page_orders', 'blog_posts', 'faqs', 'job_openings',
    'timeline_events', 'chat_widget_config', 'chat_suggested_questions'
  ] loop
    if not exists (
      select from pg_publication_tables
      where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = content_table
    ) then
      execute format('alter publication supabase_realtime add table public.%I', content_table);
    end if;
  end loop;
end
$$;
