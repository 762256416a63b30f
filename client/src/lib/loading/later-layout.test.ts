import { expect, it, vi } from 'vitest'

import { layOutAll, layOutLater } from './later-layout'

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

/** Returns what shows the next frame. */
function frames() {
  let next: () => void = () => undefined
  vi.stubGlobal('requestAnimationFrame', (callback: () => void) => {
    next = callback
    return 1
  })
  return () => {
    next()
  }
}

it('lays out one element per frame, in their order', () => {
  const next = frames()
  const all = elements(3)
  for (const element of all) layOutLater(element)
  expect(waiting(all)).toEqual([true, true, true])
  next()
  expect(waiting(all)).toEqual([false, true, true])
  next()
  next()
  expect(waiting(all)).toEqual([false, false, false])
})

it('lays out an element before those in it', () => {
  const next = frames()
  const all = elements(3)
  const [outer, inner, other] = all
  if (!outer || !inner || !other) throw new Error('there are three')
  outer.append(inner)
  // In the order in which React attaches refs.
  for (const element of [inner, outer, other]) layOutLater(element)
  next()
  expect(waiting(all)).toEqual([false, true, true])
  next()
  expect(waiting(all)).toEqual([false, false, true])
  next()
  expect(waiting(all)).toEqual([false, false, false])
})

it('lays out the rest at once on request, but no removed element', () => {
  vi.stubGlobal('requestAnimationFrame', () => 1)
  const all = elements(3)
  const forget = all.map((element) => layOutLater(element))
  forget[1]?.()
  layOutAll()
  expect(waiting(all)).toEqual([false, true, false])
})
