insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  6,
  'Beyond Ads: The Revenue That Arrives When Supporters Are Members, Not Impressions',
  'Revenue',
  'Advertising pays clubs for being looked at. Membership pays them for being wanted. The second cheque is smaller at first, and it keeps coming.',
  'blog-images/Beyond-Ads.png',
  '/blog/beyond-ads',
  '2026-10-20 08:00:00+00',
$article$The advertising business has a unit of account, the thousand impressions, and it tells you everything about the trade. It measures people by the crate. It takes no interest in who they are, whether they were pleased or whether they will ever return, so long as an eye passed over a rectangle. For an industry built on passion this is a curious way to be paid. A supporter who would have the crest tattooed on her forearm earns her club, by this reckoning, about as much as someone who opened the page by mistake.

On the big platforms the terms are tighter still. The club supplies the material, the athletes and the following; the platform supplies the feed and keeps most of the money. Revenue-sharing programmes exist, and their rates can change between one quarter and the next without a conversation. A media director at a second-tier club described it to us as farming somebody else’s field: you bring the seed and the tractor, and in autumn they tell you the price of wheat.

Some clubs respond by adding more advertising of their own, and find that attention has a breaking point. Each extra interruption brings in a little and drives away a little, and the second quantity compounds. Supporters do not write to complain. They simply open the app on four days instead of six. By the time the trend shows up in a quarterly report, the habit has been lost, and winning back a habit costs several times what the banners ever earned. Annoyance is a debt that never appears on the balance sheet.

The alternative is to be paid by the people who care, in proportion to how much they care. That sounds obvious, and the membership departments of the world have been doing it on paper for a century. What is new is the ability to offer many sizes. A supporter abroad who cannot use a seat might gladly pay a few pounds a month for training footage, a weekly question to the coaching staff and a voice in the awards. There was never a counter at which to sell her that.

Tiers work when each of them is complete in itself. The free level should be generous enough to be worth opening every day, because it is where everyone begins and where most will contentedly remain. The first paid step should cost less than a matchday pint and remove some small, real friction. The highest should offer closeness, which is the only thing supporters cannot get elsewhere. The classic mistake is to make the free tier miserable so that the paid one looks good. People recognise a hostage when they see one.

Price is a statement about who is welcome. The pricing study in Ledger & Pitch compared sixty sports memberships on four continents and found that clubs with a step below five pounds a month earned more in total than those that started at ten, even before any sponsorship was counted. The reason was less the arithmetic of volume than its politics. A low first step made a subscription feel like joining. A high one made it feel like being charged for something that used to be free.

Around the subscription sits a second source, often larger, which is the commerce of daily life. Supporters buy groceries, book journeys and top up phones whether or not there is a match. A rewards network lets the club take part in this spending without setting up shop in it: partners pay a commission when a member comes through the door, the member receives points in the club’s own currency, and the club keeps a share. Everyone involved can see what they gained, a sentence that is rarely true of advertising.

A co-branded card takes the idea further, into the wallet. Card programmes have an unfashionable virtue, in that they are boring. Every purchase produces a tiny fee, month after month, whether the team is top or bottom. For a treasurer accustomed to income that arrives in three lumps and hangs on a linesman’s flag, boring has a beauty of its own. It should be added that a card is a promise about money, so it belongs with a regulated issuer and with customer service that picks up the phone.

Sponsors do not vanish from this picture; they become better guests. Instead of renting space at random, a partner can underwrite something that supporters value: the archive, the women’s team’s documentary, free membership for under-sixteens. The message reaches people who have agreed to receive it, and the result can be counted. Several commercial directors tell us that such agreements are shorter to read, quicker to renew and larger per head than the boards round the pitch. They are also easier to defend at the annual meeting.

Who carries the risk in building all this? It is the question that has stopped most clubs, and rightly so. A platform costs millions before it earns its first pound, and the talent required is hired away by banks. The structure we find most convincing turns the risk round: a provider finances, builds and operates the product, guarantees the club a fixed sum each year and shares what comes in above it, without a cap. The club contributes its name, its stories and its supporters’ trust, the parts that nobody else can supply.

Such a bargain needs careful drafting. The guarantee should be payable whatever happens. The share should be calculated on revenue, which can be audited, and never on profit, which can be argued about. Supporters’ data must belong to the club throughout and leave with it at the end. Prices, partners and content should pass through a joint board on which the club has the last word about anything that bears its crest. With those four clauses in place, interests line up remarkably well. Both sides earn only when supporters choose to stay.

The measure of success changes as well. Forget the thousand impressions. Ask how many supporters pay something, however little; what the average one contributes in a year across every source; and what proportion are still there twelve months on. These three figures explain a club’s digital income better than any traffic report. They also have the merit of improving for good reasons. You cannot increase them by shouting. You increase them by being worth the money.

Advertising will go on paying some of the bills, and there is no shame in a good poster. The trouble begins when it is the only language in which a club can speak to its own people about money. There is another one, older than the billboard, in which somebody says what a thing costs, what it brings and why it matters, and the other person decides. Supporters have been waiting to have that conversation. On the evidence so far, they intend to be generous.$article$,
  'https://ledger-and-pitch.example/pricing/sixty-memberships',
  'Ledger & Pitch: Sixty Memberships on Four Continents, a Pricing Study',
  'https://loyalty-ledger.example/reviews/commission-cards-and-clubs',
  'The Loyalty Ledger: Commission, Cards and Clubs'
) on conflict do nothing;

-- The articles bring their ids along; the next one that an admin adds must get a higher one.
select setval('public.blog_posts_id_seq', greatest(
  (select max(id) from public.blog_posts), (select last_value from public.blog_posts_id_seq)));
