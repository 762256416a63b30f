-- What the function contact-notification does in the database: counts calls, stores leads, and keeps the mails about them
-- until they are sent. All of it is for the service key alone.

create table private.call_counts (
  bucket text not null,
  client text not null,
  began_at timestamptz not null,
  calls integer not null,
  primary key (bucket, client)
);
comment on table private.call_counts is
  'How often an address has called a function in the window that began with its first call; rows are removed after a day.';
comment on column private.call_counts.bucket is 'What is counted.';
comment on column private.call_counts.client is 'The address that calls.';
comment on column private.call_counts.began_at is 'When the window began.';
comment on column private.call_counts.calls is 'Calls in the window, counted up to one beyond the limit.';
create index call_counts_began_idx on private.call_counts (began_at);

create table private.lead_mails (
  lead_id uuid primary key,
  type text not null,
  record jsonb not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  sent_at timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  constraint lead_mails_type_known check (type in ('contact_submission', 'job_application'))
);
comment on table private.lead_mails is
  'Mails to the team about leads. One that fails is tried again, later each time, up to 12 times within two days; sent ones are removed after 30 days.';
comment on column private.lead_mails.lead_id is 'The lead; one mail each. Names the mail, so that its server can tell one that comes twice.';
comment on column private.lead_mails.type is 'Which form the lead came from.';
comment on column private.lead_mails.record is 'The lead as it was stored.';
comment on column private.lead_mails.attempts is 'How often somebody has begun to send it.';
comment on column private.lead_mails.due_at is
  'From when on somebody may (again) begin to send it. Whoever begins puts it off, so that two never send at the same time.';
comment on column private.lead_mails.sent_at is 'When the mail server took it. NULL until then.';
comment on column private.lead_mails.last_error is 'Why the last attempt failed.';
comment on column private.lead_mails.created_at is 'When the lead came in.';
create index lead_mails_due_idx on private.lead_mails (due_at) where sent_at is null;

alter table private.call_counts enable row level security;
alter table private.lead_mails enable row level security;

create function public.count_call(bucket text, client text, most integer, seconds integer) returns integer
language sql volatile security definer set search_path = ''
begin atomic
  delete from private.call_counts where call_counts.began_at < now() - interval '1 day';
  insert into private.call_counts as counts (bucket, client, began_at, calls)
  values (count_call.bucket, count_call.client, now(), 1)
  on conflict (bucket, client) do update set
    calls = case
      when counts.began_at <= now() - make_interval(secs => count_call.seconds) then 1
      else least(counts.calls, count_call.most) + 1 end,
    began_at = case
      when counts.began_at <= now() - make_interval(secs => count_call.seconds) then now()
      else counts.began_at end
  returning case
    when counts.calls <= count_call.most then 0
    else greatest(1, ceil(extract(epoch from counts.began_at - now()) + count_call.seconds)::integer) end;
end;
comment on function public.count_call(text, text, integer, integer) is
  'Counts a call of the client. Returns 0 if it is among the first so many within so many seconds, else the seconds until the next one is welcome.';

create function public.receive_lead(type text, record jsonb, client text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
  new_id constant uuid := record ->> 'id';
  opening constant uuid := (select id from public.job_openings where id::text = record ->> 'job_role_id' and is_active);
  applicant constant uuid := (select id from auth.users where id::text = record ->> 'user_id');
  wait integer;
begin
  if type not in ('contact_submission', 'job_application') then
    raise exception 'unknown type %', type using errcode = '22023';
  end if;
  -- A form that is sent again because its answer was lost is no new attempt.
  if exists (select from private.lead_mails where lead_mails.lead_id = new_id) then
    return jsonb_build_object('status', 'known');
  end if;
  wait := public.count_call(type, client, 5, 600);
  if wait > 0 then
    return jsonb_build_object('status', 'limited', 'seconds', wait);
  end if;
  if type = 'contact_submission' then
    insert into public.contact_submissions (id, name, company, email, message)
    values (new_id, record ->> 'name', record ->> 'company', record ->> 'email', record ->> 'message')
    on conflict (id) do nothing;
  else
    insert into public.job_applications (id, name, email, message, job_role_id, job_role_title, user_id)
    values (
      new_id, record ->> 'name', record ->> 'email', record ->> 'message', opening,
      coalesce((select title from public.job_openings where id = opening), record ->> 'job_role_title'), applicant)
    on conflict (id) do nothing;
  end if;
  if not found then
    return jsonb_build_object('status', 'known');
  end if;
  insert into private.lead_mails (lead_id, type, record) values (new_id, type, record) on conflict do nothing;
  return jsonb_build_object('status', 'stored');
end
$$;
comment on function public.receive_lead(text, jsonb, text) is
  'Stores what a form sent, once for each id, and queues the mail about it. Returns {"status": "stored"}, "known" for an id that was stored before, or "limited" with the seconds to wait for an address that sends more than 5 in 10 minutes.';

create function public.claim_lead_mails(most integer) returns table (
  lead_id uuid, type text, record jsonb, recipient text, attempts integer)
language sql volatile security definer set search_path = ''
begin atomic
  delete from private.lead_mails where lead_mails.sent_at < now() - interval '30 days';
  with due as (
    select lead_mails.lead_id from private.lead_mails
    where lead_mails.sent_at is null and lead_mails.due_at <= now() and lead_mails.attempts < 12
    order by lead_mails.due_at
    limit least(claim_lead_mails.most, 20)
    for update skip locked
  )
  update private.lead_mails set
    attempts = lead_mails.attempts + 1,
    due_at = now() + least(interval '6 hours', interval '1 minute' * 2 ^ lead_mails.attempts)
  from due where lead_mails.lead_id = due.lead_id
  returning lead_mails.lead_id, lead_mails.type, lead_mails.record,
    (select btrim(settings.value, '"') from public.settings where settings.key = 'contact_email' and settings.category = 'site'),
    lead_mails.attempts;
end;
comment on function public.claim_lead_mails(integer) is
  'Up to so many mails that are due, for the caller to send: for at least a minute nobody else gets them. Without finish_lead_mail they are due again after 1, 2, 4 … minutes, 6 hours at most.';

create function public.finish_lead_mail(lead_id uuid, error text default null) returns void
language sql volatile security definer set search_path = ''
begin atomic
  update private.lead_mails set
    sent_at = case when finish_lead_mail.error is null then now() end,
    last_error = left(finish_lead_mail.error, 500)
  where lead_mails.lead_id = finish_lead_mail.lead_id and lead_mails.sent_at is null;
end;
comment on function public.finish_lead_mail(uuid, text) is
  'Notes that a mail was sent or, with an error, that it was not and stays queued.';

revoke execute on function
  public.count_call(text, text, integer, integer), public.receive_lead(text, jsonb, text),
  public.claim_lead_mails(integer), public.finish_lead_mail(uuid, text)
  from public, anon, authenticated;
grant execute on function
  public.count_call(text, text, integer, integer), public.receive_lead(text, jsonb, text),
  public.claim_lead_mails(integer), public.finish_lead_mail(uuid, text)
  to service_role;
