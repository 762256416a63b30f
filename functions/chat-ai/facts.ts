// Questions that the tables answer better than a search by words: who, when, which clubs, how much, which jobs. What
// they do not say is not guessed.

import { readAsVisitor } from '../_shared/backend.ts'
import { type Answer, find, plain, sourceOf } from './passages.ts'
import { CONTACT } from './phrases.ts'
import { stem, stemsOf, subjectOf, wordsOf } from './words.ts'

interface Person {
  name: string
  title: string
  role: string
  about: string
  visible_on_pages: string[]
}

interface Event {
  period: string
  title: string
  description: string
}

interface Opening {
  title: string
  description: string
}

const ABOUT = { title: 'About us', page: '/about' }
const EXPERTS = { title: 'What experts say', page: '/#testimonials' }
const JOURNEY = { title: 'Our journey', page: '/about' }
const JOBS = { title: 'Open roles', page: '/careers#jobs' }

const people = (more = '') =>
  readAsVisitor<Person>(
    'testimonials',
    `select=name,title,role,about,visible_on_pages&is_visible=is.true${more}`,
  )
const leaders = () => people(`&visible_on_pages=cs.${encodeURIComponent('{"about us"}')}&order=id`)
const events = () =>
  readAsVisitor<Event>('timeline_events', 'select=period,title,description&order=order_index')
const openings = () =>
  readAsVisitor<Opening>(
    'job_openings',
    'select=title,description&is_active=is.true&order=display_order',
  )

const describePerson = ({ name, title, role, about }: Person) =>
  `**${plain(name)}** (${plain(role)}; ${plain(title)}): ${plain(about)}`

const describeEvent = ({ period, title, description }: Event) =>
  `**${plain(period)}: ${plain(title)}.** ${plain(description)}`

const list = (lines: string[]) => lines.map((line) => `- ${line}`).join('\n')

/** Abbreviations of roles, and what the tables have for them. */
const CHIEFS: Record<string, string> = {
  ceo: 'chief executive officer',
  cto: 'chief technology officer',
  cco: 'chief commercial officer',
  cpo: 'chief product officer',
  boss: 'chief executive officer',
}

/** The company, in questions. */
const FOUNDING =
  /\bco-?founde|\bfound(ed|ers?)\b|\b(started|created|set up) (terrace|the company|this|you)\b/i

/** Words for the company itself, behind which no other name comes. */
const OURS = String.raw`(?:the |your |this )?(?:terrace|company|business|it|this|that|you|your|and|when|why|here|team)\b`

/** Questions about the people of another company or club: "the CEO of Apple", "Ajax's founder", "who founded Ajax". */
const OF_OTHERS = new RegExp(
  [
    String.raw`\b(?:ceo|cto|cco|cpo|boss|founders?|investors?|leadership|management|executives?) (?:of|at|in) (?!${OURS})`,
    String.raw`\b(?:founded|started|created|set up|runs?|leads?|backs?|backed|funds?|funded) (?!${OURS})\p{L}`,
    String.raw`\b(?!terrace|company)\p{L}+['’]s (?:ceo|cto|cco|cpo|boss|founders?|investors?|leadership|management)\b`,
    String.raw`\b(?:was|were|is) (?!${OURS})[\p{L} ]+ (?:founded|started|created|set up)\b`,
  ].join('|'),
  'iu',
)

const isInvestor = ({ role }: Person) => role === 'Investor'

/** Answers about those who stand behind the company: founders, leaders, investors, and everybody by name. */
async function aboutPeople(question: string): Promise<Answer | null> {
  if (OF_OTHERS.test(question)) return null
  const words = wordsOf(question)
  const team = await leaders()
  const told = (persons: Person[], lead = '') =>
    persons.length === 0
      ? null
      : { text: [lead, list(persons.map(describePerson))].join('\n\n').trim(), sources: [ABOUT] }
  if (FOUNDING.test(question)) {
    const isFounder = (person: Person) =>
      !isInvestor(person) && /\b(co-?)?founder\b/i.test(person.title)
    return told(team.filter(isFounder), 'The founders of Terrace:')
  }
  if (
    /\b(invest(s|ed|ors?)?|backers?|(backs?|backed|funds?|funded) (terrace|the company|you))\b/i.test(
      question,
    )
  )
    return told(team.filter(isInvestor), 'The investors behind Terrace:')
  const chief = words.map((word) => CHIEFS[word]).find((role) => role !== undefined)
  if (chief !== undefined) return told(team.filter(({ role }) => role.toLowerCase() === chief))
  if (
    /\b(leadership|management|executives?|your team|(runs?|leads?|behind) (terrace|the company|this|you))\b/i.test(
      question,
    )
  )
    return told(
      team.filter((person) => !isInvestor(person)),
      'The leadership of Terrace:',
    )
  return null
}

