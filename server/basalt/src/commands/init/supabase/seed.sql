-- Rows to begin with.
insert into public.notes (body, hidden) values
  ('This note is from supabase/seed.sql', false),
  ('Nobody sees this one', true);
