import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { laidOutLater, layOutAll } from './later-layout'

function elements(count: number) {
  return Array.from({ length: count }, () => {
    const element = document.createElement('section')
    element.setAttribute('data-layout', 'later')
    return element
  })
}

function waiting(all: HTMLElement[]) {
  return all.map((element) => element.hasAttribute('data-layout'))
}

/** Longer than the pause and the frame after it. */
const NEXT_MS = 80

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.runAllTimers()
  vi.useRealTimers()
})

it('lays out one element after the other, in their order, with a pause in between', () => {
  const all = elements(3)
  for (const element of all) laidOutLater.ref(element)
  expect(waiting(all)).toEqual([true, true, true])
  vi.advanceTimersToNextFrame()
  expect(waiting(all)).toEqual([false, true, true])
  vi.advanceTimersToNextFrame()
  expect(waiting(all)).toEqual([false, true, true])
  vi.advanceTimersByTime(NEXT_MS)
  expect(waiting(all)).toEqual([false, false, true])
  vi.advanceTimersByTime(NEXT_MS)
  expect(waiting(all)).toEqual([false, false, false])
})

it('lays out an element before those in it', () => {
  const all = elements(3)
  const [outer, inner, other] = all
  if (!outer || !inner || !other) throw new Error('there are three')
  outer.append(inner)
  // In the order in which React attaches refs.
  for (const element of [inner, outer, other]) laidOutLater.ref(element)
  vi.advanceTimersToNextFrame()
  expect(waiting(all)).toEqual([false, true, true])
  vi.advanceTimersByTime(NEXT_MS)
  expect(waiting(all)).toEqual([false, false, true])
  vi.advanceTimersByTime(NEXT_MS)
  expect(waiting(all)).toEqual([false, false, false])
})

it('lays out the rest at once on request, but no removed element', () => {
  const all = elements(3)
  const forget = all.map((element) => laidOutLater.ref(element))
  forget[1]?.()
  layOutAll()
  expect(waiting(all)).toEqual([false, true, false])
})
