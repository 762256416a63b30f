insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  1,
  'Beyond Broadcast: What a Club Owns When the Final Whistle Goes',
  'Media Strategy',
  'A match lasts two hours. The other 166 hours of the week belong to whoever holds the fan’s attention, and today that is rarely the club.',
  'blog-images/Beyond-Broadcast.png',
  '/blog/beyond-broadcast',
  '2026-05-12 08:00:00+00',
$article$Ask a club’s finance director where the money comes from and the answer arrives in three words: gate, shirts, broadcast. Ask where the fans are on a Wednesday afternoon and the room goes quiet. The honest reply is that they are on somebody else’s app, watching somebody else’s edit of last weekend’s goals, next to an advertisement that the club will never see a penny of. For most of the week, the club is a guest in its own story.

The arithmetic is unforgiving. A supporter who watches every league match live gives their club perhaps eighty hours a year. The same supporter spends far more than that with short video, most of it alone, on a phone, in gaps of a few minutes between other things. Broadcast rights sell the eighty hours extremely well. They do nothing at all for the gaps, and it is in the gaps that habits are formed, jokes are shared and loyalties are quietly renegotiated.

It would be easy to read this as a story of decline. It is not. Live sport remains the last thing that a whole household will agree to watch at the same moment, and rights holders will go on paying handsomely for it. The point is narrower. Broadcast is a superb way to sell a match and a poor way to run a relationship. It reaches everyone, identifies no one, and stops when the credits roll. A club that depends on it alone has rented out its front door.

Consider what a broadcaster actually hands over at the end of a season. There is a cheque, which matters. There is a viewing figure, averaged over panels and rounded to the nearest hundred thousand. There is no list of names, no record of who stayed for the second half, no sign of which player made a teenager in another country sit up. The most valuable thing produced by ninety minutes of football, the knowledge of who cared and about what, evaporates on contact with the air.

Social platforms promised to fill that space, and for a while they did. Clubs built followings in the tens of millions and learned to speak in clips. Then the terms changed, as they were always going to. Reach that had been free became something to be bought back. The feed stopped showing people what they had asked to follow and began showing what would hold them longest. A club’s post now competes with a cooking trick and a stranger’s argument, and is priced accordingly.

The deeper cost is editorial. When an outside algorithm decides what travels, a club’s media team learns to write for the algorithm. Goals do well, so there are more goals. Outrage does better, so somebody is tempted. The academy graduate’s first training session, the groundskeeper’s thirty-year routine, the women’s captain explaining a set piece: all of it performs modestly among strangers and wonderfully among supporters. On a platform built for strangers, that work stops being made.

So what would it mean to own the other hours? Not to replace the broadcast, and not to abandon the public platforms, which remain the best shop window in the world. It means having a place that is unmistakably the club’s, where the rhythm of short video meets people who have already chosen their side. The form is familiar: swipe, watch, react, swipe. The difference is that every clip is about one club, and everybody watching has a reason to be there.

Researchers who study viewing habits describe a distinction between reach and return. Reach counts how many people saw something once. Return counts how many came back on purpose. The Meridian Institute’s panel study found that supporters who opened a club-owned product on four or more days a week were markedly more likely to renew a membership, even when their team’s results were poor. Winning brings reach. Return is what carries a club through a bad February.

Return has to be earned by design. A vote on the player of the match that opens at the final whistle and closes an hour later gives a reason to be present. A question put to the goalkeeper and answered by the goalkeeper turns a viewer into a participant. A streak, a prediction, a small reward for turning up: none of these is new, and each works better when it is attached to something a person already loves. Mechanics borrowed from games do not create affection, but they give it somewhere to go.

The production question is less frightening than it sounds. A modern club already shoots more footage than it can use. Cameras run at training, in the tunnel, on the team bus. What has been missing is the cheap, fast hand that finds the eleven seconds worth keeping and gives them a caption in six languages before breakfast. Machine assistance is now good enough for the first cut, with a human editor deciding what carries the crest. The archive turns from a cost of storage into a season of material.

There is a commercial argument too, and it is the one that persuades boards. Attention that is owned can be sold more than once and on better terms. A sponsor who today buys a logo on a backdrop can instead present the weekly quiz to supporters who have agreed to hear from them, and see what happened. The inventory is smaller than a global platform’s. It is also exclusive, brand-safe and measured, which is precisely what sponsors keep asking for and seldom receive.

None of this requires a club to become a technology company. Very few should try. The graveyard of fan apps is full of brave internal projects, launched in August, starved by November and switched off the following spring. Building is the easy half; running a media product every day, moderating it at midnight and improving it every fortnight is the half that defeats a department of four. The sensible question for a club is not whether it can build one, but who will stand behind it in its third year.

Broadcast made modern sport rich by gathering everyone around one screen. The next chapter is quieter and more personal, and it takes place on a few hundred million smaller ones. Clubs that treat those screens as a place to advertise the real thing will find that someone else has taken the seat beside their supporters. Clubs that treat them as part of the real thing will discover what broadcasters have known for decades: whoever fills the hours between matches decides what the matches are worth.$article$,
  'https://meridian-institute.example/research/reach-and-return',
  'Meridian Institute for Sport and Media: Reach and Return, a Three-Season Panel Study',
  'https://touchline-quarterly.example/2026/the-other-166-hours',
  'Touchline Quarterly: The Other 166 Hours'
) on conflict do nothing;
