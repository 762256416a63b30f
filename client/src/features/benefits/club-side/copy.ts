import type { Season } from './seasons'

/** What moderation does with a message. */
type Verdict = 'shown' | 'stopped' | 'passed'

interface Message {
  fan: string
  /** Empty for one that nobody is to read. */
  text: string
  verdict: Verdict
}

const messages: readonly Message[] = [
  { fan: 'Lantern End 68', text: 'What a killer pass that was!', verdict: 'shown' },
  { fan: 'Row Z Pete', text: '', verdict: 'stopped' },
  { fan: 'Away Day Ana', text: 'Proud of them. We go again.', verdict: 'shown' },
  { fan: 'Dockside Del', text: 'Ref, we know where you park.', verdict: 'passed' },
]

const seasons: readonly { id: Season; label: string }[] = [
  { id: 'promotion', label: 'Promotion' },
  { id: 'middle', label: 'Mid-table' },
  { id: 'relegation', label: 'Relegation' },
]

export const copy = {
  label: 'The club’s side',
  dashboard: {
    title: 'The club’s dashboard',
    text: 'The guarantee is paid each month, whatever the table says. The share comes on top.',
    club: 'Harbour Row FC',
    seasonLabel: 'Season',
    seasons,
    guarantee: 'Guarantee',
    share: 'Share',
    fans: 'Opted-in fans',
    months: ['Aug', 'Sep', 'Oct', 'Nov', 'Dec', 'Jan', 'Feb', 'Mar', 'Apr', 'May'],
    export: 'Export by REST API',
  },
  moderation: {
    title: 'The moderation queue',
    text: 'AI reads each message before it is shown. Doubtful cases go to trained people.',
    messages,
    verdicts: { shown: 'Shown', stopped: 'Stopped', passed: 'To a person' },
  },
  note: 'A fictional club with invented figures.',
} as const
