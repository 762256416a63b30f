import { expect, it } from 'vitest'

import { incomeOf, shareOf } from './estimate'

const assumptions = { fans: 50_000, revenue: 12, guarantee: 250_000, share: 20 }

it('adds the share of all revenue to the guarantee', () => {
  expect(shareOf(assumptions)).toBe(120_000)
  expect(incomeOf(assumptions)).toBe(370_000)
})

it('pays the guarantee whatever comes in, and less share for less revenue', () => {
  expect(incomeOf(assumptions, 0.5)).toBe(310_000)
  expect(incomeOf(assumptions, 0)).toBe(250_000)
})

it('has no cap', () => {
  expect(incomeOf({ ...assumptions, fans: 1_000_000, revenue: 36, share: 50 })).toBe(18_250_000)
})
