-- Who may do what. Row-level security is on for every table, and rights are granted one by one instead of relying on
-- the platform's default privileges.

create function private.has_role(wanted text) returns boolean
language sql stable security definer set search_path = '' as $$
  select exists (
    select from public.user_roles
    where user_roles.user_id = auth.uid() and user_roles.role = has_role.wanted
  )
$$;
comment on function private.has_role(text) is
  'True if the caller has the role. Runs as its owner, so that a policy may ask without being subject to the policies of user_roles.';

create function public.validate_session_integrity(user_id uuid) returns boolean
language sql stable security definer set search_path = '' as $$
  select exists (
    select
    from auth.sessions
    join auth.users on users.id = sessions.user_id
    where users.id = auth.uid()
      and users.id = validate_session_integrity.user_id
      and sessions.id::text = auth.jwt() ->> 'session_id'
      and (sessions.not_after is null or sessions.not_after > now())
      and (users.banned_until is null or users.banned_until <= now())
      and users.deleted_at is null
  )
$$;
comment on function public.validate_session_integrity(uuid) is
  'True only if user_id is the caller, the caller''s session has neither ended nor expired, and the user is neither banned nor deleted. False for visitors.';

-- Checks and policies call the private functions with the rights of whoever writes the row. That needs EXECUTE, but not
-- USAGE on the schema, which therefore stays closed to the API's roles.
revoke execute on all functions in schema private from public;
grant execute on all functions in schema private to anon, authenticated, service_role;
-- Nobody calls these but their triggers, which need no right to.
revoke execute on function
  private.set_updated_at(), private.normalise_email(), private.create_profile(), private.follow_email(),
  private.stamp_password_change(), private.profile_from_metadata(jsonb)
  from anon, authenticated, service_role;
revoke execute on function private.has_role(text) from anon, service_role;
revoke execute on function public.validate_session_integrity(uuid) from public;
grant execute on function public.validate_session_integrity(uuid) to anon, authenticated, service_role;

-- Content: everybody reads what is visible, admins read and edit all of it.
do $$
declare
  content record;
begin
  for content in
    select * from (values
      ('settings', 'true'),
      ('hero_headlines', 'is_visible'),
      ('testimonials', 'is_visible'),
      ('testimonial_page_orders',
        'exists (select from public.testimonials where testimonials.id = testimonial_id and testimonials.is_visible)'),
      ('blog_posts', 'is_visible'),
      ('faqs', 'is_visible'),
      ('job_openings', 'is_active'),
      ('timeline_events', 'true'),
      ('chat_widget_config', 'true'),
      ('chat_suggested_questions', 'true')
    ) as listed (table_name, shown_if)
  loop
    execute format('alter table public.%I enable row level security', content.table_name);
    execute format('revoke all on public.%I from public, anon, authenticated, service_role', content.table_name);
    execute format('grant select on public.%I to anon', content.table_name);
    execute format('grant select, insert, update, delete on public.%I to authenticated, service_role', content.table_name);
    execute format(
      'create policy "Everybody reads what is shown" on public.%I for select to anon, authenticated using (%s)',
      content.table_name, content.shown_if);
    execute format(
      'create policy "Admins edit" on public.%I for all to authenticated '
      'using ((select private.has_role(''admin''))) with check ((select private.has_role(''admin'')))',
      content.table_name);
    execute format(
      'create policy "The service edits" on public.%I for all to service_role using (true) with check (true)',
      content.table_name);
  end loop;
end
$$;

-- Settings: on its first start the client restores the ones that are missing. The key's uniqueness keeps it from adding
-- a second value, this policy from choosing one, and the column grant from choosing the row's identity and times.
alter table public.setting_defaults enable row level security;
revoke all on public.setting_defaults from public, anon, authenticated, service_role;
grant select on public.setting_defaults to anon, authenticated, service_role;
create policy "Everybody reads" on public.setting_defaults
  for select to anon, authenticated, service_role using (true);

grant insert (key, value, category, description) on public.settings to anon;
create policy "Everybody restores a missing default" on public.settings
  for insert to anon, authenticated with check (
    exists (
      select from public.setting_defaults
      where setting_defaults.key = settings.key
        and setting_defaults.value = settings.value
        and setting_defaults.category = settings.category
        and setting_defaults.description = settings.description
    )
  );

-- People: each sees themselves.
alter table public.profiles enable row level security;
revoke all on public.profiles from public, anon, authenticated, service_role;
grant select, update (full_name, avatar_url) on public.profiles to authenticated;
grant select, insert, update, delete on public.profiles to service_role;
create policy "Users read their own profile" on public.profiles
  for select to authenticated using (id = (select auth.uid()));
create policy "Users change their own profile" on public.profiles
  for update to authenticated using (id = (select auth.uid())) with check (id = (select auth.uid()));
create policy "The service edits" on public.profiles
  for all to service_role using (true) with check (true);

alter table public.user_roles enable row level security;
revoke all on public.user_roles from public, anon, authenticated, service_role;
grant select on public.user_roles to authenticated;
grant select, insert, update, delete on public.user_roles to service_role;
create policy "Users read their own roles" on public.user_roles
  for select to authenticated using (user_id = (select auth.uid()));
create policy "The service edits" on public.user_roles
  for all to service_role using (true) with check (true);

-- Leads: visitors subscribe without ever reading; submissions and applications pass through the service.
alter table public.newsletter_subscriptions enable row level security;
revoke all on public.newsletter_subscriptions from public, anon, authenticated, service_role;
grant insert (email, consent_given, ip_address, user_id, csrf_token)
  on public.newsletter_subscriptions to anon, authenticated;
grant select, insert, update, delete on public.newsletter_subscriptions to service_role;
create policy "Everybody subscribes in their own name" on public.newsletter_subscriptions
  for insert to anon, authenticated with check (user_id is null or user_id = (select auth.uid()));
create policy "The service edits" on public.newsletter_subscriptions
  for all to service_role using (true) with check (true);

alter table public.contact_submissions enable row level security;
revoke all on public.contact_submissions from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.contact_submissions to service_role;
create policy "The service edits" on public.contact_submissions
  for all to service_role using (true) with check (true);

alter table public.job_applications enable row level security;
revoke all on public.job_applications from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.job_applications to service_role;
create policy "The service edits" on public.job_applications
  for all to service_role using (true) with check (true);
