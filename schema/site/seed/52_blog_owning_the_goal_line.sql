insert into public.blog_posts
  (id, title, category, description, image_url, link, created_at, content, source_link1, source_title1, source_link2, source_title2)
values (
  3,
  'Owning the Goal Line: First-Party Data and the Club That Knows Its Own Fans',
  'Data Ownership',
  'A club with ten million followers may know fewer of its supporters by name than the bakery across the road. That can be repaired.',
  'blog-images/Owning-the-Goal-Line.png',
  '/blog/owning-the-goal-line',
  '2026-07-14 08:00:00+00',
$article$There is a small test that any club can run before lunch. Take the number of followers that appears in the sponsorship deck. Beside it write the number of supporters to whom the club could send a message this afternoon, by name, with permission. At most clubs the second figure is smaller than the first by a factor of fifty. The gap has a technical name, which is rented audience, and a plain one, which is other people’s property.

Nobody set out to arrive here. Ticketing went to a specialist, the online shop to another, the app to a third, and social media to companies on a different continent. Each arrangement was sensible in its year. Together they scattered one human being across seven databases, six of which belong to suppliers. The season-ticket holder, the buyer of the third kit and the person who comments on every training clip may be the same woman. The club has no way of telling.

For a long time this hardly mattered, because advertising technology offered a way round. Third-party identifiers followed people about the web and allowed anyone with a budget to find supporters again. That shortcut is closing. Browsers have tightened, phone makers ask their users first, and regulators in several regions have grown tired of being told that a forty-page notice amounts to consent. What remains, and what rises in value as the rest falls, is information that people hand to you directly because they want something from you.

First-party data is an ugly phrase for an old courtesy. The steward who knows which seat your grandfather liked is holding first-party data. So is the barman who starts pouring when you come in. It is knowledge gained in the course of a relationship and used to make that relationship better. The moment it is used for something else it becomes surveillance, and the customer can usually tell before the lawyers can. That simple test sorts most good projects from most bad ones.

What should a club want to know? Less than it thinks. A household’s income bracket is of little use to anyone in the building. It is useful to know that a supporter lives nine hundred miles away and watches every match at breakfast; that another comes to the ground four times a year with two children; that a third follows only the women’s team and has never been offered a ticket to it. Each of these facts suggests something the club could do next week, and that is the standard to hold.

Collecting it well is a matter of timing. A registration form with eighteen fields is a wall. A single question, asked at the moment when the answer pays off, is a conversation: choose your player and the feed changes in front of you; say where you live and kick-off times appear in your own zone. Researchers at the Open Stand Foundation call this progressive consent. In its trials, supporters who were asked one thing at a time ended up sharing more than twice as much as those shown everything at once, and complained less.

Ownership has to be written down. Who is the controller? May the supplier use the records for other clients, train models on them, or keep a copy when the contract ends? Can the club take out everything it holds, at any time, in a format that another system can read? An interface that returns every record on request is worth more than a page of assurances, because it can be tried on a Tuesday morning. If an export takes a support ticket and three weeks, the data belongs to whoever answers the ticket.

The same contract should say what happens to supporters who change their minds. Withdrawing permission ought to take the same number of taps as granting it, and deletion should reach every copy, the warehouse and the mailing tool included. Clubs sometimes fear that making it easy to leave will empty the list. The opposite is generally true. People sign up more readily for things they can see the way out of, as every gym that has abolished its notice period will confirm.

Once the foundation is in place, the returns are pleasantly dull. Renewal letters go to those who are wavering, with an offer that fits the reason. Empty seats for a midweek cup tie are found by the people within forty minutes of the ground who like cup ties. The shop orders the sizes that will sell. No single use makes a headline, yet one club in the Foundation’s study attributed a four per cent rise in annual income to nothing grander than knowing whom to ask.

Partners notice as well. A sponsor who can be shown an audience that has agreed to hear about travel, say, and can afterwards see how many of them acted, will accept a smaller number at a higher price. The conversation moves from impressions, which can be neither checked nor felt, to outcomes, which can. It also moves the club up the table: instead of selling space beside an audience that belongs to a platform, it introduces people it knows to firms it trusts, and may decline the others.

Governance deserves a chair of its own. The person responsible for supporters’ data should have the standing to refuse the commercial director, and should be seen to do so once in a while. Publish what is held and why, in language that a fourteen-year-old could follow. Invite the supporters’ trust to read the audit. None of that slows a good project down. It builds up the reserve of goodwill that a club will need on the day when, despite everything, something goes wrong.

There are temptations on the way. The first is to hoard, in the belief that information not gathered today is lost for ever; most of it ages faster than milk. The second is to buy a vast platform and hope that it will supply the questions. The third is to personalise until supporters no longer share anything, every feed a private tunnel. Sport is one of the last common experiences we have. The aim is to know each supporter better without losing the crowd.

A century ago a club’s register was a ledger in the secretary’s office: names, addresses, subscriptions paid. It was incomplete and smelled of tobacco, and it belonged entirely to the club. The tools have improved beyond recognition while the ownership has gone backwards. Putting that right needs no revolution, only a decision about where the line is drawn and who stands on it. In sport we know what it means when the whole of the ball is over. The same exactness would serve us well here.$article$,
  'https://open-stand.example/publications/progressive-consent-in-practice',
  'Open Stand Foundation: Progressive Consent in Practice',
  'https://touchline-quarterly.example/2026/the-register-and-the-rented-crowd',
  'Touchline Quarterly: The Register and the Rented Crowd'
) on conflict do nothing;
