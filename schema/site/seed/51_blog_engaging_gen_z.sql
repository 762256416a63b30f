insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  2,
  'Engaging Gen Z: They Did Not Leave the Stadium, You Stopped Inviting Them',
  'Audience',
  'Young supporters are said to have no attention span. They have plenty. What they lack is patience for being talked at.',
  'blog-images/Engaging-Gen-Z.png',
  '/blog/engaging-gen-z',
  '2026-06-16 08:00:00+00',
$article$Every few months a survey announces that young people have lost interest in sport, and every few months a full stadium of teenagers disagrees. The trouble lies in what the surveys ask. They count hours in front of a live match on a television, find fewer of them, and conclude that affection has drained away. A nineteen-year-old who follows four players, edits her own highlight reels and knows the under-21 side by name does not appear in that column. She has not left. She is simply not where anybody is counting.

Start with the myth of the short attention span. The same people who swipe past a clip in two seconds will watch a three-hour tactical breakdown by a teenager with a laptop. What has changed is the price of the first moment. When the next video is a thumb’s width away, a slow opening is not a style; it is an exit. Young audiences grant attention quickly, withdraw it quickly and, once convinced, spend it lavishly. That is a demanding market. It is a long way from an indifferent one.

Northgate Audience Research spent a year with two thousand supporters between sixteen and twenty-four, and its sharpest finding concerned allegiance rather than screens. Asked to describe their connection to sport, a majority began with a person: a player, a creator, a friend who took them to a match. The crest came second or third. Older supporters answered in the reverse order. The club remains the destination, in other words, but the road to it now runs through individual people and their daily lives.

This ought to be good news for clubs, which employ those people. Yet most official output still shows athletes as monuments. They are lit from below, photographed with their arms folded and quoted in sentences that no human being has ever spoken. Meanwhile the same winger, filmed by a team-mate failing to cook rice, earns more goodwill in nine seconds than the season’s launch campaign. Authenticity is an exhausted word. What it names is a real and very cheap production technique: let them be seen doing something.

The second lesson concerns participation. A generation that grew up inside games and group chats expects media to answer back. It votes, predicts, remixes, ranks and argues, and it notices when none of that changes anything. A poll whose result is never mentioned again teaches people not to bother. A poll that picks the walk-out song, and is heard doing so on Saturday by forty thousand people, teaches them that the club is listening. The distance between those two polls is not technology. It is a decision by somebody in the building.

Third comes status, which is older than any of us and wears new clothes. Supporters have always wanted to show how long they have been there: the faded scarf, the away end, the story about the replay in the rain. Digital life offers fewer scarves. Streaks, badges and points do the same work when they are honest, that is, when they record something that actually took effort and when everyone in the community understands what it took. Handed out for opening an app, they are confetti. Earned over a winter, they are a scarf.

It follows that the worst strategy is imitation. Clubs that copy the slang of last year’s meme account are met with the special silence reserved for a teacher who raps. Young supporters do not need their club to be young. They need it to be fluent, which means speaking its own language in the forms they use. An eighty-year-old kit manager explaining how to fold forty shirts in a vertical video is more contemporary than any amount of borrowed irony, because nobody else could have made it.

Money is the awkward part of the conversation. This cohort rents rather than owns, has fewer spare pounds than its parents did at the same age and is often described as unwilling to pay. The evidence says otherwise. It pays for games, for skins inside those games, for subscriptions to creators and for access that feels personal. What it refuses to buy is a bundle of things it did not ask for. Small amounts, clear value and the freedom to stop: offer those three and the wallet turns out to be open.

Privacy matters more here than the cliché suggests. People raised on data scandals have developed a rough but serviceable sense of fairness. They will tell you their favourite player, their shirt size and their home town if they can see what they receive in return and can take it back. They will not tolerate finding out afterwards. Consent asked for plainly, at the moment when it makes sense, is more than a legal courtesy. It is one of the few remaining ways to appear trustworthy on the internet.

Then there is safety, the reason why many young women and many supporters from minorities stay quiet. Public comment sections under sports posts are frequently vile, and everybody knows it. When a fifth of a potential audience reads but never writes, a club loses the very voices that would make its community worth joining. Spaces where people are verified, where abuse is removed in seconds and where the rules are enforced without drama do not feel policed. They feel like a section of the ground where you would bring your sister.

How should a club begin? With a calendar rather than a platform. Write down what happens in a normal week that a supporter aged seventeen would enjoy seeing, and be honest when the list is short. Decide which two of those things can be done every week without fail, since reliability builds habits and brilliance only builds memories. Put a person in charge who is close to the age of the audience and give them the power to publish. Only then ask which tools would help.

Finally, measure the right thing. Views flatter and tell you little. Count how many people came back this week who also came last week, how many did something rather than watched something, and how many brought a friend. These numbers start small and grow slowly, like anything that is alive. A club that adds two hundred regulars a week has ten thousand more by the end of the season, and it knows their names. No broadcast deal has ever delivered that.

The phrase "the next generation of fans" is usually spoken as if they were on their way, due to arrive once they have mortgages and a sofa. They are here now, they have opinions on the back four, and their loyalties are being formed this month by whoever bothers to talk with them. The stadium was never a building in the first place. It was a place where you were expected. Expect them, and they will come.$article$,
  'https://northgate-research.example/reports/under-25-and-in-the-stand',
  'Northgate Audience Research: Under 25 and in the Stand',
  'https://meridian-institute.example/briefings/participation-before-reach',
  'Meridian Institute for Sport and Media: Participation Before Reach'
) on conflict do nothing;
