insert into public.hero_headlines (id, headline, order_index) values
  ('10000000-0000-4000-8000-000000000001', 'The first content app that belongs to one club: yours', 0),
  ('10000000-0000-4000-8000-000000000002', 'Turn every swipe into revenue you can count on', 1),
  ('10000000-0000-4000-8000-000000000003', 'Hold the attention of three generations at once', 2),
  ('10000000-0000-4000-8000-000000000004', 'Launch without spending a pound or hiring a developer', 3),
  ('10000000-0000-4000-8000-000000000005', 'Know your supporters by name, and keep what you know', 4),
  ('10000000-0000-4000-8000-000000000006', 'Fill the 166 hours between one match and the next', 5)
on conflict do nothing;
