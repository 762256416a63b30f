insert into public.chat_widget_config (id, welcome_message) values
  (1, 'Hi, I’m the Terrace assistant. Ask me how the app works, what your club would earn, or who owns the data. What would you like to know?')
on conflict do nothing;

insert into public.chat_suggested_questions (id, order_index, question) values
  ('60000000-0000-4000-8000-000000000001', 0, 'What does Terrace cost a club?'),
  ('60000000-0000-4000-8000-000000000002', 1, 'How does the revenue guarantee work?'),
  ('60000000-0000-4000-8000-000000000003', 2, 'Who owns our supporters’ data?'),
  ('60000000-0000-4000-8000-000000000004', 3, 'How do points and the payment card work?'),
  ('60000000-0000-4000-8000-000000000005', 4, 'How soon could our club go live?')
on conflict do nothing;
