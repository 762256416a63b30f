-- The tables and functions of the extension pg_cron (names, arguments, results and rights as pg_cron 1.6 has them).
--
-- Basalt, which serves this database, reads cron.job, runs what is due, and tells of it in cron.job_run_details.
--
-- What a schedule means is said here alone (cron._times, cron._matches): cron.schedule() must refuse what is none, and
-- the worker asks the same functions for what is due.

\echo Use "create extension pg_cron" to load this file. \quit

-- Nobody's operators but Postgres' own are meant below.
set local search_path = pg_catalog;

-- Whatever schema it was asked for in, the extension belongs to pg_catalog, as upstream's does: a dump says so, and can
-- be restored where upstream's is. All objects are in schema cron.
delete from pg_catalog.pg_depend
using pg_catalog.pg_extension e
where e.extname = 'pg_cron' and classid = 'pg_catalog.pg_extension'::regclass and objid = e.oid
  and refclassid = 'pg_catalog.pg_namespace'::regclass and refobjid = e.extnamespace;
update pg_catalog.pg_extension set extnamespace = 'pg_catalog'::regnamespace where extname = 'pg_cron';

create schema cron;
comment on schema cron is 'Jobs that Basalt runs at their times';

create sequence cron.jobid_seq;
create table cron.job (
  jobid bigint primary key default nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport int not null default current_setting('port')::int,
  database text not null default current_database(),
  username text not null default current_user,
  active boolean not null default true,
  jobname text,
  constraint jobname_username_uniq unique (jobname, username)
);
comment on table cron.job is 'What is to be run when, as whom';

create sequence cron.runid_seq;
create table cron.job_run_details (
  jobid bigint,
  runid bigint primary key default nextval('cron.runid_seq'),
  job_pid int,
  database text,
  username text,
  command text,
  status text,
  return_message text,
  start_time timestamptz,
  end_time timestamptz
);
comment on table cron.job_run_details is 'What came of the runs; nothing is removed from here by itself';

-- Everybody who may use the schema may have jobs, and sees and changes those alone that run as himself. Upstream's
-- functions write into the table as its owner, and know in C who called them. A function in SQL that runs as its owner
-- does not, so these run as the caller, and the policy is what keeps a job to its user.
alter table cron.job enable row level security;
create policy cron_job_policy on cron.job using (username = current_user);
grant select, insert, update, delete on cron.job to public;
grant usage, select on sequence cron.jobid_seq to public;

-- Who bypasses policies could otherwise have jobs that run as somebody with more rights.
create function cron._keep_user() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not cron._is_superuser() and (new.username <> current_user or tg_op = 'UPDATE' and old.username <> current_user) then
    raise exception 'new row violates row-level security policy for table "job"' using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
create trigger keep_user before insert or update on cron.job for each row execute function cron._keep_user();
alter table cron.job enable always trigger keep_user;

alter table cron.job_run_details enable row level security;
create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);
grant select, delete on cron.job_run_details to public;
grant select on sequence cron.runid_seq to public;

select pg_catalog.pg_extension_config_dump('cron.job', '');
select pg_catalog.pg_extension_config_dump('cron.jobid_seq', '');
select pg_catalog.pg_extension_config_dump('cron.job_run_details', '');
select pg_catalog.pg_extension_config_dump('cron.runid_seq', '');

-- When something is to be run: every so many seconds, when the server starts, or in the minutes that all lists hold.
create type cron._schedule_times as (
  seconds int,
  at_start boolean,
  minutes int[],
  hours int[],
  days int[],
  -- The last day of the month, whichever it is.
  last_day boolean,
  months int[],
  weekdays int[],
  -- A day must be in both lists; otherwise one of them will do.
  both_days boolean,
  -- The minutes or the hours are a star: not a time of day, but a frequency.
  is_frequent boolean
);

-- The values that a field of a schedule allows: `*`, `7`, `2-5` or a name, the first two kinds of ranges with `/step`,
-- several with commas between. Null if it is none. A range that runs backwards is refused.
create function cron._values(field text, lowest int, highest int, names text[] default '{}') returns int[]
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
declare
  part text;
  parts text[];
  bounds int[];
  step int;
  result int[] := '{}';
