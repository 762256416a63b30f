import { document, group, rect } from '../core/svg.mjs'
import { HEIGHT, night, WIDTH } from './club.mjs'
import { goal } from './clips-goal.mjs'
import { tifo } from './clips-tifo.mjs'
import { training } from './clips-training.mjs'
import { tunnel } from './clips-tunnel.mjs'
import { membership } from './membership.mjs'
import { easeInOut, progress, pulse } from './motion.mjs'
import { award, balance, bump, poll } from './poll.mjs'
import { cards, cues, LENGTH } from './timeline.mjs'
import {
  caption,
  clipProgress,
  navBar,
  rail,
  scrims,
  statusBar,
  swipes,
  thumb,
  topBar,
} from './ui.mjs'

const feed = {
  goal: {
    draw: goal,
    author: 'The Lantern End',
    width: 112,
    lines: ['Okafor, 88 minutes. You can hear the', 'harbour from here.'],
    tag: 'Goal cam',
    likes: (on) => (on ? '12.5k' : '12.4k'),
    comments: '861',
    shares: '2.1k',
    liked: true,
  },
  training: { draw: training, likes: () => '6.7k', comments: '402', shares: '318', overlay: poll },
  tifo: {
    draw: tifo,
    author: 'Row Supporters',
    width: 109,
    lines: ['418 cards, one rehearsal, no mistakes.'],
    tag: 'Tifo',
    likes: () => '31k',
    comments: '1.9k',
    shares: '5.4k',
  },
  tunnel: {
    draw: tunnel,
    author: 'Harbour Row FC',
    width: 113,
    lines: ['The walk. Sound on.'],
    tag: 'Inside the tunnel',
    likes: () => '18k',
    comments: '733',
    shares: '1.2k',
  },
}

/** How high a card is: down to the bar at the foot. */
const CARD = 762

function card(index, time) {
  const { clip, from, to } = cards[index]
  const item = feed[clip]
  const words = item.author ? caption(item) : ''
  return (
    item.draw(time) +
    rect(0, 560, WIDTH, 210, 'url(#bottom)') +
    words +
    (item.overlay?.(time) ?? '') +
    rail(item, time) +
    clipProgress(progress(time, from, to + 0.3))
  )
}

/** Which cards are on the screen, and how far up each is pushed. */
function column(time) {
  const at = cards.findLastIndex((candidate) => time >= candidate.to)
  const leaving = at === -1 ? 0 : at
  const end = cards[leaving + 1]?.from ?? LENGTH
  if (at === -1 || time >= end) return card(at + 1, time)
  const pushed = easeInOut(progress(time, cards[leaving].to, end)) * CARD
  const next = (leaving + 1) % cards.length
  // The film's last swipe brings back the first card as it stands at second 0.
  const nextTime = next === 0 ? time - LENGTH : time
  return (
    group(`translate(0 ${-pushed.toFixed(2)})`, card(leaving, time)) +
    group(`translate(0 ${(CARD - pushed).toFixed(2)})`, card(next, nextTime))
  )
}

/** The film's picture at `time` seconds, 0 to LENGTH, as an SVG document. */
export function seek(time) {
  const points = balance(time)
  const inRewards = time >= cues.sheet + 0.1 && time < cues.close + 0.2
  return document(
    WIDTH,
    HEIGHT,
    `<defs>${scrims}</defs>` +
      rect(0, 0, WIDTH, HEIGHT, night) +
      column(time) +
      rect(0, 0, WIDTH, 150, 'url(#top)') +
      membership(time, points) +
      award(time) +
      statusBar() +
      topBar(points, bump(time)) +
      navBar(inRewards ? 3 : 0) +
      swipes(time, LENGTH) +
      thumb(354, 444, pulse(time, cues.like - 0.2, cues.like + 0.25)) +
      thumb(120, 573, pulse(time, cues.vote - 0.25, cues.vote + 0.25)) +
      thumb(271, 790, pulse(time, cues.sheet - 0.25, cues.sheet + 0.2)) +
      thumb(310, 497, pulse(time, cues.redeem - 0.25, cues.redeemed + 0.15)) +
      thumb(350, 165, pulse(time, cues.close - 0.25, cues.close + 0.2)),
  )
}
