import { expect, it, vi } from 'vitest'

import { firstPaint, firstPicture } from './first-paint'

function rootWith(html: string) {
  const root = document.createElement('div')
  root.innerHTML = html
  return root
}

/** Returns whether the promise is settled by now. */
async function isSettled(promise: Promise<unknown>) {
  const pending = Symbol('pending')
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

it('waits for nothing where the first screen has no picture', async () => {
  const frames = vi.spyOn(window, 'requestAnimationFrame')
  await firstPicture(rootWith('<h1>Hello</h1>'))
  expect(frames).not.toHaveBeenCalled()
})

it('waits for the first picture and the frame that shows it', async () => {
  const root = rootWith('<h1>Hello</h1><img fetchpriority="high">')
  const picture = root.querySelector('img')
  if (!picture) throw new Error('no picture')
  let decoded: () => void = () => undefined
  picture.decode = () => new Promise((resolve) => (decoded = resolve))
  const picturePaint = firstPicture(root)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await isSettled(picturePaint)).toBe(false)
  decoded()
  await vi.advanceTimersByTimeAsync(100)
  await picturePaint
})

it('waits for no picture longer than two seconds', async () => {
  const root = rootWith('<img fetchpriority="high">')
  const picture = root.querySelector('img')
  if (!picture) throw new Error('no picture')
  picture.decode = () => new Promise(() => undefined)
  const picturePaint = firstPicture(root)
  await vi.advanceTimersByTimeAsync(2100)
  await picturePaint
})

/** Replaces the browser's observer of paints; returns a function that reports a paint. */
function stubPaints() {
  let painted: () => void = () => undefined
  class Observer {
    constructor(callback: () => void) {
      painted = callback
    }
    observe() {}
  }
  vi.stubGlobal('PerformanceObserver', Observer)
  return () => {
    painted()
  }
}

it('waits for the first paint', async () => {
  const paint = stubPaints()
  const paintWait = firstPaint()
  await vi.advanceTimersByTimeAsync(100)
  expect(await isSettled(paintWait)).toBe(false)
  paint()
  await paintWait
})

it('waits for no paint longer than half a second', async () => {
  stubPaints()
  const paintWait = firstPaint()
  await vi.advanceTimersByTimeAsync(490)
  expect(await isSettled(paintWait)).toBe(false)
  await vi.advanceTimersByTimeAsync(20)
  await paintWait
})
