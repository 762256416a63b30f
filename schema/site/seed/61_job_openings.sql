insert into public.job_openings (id, display_order, emoji, title, description) values
  ('50000000-0000-4000-8000-000000000001', 0, '🎬', 'Senior Mobile Engineer, Video Feed',
   'You own the first second: a vertical feed that starts before the thumb has left the glass, on a five-year-old phone with two bars of signal. You have shipped video at scale, can read a flame chart over breakfast and care about the battery of someone standing in the rain.'),
  ('50000000-0000-4000-8000-000000000002', 1, '🧠', 'Machine Learning Engineer, Highlights',
   'You teach models to find the eleven seconds worth keeping, in live matches and in forty years of archive, and to say how sure they are. You measure before you tune, you would rather have better data than a bigger model, and you enjoy working beside editors.'),
  ('50000000-0000-4000-8000-000000000003', 2, '🛡️', 'Trust and Safety Lead',
   'You write the rules that fit on the back of a ticket and run the system that enforces them: automated review, trained people, appeals within a day. You have led moderation in several languages and know how to look after the people who do it.'),
  ('50000000-0000-4000-8000-000000000004', 3, '🤝', 'Club Partnerships Manager',
   'You are the person a club calls, from the first demo to the third season. You have worked inside a club or a league, you are at home in a revenue-share spreadsheet, and you tell partners the truth on the day you learn it.'),
  ('50000000-0000-4000-8000-000000000005', 4, '💳', 'Product Manager, Points and Payments',
   'You run a small economy: points, levels, the co-branded card and the network of rewards. You can explain why a currency needs a sink, work easily with a regulated issuer, and have seen a loyalty product through its difficult second year.'),
  ('50000000-0000-4000-8000-000000000006', 5, '🎨', 'Brand and Interface Designer',
   'You take a club’s century of history and make it feel inevitable on a phone. Type, motion, sound, accessibility: you treat them as one craft, build systems that others can extend, and have a portfolio in which no two brands look alike.')
on conflict do nothing;
