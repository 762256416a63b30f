import { expect, test } from 'vitest'

import { formatDay } from './dates'

test('days are written as Intl writes them', () => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long' })
  for (let month = 0; month < 12; month += 1) {
    const date = new Date(2026, month, 2 * month + 1)
    expect(formatDay(date)).toBe(format.format(date))
  }
})