begin
  foreach part in array string_to_array(lower(field), ',') loop
    parts := regexp_match(part, '^(?:(\*)|([a-z]{3}|\d{1,9})(?:-([a-z]{3}|\d{1,9}))?)(?:/(\d{1,9}))?$');
    if parts is null then
      return null;
    end if;
    if parts[1] is not null then
      bounds := array[lowest, highest];
    else
      -- A name that is none of the field's makes the bound null.
      select array_agg(
        case when bound ~ '^\d' then bound::int else array_position(names, bound) - 1 + lowest end order by place
      ) into bounds
      from unnest(array[parts[2], coalesce(parts[3], parts[2])]) with ordinality as of_range(bound, place);
      if parts[3] is null and parts[4] is not null then
        return null;
      end if;
    end if;
    step := coalesce(parts[4]::int, 1);
    if (bounds[1] >= lowest and bounds[1] <= bounds[2] and bounds[2] <= highest and step between 1 and highest)
      is not true
    then
      return null;
    end if;
    result := result || array(select generate_series(bounds[1], bounds[2], step));
  end loop;
  return result;
end
$$;

-- What `schedule` means; null if it is none. What follows the fifth field is passed over, as by upstream.
create function cron._times(schedule text) returns cron._schedule_times
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
declare
  times cron._schedule_times;
  -- Upstream's limit.
  fields text[] := case
    when length(schedule) < 1000 then regexp_split_to_array(ltrim(schedule, e' \t\n'), '[ \t\n]+')
  end;
begin
  if fields[1] in ('@reboot', '@restart') then
    times.at_start := true;
    return times;
  end if;
  if fields[1] ~ '^@' then
    fields := string_to_array(
      case fields[1]
        when '@yearly' then '0 0 1 1 *'
        when '@annually' then '0 0 1 1 *'
        when '@monthly' then '0 0 1 * *'
        when '@weekly' then '0 0 * * 0'
        when '@daily' then '0 0 * * *'
        when '@midnight' then '0 0 * * *'
        when '@hourly' then '0 * * * *'
      end,
      ' '
    );
  end if;
  times.minutes := cron._values(fields[1], 0, 59);
  times.hours := cron._values(fields[2], 0, 23);
  times.last_day := fields[3] = '$';
  times.days := case when fields[3] = '$' then '{}' else cron._values(fields[3], 1, 31) end;
  times.months := cron._values(
    fields[4], 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'
  );
  times.weekdays := cron._values(fields[5], 0, 7, '{sun,mon,tue,wed,thu,fri,sat}');
  times.both_days := fields[3] like '*%' or fields[5] like '*%';
  times.is_frequent := fields[1] like '*%' or fields[2] like '*%';
  if num_nulls(times.minutes, times.hours, times.days, times.months, times.weekdays) = 0 then
    return times;
  end if;
  times := null;
  times.seconds := (regexp_match(schedule, '^\s*(\d{1,9})\s*second(?:s\s*)?$', 'i'))[1]::int;
  if times.seconds between 1 and 59 then
    return times;
  end if;
  return null;
end
$$;

-- Whether the minute that begins at `minute`, which is in the schedules' time zone, is among `times`.
create function cron._matches(times cron._schedule_times, minute timestamp) returns boolean
language sql immutable
return extract(minute from minute) = any ((times).minutes)
  and extract(hour from minute) = any ((times).hours)
  and extract(month from minute) = any ((times).months)
  and case
    when (times).both_days then
      (
        extract(day from minute) = any ((times).days)
        or ((times).last_day and extract(day from minute + interval '1 day') = 1)
      )
      and (extract(dow from minute) = any ((times).weekdays) or extract(isodow from minute) = any ((times).weekdays))
    else
      extract(day from minute) = any ((times).days)
      or ((times).last_day and extract(day from minute + interval '1 day') = 1)
      or extract(dow from minute) = any ((times).weekdays)
      or extract(isodow from minute) = any ((times).weekdays)
  end;

-- The time zone of schedules: what the setting cron.timezone says, where that is one.
create function cron._timezone() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  zone text := coalesce(nullif(current_setting('cron.timezone', true), ''), 'GMT');
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'GMT';
end
$$;

