import { expect, it } from 'vitest'

import { pageOf } from './pages'
import { NOT_FOUND, routeOf, ROUTES } from './routes'

it('are those of the specification, and one for every other path', () => {
  expect(ROUTES.map(({ path }) => path)).toEqual([
    '/',
    '/about',
    '/careers',
    '/privacy',
    '/cookies',
    '/imprint',
    '/blog/beyond-broadcast',
    '/blog/engaging-gen-z',
    '/blog/owning-the-goal-line',
    '/blog/level-up-your-loyalty',
    '/blog/building-your-fortress',
    '/blog/beyond-ads',
    '/auth',
    '/password',
    '*',
  ])
})

it('name pages that exist', () => {
  for (const { page } of ROUTES) expect(() => pageOf(page)).not.toThrow()
})

it('are found with slashes at their end, too', () => {
  expect(routeOf('/careers/').path).toBe('/careers')
  expect(routeOf('/')).toBe(ROUTES[0])
  expect(routeOf('/no/such/page')).toBe(NOT_FOUND)
})

it('keep everything that floats away from the login and the gate', () => {
  expect(ROUTES.filter(({ isBare }) => isBare).map(({ path }) => path)).toEqual([
    '/auth',
    '/password',
  ])
})
