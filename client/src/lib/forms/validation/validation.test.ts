import { describe, expect, it } from 'vitest'

import { checkBusinessEmail } from './email'
import { checkText } from '@shared/text'

const name = { label: 'Name', min: 2, max: 100 }
const message = { label: 'Message', max: 2000, allowsSpecialCharacters: true }

describe('the generic text check', () => {
  it.each([
    [' A ', 'Name must be at least 2 characters long.'],
    ['x'.repeat(101), 'Name is too long. Please keep it under 100 characters.'],
    ['Ada\u0007', 'Invalid characters detected. Please remove any control characters.'],
    ['Ada{}', 'Name contains invalid special characters.'],
  ])('refuses the name %j', (value, reason) => {
    expect(checkText(value, name)).toBe(reason)
  })

  it.each(['<', '>', '{', '}', '[', ']', '\\', '/', '^', '$', '|', '?', '*', '+', '(', ')'])(
    'refuses %s in names and takes it in messages',
    (character) => {
      expect(checkText(`Ada ${character} Li`, name)).toBe(
        'Name contains invalid special characters.',
      )
      expect(checkText(`Ada ${character} Li`, message)).toBeUndefined()
    },
  )

  it.each([
    '<script>alert(1)</script>',
    '</ iframe',
    '<object data=x>',
    '<embed src=x>',
    '<form action=x>',
    '<meta charset=x>',
    '<link rel=x>',
    'javascript:alert(1)',
    'vbscript : x',
    'data:text/html,x',
    'onclick=steal()',
    'expression(1)',
    'url(x)',
    '@import x',
    'binding: x',
  ])('refuses what could run: %s', (value) => {
    expect(checkText(value, message)).toBe(
      'Invalid content detected. Please remove any HTML, scripts, or special formatting.',
    )
  })

  it.each([
    'select',
    'INSERT into',
    'please update us',
    'delete',
    'drop',
    'create',
    'alter',
    'exec',
    'union',
    'script',
    'well -- no',
    'a /* b',
    'or 1=1',
    'AND 2 = 2',
  ])('refuses what could be a query: %s', (value) => {
    expect(checkText(value, message)).toBe(
      'Invalid input detected. Please try again with different content.',
    )
  })

  it.each([
    'Selection of creators, unionised',
    "José O'Brien-Łukasz",
    '阿里',
    'two\nlines\tof text',
  ])('takes %j', (value) => {
    expect(checkText(value, message)).toBeUndefined()
  })
})

describe('the e-mail check', () => {
  it.each([
    [`${'a'.repeat(250)}@b.cd`, 'Email address is too long.'],
    ['nobody', 'Please enter a valid email address.'],
    ['a@b', 'Please enter a valid email address.'],
    ['a b@c.de', 'Please enter a valid email address.'],
    ['a@b@c.de', 'Invalid email format detected.'],
    ['a..b@c.de', 'Invalid email format detected.'],
    ['.a@c.de', 'Invalid email format detected.'],
    ['a@c.de.', 'Invalid email format detected.'],
    ['<b>@c.de', 'Invalid email format detected.'],
    ['javascript:x@c.de', 'Invalid email format detected.'],
    ['a\u0007@c.de', 'Invalid email format detected.'],
    ['fan@mailinator.com', 'Please use a valid business email address.'],
    ['fan@GuerrillaMail.com', 'Please use a valid business email address.'],
    ['fan@10minutemail.com', 'Please use a valid business email address.'],
  ])('refuses %j', (value, reason) => {
    expect(checkBusinessEmail(value)).toBe(reason)
  })

  it.each([' Ada@Club.Example ', 'a.b+c@sub.club.example'])('takes %j', (value) => {
    expect(checkBusinessEmail(value)).toBeUndefined()
  })
})
