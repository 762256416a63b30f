insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  5,
  'Building Your Fortress: Why the Safest Stand in Sport Is One You Run Yourself',
  'Trust & Safety',
  'Abuse is not the weather. It is the result of design decisions, most of which a club can make for itself once it has walls of its own.',
  'blog-images/Building-Your-Fortress.png',
  '/blog/building-your-fortress',
  '2026-09-22 08:00:00+00',
$article$Every club knows the ritual. A young player misses a penalty, and within a minute the replies under his last photograph fill with things that would get a man ejected from any ground in the country. The club condemns it. The platform regrets it. The player deletes the application from his phone, and on Thursday somebody asks him to film a birthday message for the very same account. We have come to speak about this as though it were rain.

It is not rain. Behaviour follows architecture, in buildings and in software alike. Grounds became safer when they were redesigned: better sightlines, trained stewards, seats with numbers, the quiet knowledge that a person could be found. Public platforms have made the contrary choices, for commercial reasons that are perfectly coherent. Anonymity lowers the cost of joining. Outrage lengthens the visit. Moderation costs money and offends someone. A club that relies on such places has outsourced its stewarding to a company that profits from the noise.

The alternative is not silence, and it is not a members’ lounge with the curtains drawn. It is an environment that a club controls from the gate to the far corner: who comes in, what is sold on the concourse, how loud the music is, what happens to somebody who throws a bottle. The fortress of the title is meant in the old footballing sense. It is the ground where your own people feel strong and which visitors respect. Its walls exist for the sake of those inside them.

Begin at the turnstile. Verifying identity has a forbidding reputation, deserved where it has been done badly, yet most adults do it every month for a bank or a parcel. The principle that matters is separation. A specialist confirms that there is one real person behind an account and of what age; the club stores the answer and never the document. Supporters may still appear under a nickname. Everyone else in the room knows only that the nickname belongs to somebody, once.

That single fact changes the temperature. The Gatehouse Review examined eleven sports communities before and after they introduced verification, and reported that severe abuse fell by more than four fifths. The volume of ordinary conversation dipped for three weeks and then passed its former level. The people who came back were disproportionately women, parents and former players, in other words those who had the most to say and the most to lose by saying it. Order, it turns out, is good for attendance.

Next come the stewards. Machine moderation has improved to the point where it can read tone as well as vocabulary, follow the local dialect and act in the half second before a message appears. It does not tire during a derby. It does not see the same image four hundred times and go home in pieces, which was the hidden human cost of the previous system. Used well, it handles the plain cases at both ends and passes the doubtful ones, with its reasons, to a trained person.

The trained person is indispensable. Football is full of sentences that look like threats and are jokes, and of a few that look like jokes and are threats. A machine that removes every mention of a "killer pass" will be laughed at before half-time, and rules that are laughed at are finished. Good teams review a sample of everything the machine let through as well as everything it stopped. They publish the numbers, hear appeals within a day and say sorry when they were wrong. Authority comes from being correct in public.

Rules should be short enough to be read aloud. Ours, if anyone asked, would fit on the back of a ticket: argue about football as hard as you like; leave people’s skin, faith, bodies and families out of it; do not pretend to be someone else; listen to the steward. Sanctions should climb in predictable steps, from a quiet word to a season outside. The certainty of a small consequence does more than the remote possibility of a large one, as every teacher and every referee already knows.

Children deserve a stand of their own. A twelve-year-old who adores the goalkeeper should be able to send her a question and get an answer without passing a betting advertisement, a stranger’s private message or a row about the board. That takes more than a tick-box for age. It takes a separate set of defaults: no contact from unknown adults, no targeted selling, gentle limits on time, and parents who can see what there is to see. Families remember which club thought about it first.

A closed environment also protects the partners’ good name and the club’s own. Nobody books a boardroom next to a brawl. When a brand can be certain that its message will never appear under a slur or beside a conspiracy theory, it pays for that certainty and stays for longer. When the club alone decides what sits next to its crest, a category of crisis vanishes from the press officer’s week. Exclusivity is usually sold as glamour. Its more practical name is insurance.

There are fair objections. Does a walled place breed an echo? It might, if criticism of the club were treated as abuse; it must not be, and the surest proof is a supporter’s furious essay about the transfer window left standing on the front page. Is verification a barrier for the poor or the undocumented? It can be, so there must be more than one way to pass it, and someone to help. Could the records be stolen? Whatever is not kept cannot be, which is why the documents never arrive.

Technical walls need looking after like brick ones. Access by staff should be narrow, logged and reviewed. Keys should be changed, backups restored in rehearsal, and intruders invited in once a year under contract to show what they can reach. When an incident happens, tell supporters what you know on the same day, in the words you would use to a neighbour. Communities forgive the break-in sooner than the fortnight of careful statements which so often follows it.

The great grounds were built by people who understood that a crowd is a living thing. It can be lifted or it can be poisoned, and which of the two happens depends less on the individuals within it than on the place that holds them. The digital stand deserves architects as serious as those. Give supporters a house with doors, lights, rules and a welcome, and they will fill it with noise of the right kind. They will also defend it, since it will be theirs.$article$,
  'https://gatehouse-review.example/studies/eleven-communities-before-and-after',
  'The Gatehouse Review of Online Safety: Eleven Communities, Before and After',
  'https://open-stand.example/publications/stewarding-the-digital-terrace',
  'Open Stand Foundation: Stewarding the Digital Terrace'
) on conflict do nothing;
