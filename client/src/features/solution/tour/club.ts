import type { copy } from './copy'

/** The club whose app the tour shows, as the visitor has set it up. */
export interface Club {
  emblem: (typeof copy.clubs)[number]['emblem']
  /** The attribute `data-colours` of everything that has the club's colours. */
  colours: (typeof copy.colours)[number]['id']
  name: string
  /** The app's name. */
  app: string
  /** Three letters for the scoreboard. */
  short: string
  /** What the club calls its points. */
  points: string
}