create function cron._check_schedule(schedule text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if cron._times(schedule) is null then
    raise exception 'invalid schedule: %', schedule
      using errcode = 'invalid_parameter_value',
        hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
  end if;
end
$$;

-- That jobs may run as `username` in `database`.
create function cron._check_place(database text, username text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  may_log_in boolean;
begin
  if username <> current_user then
    select rolcanlogin into may_log_in from pg_catalog.pg_roles where rolname = username;
    if not found then
      raise exception 'role "%" does not exist', username using errcode = 'undefined_object';
    elsif not may_log_in then
      raise exception 'role "%" can not log in', username
        using detail = 'Jobs may only be run by roles that have the LOGIN attribute.', errcode = 'internal_error';
    end if;
  end if;
  if not pg_catalog.has_database_privilege(username, database, 'connect') then
    raise exception 'User % does not have CONNECT privilege on %', username, database using errcode = 'internal_error';
  end if;
  if database <> current_database() then
    raise exception 'jobs can only be run in the database %', current_database()
      using errcode = 'feature_not_supported', detail = 'Basalt serves no other one.';
  end if;
end
$$;

create function cron._is_superuser() returns boolean
language sql stable
return (select rolsuper from pg_catalog.pg_roles where rolname = current_user);

create function cron._schedule(
  job_name text, schedule text, command text, database text, username text, active boolean
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  id bigint;
begin
  perform cron._check_schedule(schedule);
  if username is not null and not cron._is_superuser() then
    raise exception 'must be superuser to create a job for another role' using errcode = 'internal_error';
  end if;
  database := coalesce(database, current_database());
  username := coalesce(username, current_user);
  perform cron._check_place(database, username);
  insert into cron.job as j (schedule, command, database, username, active, jobname)
  values (schedule, command, database, username, active, job_name)
  on conflict on constraint jobname_username_uniq do update
    set schedule = excluded.schedule, command = excluded.command, database = excluded.database
  returning j.jobid into id;
  return id;
end
$$;

create function cron.schedule(schedule text, command text) returns bigint
language sql strict
set search_path = pg_catalog, pg_temp
return cron._schedule(null, schedule, command, null, null, true);
comment on function cron.schedule(text, text) is 'Makes a job; returns its number';

create function cron._check_given(job_name text, schedule text, command text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if job_name is null then
    raise exception 'job_name can not be NULL' using errcode = 'internal_error';
  elsif schedule is null then
    raise exception 'schedule can not be NULL' using errcode = 'internal_error';
  elsif command is null then
    raise exception 'command can not be NULL' using errcode = 'internal_error';
  end if;
end
$$;

create function cron.schedule(job_name text, schedule text, command text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform cron._check_given(job_name, schedule, command);
  return cron._schedule(job_name, schedule, command, null, null, true);
end
$$;
comment on function cron.schedule(text, text, text) is 'Makes a job, or changes the one of that name; returns its number';

create function cron.schedule_in_database(
  job_name text, schedule text, command text, database text, username text default null, active boolean default true
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform cron._check_given(job_name, schedule, command);
  return cron._schedule(job_name, schedule, command, database, username, coalesce(active, true));
end
$$;
comment on function cron.schedule_in_database(text, text, text, text, text, boolean) is 'Makes a job, or changes the one of that name; returns its number';
revoke all on function cron.schedule_in_database(text, text, text, text, text, boolean) from public;

create function cron.unschedule(job_id bigint) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from cron.job j where j.jobid = job_id;
  if not found then
    raise exception 'could not find valid entry for job %', job_id using errcode = 'internal_error';
  end if;
  return true;
end
$$;
comment on function cron.unschedule(bigint) is 'Removes a job';

create function cron.unschedule(job_name text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from cron.job j where j.jobname = job_name and j.username = current_user;
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_name using errcode = 'internal_error';
  end if;
  return true;
end
$$;
comment on function cron.unschedule(text) is 'Removes the job of that name that runs as whoever calls this';

create function cron.alter_job(
  job_id bigint,
  schedule text default null,
  command text default null,
  database text default null,
  username text default null,
  active boolean default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if job_id is null then
    raise exception 'job_id can not be NULL' using errcode = 'internal_error';
  end if;
  if username is not null and not cron._is_superuser() then
    raise exception 'must be superuser to alter username' using errcode = 'internal_error';
  end if;
  if username is not null or database is not null then
    perform cron._check_place(coalesce(database, current_database()), coalesce(username, current_user));
  end if;
  if schedule is not null then
    perform cron._check_schedule(schedule);
  end if;
  if num_nonnulls(schedule, command, database, username, active) = 0 then
    raise exception 'no updates specified'
      using hint = 'You must specify at least one job attribute to change when calling alter_job',
        errcode = 'internal_error';
  end if;
  update cron.job j
  set schedule = coalesce(alter_job.schedule, j.schedule),
    command = coalesce(alter_job.command, j.command),
    database = coalesce(alter_job.database, j.database),
    username = coalesce(alter_job.username, j.username),
    active = coalesce(alter_job.active, j.active)
  where j.jobid = job_id and (cron._is_superuser() or j.username = current_user);
  if not found then
    raise exception 'Job % does not exist or you don''t own it', job_id using errcode = 'internal_error';
  end if;
end
$$;
comment on function cron.alter_job(bigint, text, text, text, text, boolean) is 'Changes what is given of a job, and nothing else';
revoke all on function cron.alter_job(bigint, text, text, text, text, boolean) from public;

do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'postgres') then
    grant usage on schema cron to postgres with grant option;
    -- Not "trigger": the worker writes these tables as the superuser, who would run the trigger's function.
    grant select, insert, update, delete, truncate on all tables in schema cron to postgres with grant option;
    grant execute on all functions in schema cron to postgres;
  end if;
end $$;