/** Answers about a person whose name the question has. */
async function aboutSomebody(question: string): Promise<Answer | null> {
  const words = new Set(wordsOf(question))
  const named = (await people()).filter(({ name }) => {
    const last = wordsOf(name).at(-1)
    return last !== undefined && words.has(last)
  })
  if (named.length === 0) return null
  const isLeader = named.every((person) => person.visible_on_pages.includes('about us'))
  return {
    text: named.map(describePerson).join('\n\n'),
    sources: [isLeader ? ABOUT : EXPERTS],
  }
}

/** Answers when something happened or will happen, if the timeline has it. */
async function aboutTime(question: string): Promise<Answer | null> {
  if (OF_OTHERS.test(question)) return null
  const known = await events()
  const [first] = known
  const isBeginning =
    /\bfound(ed|ing|ation)\b|\b(terrace|you|the company) (start|begin|exist)|\bhow old\b|\bsince when\b|\bset up\b/i
  if (first !== undefined && isBeginning.test(question)) {
    const told = known.find((event) => /\bfounded\b/i.test(event.description))
    const lead = 'I find no date of foundation on this site. Its journey begins with this:\n\n'
    return {
      text: told === undefined ? lead + describeEvent(first) : describeEvent(told),
      sources: [JOURNEY],
    }
  }
  // The timeline is the company's. When something is up to the visitor's club, the questions and answers say it.
  if (/\b(we|our|us|my|i|me)\b/i.test(question)) return null
  const subject = subjectOf(
    question,
    /^(date|happen(s|ed)?|available|come|comes|coming|expect|planned)$/,
  )
  if (subject.length === 0) return null
  const fitting = known.filter(({ title, description }) => {
    const stems = stemsOf(`${title} ${description}`)
    return subject.every((word) => stems.has(word))
  })
  if (fitting.length === 0) return null
  return { text: fitting.slice(0, 3).map(describeEvent).join('\n\n'), sources: [JOURNEY] }
}

/** Answers which clubs there are: the site names none, and says what it says of partners. */
async function aboutClubs(): Promise<Answer> {
  const partners = (await events()).filter(({ title }) => /\b(partners?|clubs?)\b/i.test(title))
  const told = partners.filter(({ title }) => /\b(sign|join|partners?)/i.test(title)).slice(0, 1)
  return {
    text: [
      'This site has no list of the clubs that Terrace works with.',
      ...(told.length > 0 ? [`What it says of them: ${told.map(describeEvent).join('')}`] : []),
      'The team may tell you more.',
    ].join('\n\n'),
    sources: [...(told.length > 0 ? [JOURNEY] : []), CONTACT],
  }
}

/** Returns what the search finds first for a question that the site asks itself. */
async function own(question: string) {
  return (await find(question))[0]
}

/** What an amount looks like. */
const AMOUNT = /[€$£%]|\b(million|percent|per cent|euros?|pounds|dollars)\b/i

/** Returns the sentence that says that there is no amount in a text; none if there is one. */
const noAmount = (text: string) =>
  AMOUNT.test(text) ? [] : ['I find no amount on this site. What it says:']

/** Answers how much. */
async function aboutMoney(question: string): Promise<Answer | null> {
  if (/\b(raise|raised|funding|invest(ed|ment|ments)?|valuation)\b/i.test(question)) {
    const backed = (await events())
      .filter(({ title, description }) => /\b(seed|investors?)\b/i.test(`${title} ${description}`))
      .slice(0, 1)
      .map(describeEvent)
    if (backed.length === 0) return null
    return { text: [...noAmount(backed.join('')), ...backed].join('\n\n'), sources: [JOURNEY] }
  }
  const isCost = /\b(costs?|pay|price|charge|fees?|spend|expensive)\b/i.test(question)
  const isIncome =
    /\b(earns?|makes?|receive|get|guarantee|guaranteed|share|revenue|income|percent|percentage)\b/i.test(
      question,
    )
  const isBare = /\bmoney\b|^\W*how much\W*$/i.test(question)
  if (!isCost && !isIncome && !isBare) return null
  // "How much money?" may be either.
  const asked = [
    ...(isIncome || !isCost ? ['How does the revenue guarantee work?'] : []),
    ...(isCost || !isIncome ? ['What does it cost us to launch?'] : []),
  ]
  const found = (await Promise.all(asked.map(own))).filter((passage) => passage !== undefined)
  if (found.length === 0) return null
  const bodies = found.map(({ title, body }) =>
    found.length > 1 ? `**${plain(title)}** ${plain(body)}` : plain(body),
  )
  const lead = isCost && !isIncome ? [] : noAmount(bodies.join(' '))
  return { text: [...lead, ...bodies].join('\n\n'), sources: found.map(sourceOf) }
}

