import { expect, test } from 'vitest'

import { formatNumber, formatPounds } from './numbers'

test('numbers are written as Intl writes them', () => {
  const number = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
  const options = { style: 'currency', currency: 'GBP', maximumFractionDigits: 0 } as const
  const pounds = new Intl.NumberFormat('en-GB', options)
  for (const value of [0, 7, 999, 1000, 12_345.4, 12_345.6, 999_999.7, 1_234_567, -4321]) {
    expect(formatNumber(value)).toBe(number.format(value))
    expect(formatPounds(value)).toBe(pounds.format(value))
  }
})
