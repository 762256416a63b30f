-- Experts on the home page.
insert into public.testimonials (id, name, title, role, quote, about, image_path, visible_on_pages) values
  ('20000000-0000-4000-8000-000000000001', 'Marisol Akande', 'Former chief digital officer of a top-flight football club', 'Club adviser',
   'We had nine million followers and could write to two hundred thousand of them. I spent six years trying to close that gap with tools made for somebody else. Terrace starts on the right side of it.',
   'Marisol ran digital, ticketing and membership for a club with supporters in ninety countries. She now advises boards on how to leave rented platforms without losing their audience.',
   'experts/marisol-akande.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000002', 'Tobias Brandvik', 'Director of fan research, independent', 'Research adviser',
   'In our panels the strongest predictor of renewal is not winning. It is how many days a week a supporter does something with the club. Terrace is built around that number.',
   'Tobias has interviewed more than eleven thousand supporters across fourteen sports. His panel studies are used by leagues to plan fixtures, prices and formats.',
   'experts/tobias-brandvik.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000003', 'Priyanka Velloor', 'Sports media rights strategist', 'Media adviser',
   'Rights deals sell the match and give away the week. A club with its own short-form channel walks into the next negotiation with an audience of its own, and that changes the tone of the meeting.',
   'Priyanka has structured media rights for federations in cricket, netball and athletics, and teaches a postgraduate course on the economics of live sport.',
   'experts/priyanka-velloor.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000004', 'Declan Harrowgate', 'Former commercial director in professional rugby', 'Commercial adviser',
   'I have read a great many revenue-share contracts. This is the first where the guarantee was larger than the pitch deck, and where the supplier carried every cost until we were both earning.',
   'Declan negotiated shirt, stadium and broadcast agreements for twenty-two seasons. He sits on the audit committees of two members’ clubs.',
   'experts/declan-harrowgate.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000005', 'Hana Morikubo', 'Loyalty economist', 'Loyalty adviser',
   'Most loyalty schemes reward whoever spends the most. Terrace rewards whoever turns up. It sounds sentimental until you see what turning up does to lifetime value.',
   'Hana designs reward economies for transport, retail and sport, and has published widely on why supporters value recognition above discounts.',
   'experts/hana-morikubo.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000006', 'Luca Ferrantino', 'Former professional goalkeeper, broadcaster', 'Player adviser',
   'As a player I stopped reading the comments after my second season. Give me a place where everybody is a real person and the abuse is gone before I see it, and I will answer questions all afternoon.',
   'Luca made 312 league appearances in goal and now presents a weekly tactics programme. He mentors young players on life in public.',
   'experts/luca-ferrantino.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000007', 'Amara Nkwenti', 'Privacy counsel to sports federations', 'Legal adviser',
   'I asked who owns the data, who may train on it and how long an export takes. The answers were: the club, nobody, and one request to an interface. I had no further questions, which is rare.',
   'Amara advises federations and players’ unions on data protection in three jurisdictions. She helped to draft a model code for supporters’ data.',
   'experts/amara-nkwenti.webp', '{home}'),
  ('20000000-0000-4000-8000-000000000008', 'Jonas Lindqvare', 'Short-form video product adviser', 'Product adviser',
   'The feed has to be good in the first second or nothing else matters. This one opens on the thing you care about, because it only carries one club and it knows which player you came for.',
   'Jonas has designed vertical video products used by over forty million people, and writes about the craft of the first frame.',
   'experts/jonas-lindqvare.webp', '{home}')
on conflict do nothing;

-- Leaders and investors on the about page.
insert into public.testimonials (id, name, title, role, quote, about, image_path, visible_on_pages) values
  ('20000000-0000-4000-8000-000000000011', 'Eleanor Vasske', 'Co-founder', 'Chief Executive Officer',
   'A club should never have to rent its own supporters. Everything we do follows from that sentence.',
   'Eleanor ran membership at a supporter-owned club before building two media companies. She founded Terrace after working out how little of the week a club actually owns.',
   'experts/eleanor-vasske.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000012', 'Rafael Quintaneiro', 'Co-founder', 'Chief Technology Officer',
   'Matchday traffic is forty times a quiet Tuesday. We build for the ninetieth minute and pay for the Tuesday.',
   'Rafael spent a decade on live video and payment systems. He leads an engineering team spread over seven time zones and still takes his turn on call.',
   'experts/rafael-quintaneiro.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000013', 'Ngozi Adelmann', 'Partnerships and growth', 'Chief Commercial Officer',
   'If a partner club has a bad year on the pitch, our guarantee still arrives on the first of the month.',
   'Ngozi structured sponsorship and licensing for clubs on three continents. She wrote the agreement that every Terrace partner signs, and keeps it under twenty pages.',
   'experts/ngozi-adelmann.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000014', 'Samir Haddaoui', 'Product and design', 'Chief Product Officer',
   'We ask one question about each feature: would a supporter miss it if it went? If not, it goes.',
   'Samir designed mobile games before he turned to sport. He spends every other Saturday in a stand with a notebook, watching what people do with their phones.',
   'experts/samir-haddaoui.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000015', 'Freya Tolmaine', 'Research and safety', 'Head of AI and Trust',
   'A model should find the goal, caption it in six languages and catch the insult. A person should decide what carries the crest.',
   'Freya’s doctorate was about how machines misread dialect. At Terrace she is responsible for highlights, personalisation and the safety of everybody who posts.',
   'experts/freya-tolmaine.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000016', 'Gustav Reinholm', 'Founder of a family holding in media infrastructure', 'Investor',
   'I invest in businesses that take the risk off their customers’ table. Few do it as thoroughly as this one.',
   'Gustav built and sold a broadcast-services group over thirty years. He backs founders who know their industry from the inside and plan in decades.',
   'experts/gustav-reinholm.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000017', 'Beatrix Okonjima', 'General partner of a consumer technology fund', 'Investor',
   'Supporters are the most durable communities on earth. Terrace is the first product I have seen that treats them so.',
   'Beatrix led product at two subscription businesses before she turned to investing. She chairs the audit committee of a national sports charity.',
   'experts/beatrix-okonjima.webp', '{about us}'),
  ('20000000-0000-4000-8000-000000000018', 'Kenji Aldersey', 'Payments entrepreneur and angel investor', 'Investor',
   'The card is where loyalty stops being a slogan and shows up in a bank statement, and this team understands both halves of that.',
   'Kenji founded a card-issuing company that serves forty co-branded programmes. He has supported the same lower-league side, by his own account unwisely, since he was six.',
   'experts/kenji-aldersey.webp', '{about us}')
on conflict do nothing;

insert into public.testimonial_page_orders (page_name, testimonial_id, order_index)
select listed.page_name, format('20000000-0000-4000-8000-0000000000%s', lpad(place::text, 2, '0'))::uuid, place - listed.first
from (values ('home', 1, 8), ('about us', 11, 18)) as listed (page_name, first, last)
cross join lateral generate_series(listed.first, listed.last) as place
on conflict do nothing;