/** What visitors call a trade (its stem), and the word that titles have for it. */
const TRADES: Record<string, string> = {
  ai: 'machine',
  cod: 'engineer',
  develop: 'engineer',
  ml: 'machine',
  moderation: 'safety',
  moderator: 'safety',
  programm: 'engineer',
  software: 'engineer',
  ui: 'interface',
  ux: 'interface',
}

const JOB_WORDS =
  /^(jobs?|roles?|positions?|openings?|open|vacanc(y|ies)|careers?|hir(e|ing|ed)|work(ing)?|apply|applying|application|offers?|available|currently|moment|there|anything|something|join|joining|team|remote|full|time|person|people|someone)$/

/** Answers which positions are open, or whether there is one for what the question names. */
async function aboutJobs(question: string): Promise<Answer | null> {
  const open = await openings()
  if (open.length === 0)
    return { text: 'No open positions at the moment. Check back later!', sources: [JOBS] }
  const titles = list(open.map(({ title }) => plain(title)))
  const subject = subjectOf(question, JOB_WORDS).map((word) => {
    const trade = TRADES[word]
    return trade === undefined ? word : stem(trade)
  })
  if (subject.length === 0) return { text: `Open at the moment:\n\n${titles}`, sources: [JOBS] }
  const fits = ({ title }: Opening) => {
    const stems = stemsOf(title)
    return subject.filter((word) => stems.has(word)).length
  }
  const best = Math.max(...open.map(fits))
  const fitting = open.filter((opening) => best > 0 && fits(opening) === best)
  if (fitting.length === 0) {
    return {
      text: `I find no open position for that. Open at the moment:\n\n${titles}`,
      sources: [JOBS],
    }
  }
  const told = fitting.map(({ title, description }) => `**${plain(title)}.** ${plain(description)}`)
  return { text: told.join('\n\n'), sources: [JOBS] }
}

/** The kinds of questions, in the order in which they are tried. */
const KINDS: [pattern: RegExp, answer: (question: string) => Promise<Answer | null>][] = [
  [
    /\b(which|what|list|names of|how many)\s+(other\s+|of the\s+|football\s+|sports?\s+)*(clubs|teams|partners|customers|clients|references|leagues)\b(?!.*\b(our|we|us|earn|get|pay|receive)\b)/i,
    aboutClubs,
  ],
  [/\b(your|existing|current) (clubs|partners|customers|clients|references)\b/i, aboutClubs],
  [
    /\b(when|(what|which) year|since when|how old|how long (have|has|do|does) (you|terrace|the company) exist)\b/i,
    aboutTime,
  ],
  [
    /\bhow much\b|\bmoney\b|\bwhat (would|will|does|do|can|could) (our|my|a|the|we|i|clubs?)\b.*\b(earn|make)\b/i,
    aboutMoney,
  ],
  [
    /\b(jobs?|vacanc(y|ies)|hiring|hire|openings?|open (roles?|positions?)|(roles?|positions?|work) (for|as)|(roles?|positions?) (do|are)|careers?)\b/i,
    aboutJobs,
  ],
  [
    /^\W*(who|whose|tell me (about|who))\b|\b(founders?|ceo|cto|cpo|cco|investors?|leadership)\b/i,
    aboutPeople,
  ],
]

/** Ways to ask that look like one of the kinds, and are none: the search answers them. */
const OTHERS =
  /\b(salar(y|ies)|wage|how (do|can|to|should) (i |we |you )?apply|(own|owns|owned|decide|decides|makes|sees|reads|pays) )/i

/** Answers from the tables what they know better than a search; null if it is no such question. */
export async function answerFromTables(question: string): Promise<Answer | null> {
  if (!OTHERS.test(question)) {
    for (const [pattern, answer] of KINDS) {
      const found = pattern.test(question) ? await answer(question) : null
      if (found !== null) return found
    }
  }
  return /\b(who|about)\b/i.test(question) ? await aboutSomebody(question) : null
}
