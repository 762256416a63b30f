insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  4,
  'Level Up Your Loyalty: Points That Mean Something to the People Who Earn Them',
  'Loyalty',
  'Supporters are the most loyal customers on earth, and the worst rewarded. A points economy can change that, if it is run like a currency.',
  'blog-images/Level-Up-Your-Loyalty.png',
  '/blog/level-up-your-loyalty',
  '2026-08-18 08:00:00+00',
$article$Airlines invented the modern loyalty scheme because nobody loves an airline. Faced with customers who would defect for the price of a sandwich, they manufactured attachment out of tiers, lounges and coloured luggage tags, and it worked so well that some carriers’ schemes have been valued above their aircraft. Sport starts from the opposite end. It has customers who will sit in the rain for a goalless draw and come back a fortnight later. What it mostly lacks is any way to say thank you.

Where clubs do run a scheme, it tends to count one thing, namely spending. Buy a ticket, collect points; collect enough points, receive a discount on another ticket. The logic is borrowed from supermarkets, and it rewards the supporters who can afford the most. The retired postman who has not missed an away match since decimalisation, who knows every steward and drives the minibus, ranks below a corporate guest with a good lunch. Everybody can see that this is wrong, so nobody takes the scheme seriously.

A better scheme begins by asking what loyalty looks like when it is not holding a credit card. It looks like attendance, including on wet Tuesdays. It looks like watching, predicting, voting, translating a clip for supporters abroad, welcoming newcomers, reporting abuse and bringing a child for the first time. Most of that behaviour is visible to a club that cares to look, and all of it makes the place more valuable for everyone else. If it is worth having, it is worth a point.

The moment there are points, there is an economy, and economies have laws. The first concerns supply. Points that are handed out freely lose their worth, and the supporters who earned theirs the hard way are the first to notice. Decide in advance how many will be issued in a season, what the rarest deeds should earn, and how much of the total will be spent rather than hoarded. A club that cannot answer those questions has not designed a currency. It has printed one.

The second law concerns the sink, the economists’ word for whatever takes points out of circulation. A tote bag is a poor sink. The things that supporters want most cost a club almost nothing and cannot be bought anywhere else: a place in the tunnel as the teams walk out, a name on the matchday programme, ten minutes with the analyst who picked the press apart, a vote on the design of the third shirt. Scarcity does the rest. One seat on the team bus is worth more than a thousand key rings.

Names matter more than marketing departments expect. Points called points belong to any shop in the high street. A club by a harbour might award lanterns, a club from a mining town lamps, a club beside a railway tokens. The word should come from the supporters’ own songs and should sound faintly odd to outsiders. It turns a balance into a badge. Hana Morikubo, who studies loyalty economies, puts it like this: people do not remember how many they have, they remember what they are called and who else has them.

Levels give the accumulation a shape. Good ones are few, are earned rather than bought, and come with a visible responsibility as well as a perk. A supporter at the highest level might be asked to help choose the community award or to moderate a discussion. Beware of levels that reset to nothing every summer; they teach people that their history does not count. Let the season’s score return to zero if it must, but keep the years. In football, memory is the premium tier.

Then the currency has to travel. Supporters live most of their lives away from the ground, and a balance that can only be used on matchday is out of mind by Monday. A co-branded payment card closes the distance: each coffee or train fare adds a little, and the crest appears in the hand several times a day. The card does not need to be lavish. It needs to be accepted, to be safe, and to pay its rewards in the club’s own coin, so that ordinary spending feels like turning up.

Partners widen the circle. A network of rewards, from a bakery near the ground to a hotel in another country, lets a supporter in Lagos or Lima take part on equal terms with one who lives next door. For the partner the attraction is precision, since it pays for customers who actually walk in. For the club it is reach without dilution: every offer arrives through the club and is redeemed in its currency. The rule is to admit only partners that a supporter would be pleased to be introduced to.

Honesty is what keeps the machine running. Publish the exchange rates and leave them alone during the season. Say when points expire, or better, do not let them expire. Report each year how many were issued and how many were spent, as a central bank would. The review published in The Loyalty Ledger found that schemes with a public rule book kept their members’ activity through three losing seasons, while comparable schemes without one lost a third of it in the first.

Abuse will come, because anything with value attracts it. There will be scripts that vote a thousand times, accounts bought and sold, and a gentleman who has discovered that he can refer himself. The defences are unglamorous: one verified person for each account, limits on how quickly anything can be earned, and a patient human who examines the outliers. Treat it as a matter of fairness towards everyone else rather than as a fight against crime. Supporters forgive a great deal, but not a rigged table.

What about the accountants? They will ask, quite rightly, whether unspent points are a liability. They are, and a well-kept scheme knows its size to the pound. They will then ask what the points bring in, and here sport has an answer that supermarkets would envy. Members who redeem even once renew at higher rates, spend more in the shop and forgive more on the pitch. The purpose of the whole apparatus is that first redemption, so make it easy and make it early.

Loyalty in sport has always been a gift that flows in one direction. Supporters give their Saturdays, their voices and a portion of their happiness, and they receive a fixture list. They would carry on giving if nothing changed, which is exactly why the matter deserves some thought. A club that begins to keep count, not of what its people spend but of what they do, is telling them that somebody up there has been watching too. It is astonishing what people will do once they know they have been seen.$article$,
  'https://loyalty-ledger.example/reviews/points-with-a-rule-book',
  'The Loyalty Ledger: Points with a Rule Book, a Review of Forty Schemes',
  'https://northgate-research.example/reports/what-supporters-would-rather-have',
  'Northgate Audience Research: What Supporters Would Rather Have Than a Discount'
) on conflict do nothing;
