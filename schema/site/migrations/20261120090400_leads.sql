-- What visitors leave behind: newsletter subscriptions, contact requests and job applications.
-- The checks repeat the forms' rules, because a form is only one of the ways in. The forms' list of SQL keywords is left
-- to them: values never become SQL here, and people do write "select" and "update".

create table public.newsletter_subscriptions (
  id uuid primary key default gen_random_uuid(),
  email text not null unique,
  consent_given boolean not null,
  ip_address inet,
  user_id uuid references auth.users (id) on delete set null,
  csrf_token text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint newsletter_subscriptions_email_shape check (private.is_email(email)),
  constraint newsletter_subscriptions_consent_required check (consent_given),
  constraint newsletter_subscriptions_ip_is_one_host check (
    masklen(ip_address) = case family(ip_address) when 4 then 32 else 128 end),
  constraint newsletter_subscriptions_csrf_token_shape check (csrf_token ~ '^[0-9a-f]{64}$')
);
comment on table public.newsletter_subscriptions is
  'Subscribers of the newsletter. Visitors add themselves; only the service key reads.';
comment on column public.newsletter_subscriptions.id is 'Identity of the row.';
comment on column public.newsletter_subscriptions.email is
  'The address, trimmed and lowercased by trigger; an address subscribes once.';
comment on column public.newsletter_subscriptions.consent_given is 'That the subscriber ticked the consent box; always true.';
comment on column public.newsletter_subscriptions.ip_address is
  'Address that the subscriber''s browser reported when consenting; a claim, not proof. NULL if unknown.';
comment on column public.newsletter_subscriptions.user_id is 'The signed-in user who subscribed. NULL for visitors.';
comment on column public.newsletter_subscriptions.csrf_token is
  'Anti-forgery token of the form, 64 lowercase hexadecimal digits. NULL from the pop-up.';
comment on column public.newsletter_subscriptions.created_at is 'When the address subscribed.';
comment on column public.newsletter_subscriptions.updated_at is 'When the row was last changed; kept by trigger.';
create index newsletter_subscriptions_user_idx on public.newsletter_subscriptions (user_id);

create table public.contact_submissions (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  company text not null,
  email text not null,
  message text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint contact_submissions_name_shape check (private.is_business_line(name, 100)),
  constraint contact_submissions_company_shape check (private.is_business_line(company, 200)),
  constraint contact_submissions_email_shape check (private.is_email(email)),
  constraint contact_submissions_message_length check (private.is_text(message, 0, 2000)),
  constraint contact_submissions_message_inert check (not private.has_active_content(message))
);
comment on table public.contact_submissions is
  'Requests from the contact form. Written and read with the service key only.';
comment on column public.contact_submissions.id is 'Identity that the form made up, so that a repeated request is stored once.';
comment on column public.contact_submissions.name is 'Who asks; 2 to 100 characters.';
comment on column public.contact_submissions.company is 'For whom; 2 to 200 characters.';
comment on column public.contact_submissions.email is 'Where to answer, trimmed and lowercased by trigger.';
comment on column public.contact_submissions.message is 'What they want to know, at most 2000 characters. NULL if left empty.';
comment on column public.contact_submissions.created_at is 'When the request came in.';
comment on column public.contact_submissions.updated_at is 'When the row was last changed; kept by trigger.';
create index contact_submissions_created_idx on public.contact_submissions (created_at);

create table public.job_applications (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  email text not null,
  message text,
  job_role_id uuid references public.job_openings (id) on delete set null,
  job_role_title text,
  user_id uuid references auth.users (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint job_applications_name_shape check (private.is_person_name(name)),
  constraint job_applications_email_shape check (private.is_email(email)),
  constraint job_applications_message_length check (private.is_text(message, 0, 2000)),
  constraint job_applications_message_inert check (not private.has_active_content(message)),
  constraint job_applications_role_title_length check (private.is_line(job_role_title, 1, 150))
);
comment on table public.job_applications is
  'Applications from the careers page. Written and read with the service key only.';
comment on column public.job_applications.id is 'Identity that the form made up, so that a repeated request is stored once.';
comment on column public.job_applications.name is 'The applicant: letters, spaces, hyphens and apostrophes, 2 to 100 characters.';
comment on column public.job_applications.email is 'Where to answer, trimmed and lowercased by trigger.';
comment on column public.job_applications.message is 'What the applicant adds, at most 2000 characters. NULL if left empty.';
comment on column public.job_applications.job_role_id is
  'The opening applied for. NULL for an open application, or when the opening was deleted since.';
comment on column public.job_applications.job_role_title is 'The opening''s title when the application was sent.';
comment on column public.job_applications.user_id is 'The signed-in user who applied. NULL for visitors.';
comment on column public.job_applications.created_at is 'When the application came in.';
comment on column public.job_applications.updated_at is 'When the row was last changed; kept by trigger.';
create index job_applications_created_idx on public.job_applications (created_at);
create index job_applications_role_idx on public.job_applications (job_role_id);
create index job_applications_user_idx on public.job_applications (user_id);

do $$
declare
  lead_table text;
begin
  foreach lead_table in array array['newsletter_subscriptions', 'contact_submissions', 'job_applications'] loop
    execute format(
      'create trigger normalise_email before insert or update of email on public.%I '
      'for each row execute function private.normalise_email()', lead_table);
    execute format(
      'create trigger set_updated_at before update on public.%I '
      'for each row execute function private.set_updated_at()', lead_table);
  end loop;
end
$$;
