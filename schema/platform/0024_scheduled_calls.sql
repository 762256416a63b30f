-- When functions were last called by a schedule, so that one of several nodes makes each call.

create table basalt.scheduled_calls (
  function text primary key,
  called_at timestamptz not null
);
comment on table basalt.scheduled_calls is 'When each scheduled function was last called, by whichever node';
