import { describe, expect, it } from 'vitest'

import { group } from '../src/case.ts'
import { contrasts } from '../src/compare.ts'
import { checkNames, isBelow, loadGroups, select } from '../src/load.ts'
import { masker, maskAll } from '../src/mask.ts'
import { compare, including, partly, some, unordered, without } from '../src/match.ts'
import { parseOptions, UsageError } from '../src/options.ts'
import { htmlReport } from '../src/report/html.ts'
import { junitReport } from '../src/report/junit.ts'
import { failures, type Report } from '../src/report/model.ts'
import type { Outcome, State } from '../src/runner.ts'
import { otherStatus, otherValue, mutateResponse, mutateText } from '../src/mutation.ts'
import type { Target } from '../src/target.ts'

const target: Target = {
  url: 'http://server.example',
  anonKey: 'anonymous-key',
  serviceKey: 'service-key',
  databaseUrl: 'postgresql://postgres:hunter22@db.example/postgres',
  mailUrl: '',
  jwtSecret: 'secret of the tokens',
  s3: null,
  platform: {
    url: 'http://server.example',
    accessToken: 'token of the operator',
    projectRef: 'abcdefghijklmnopqrst',
  },
}

function outcome(name: string, state: State, got = ''): Outcome {
  const difference = state === 'differs' ? { request: 'GET /', expected: '1', got } : null
  return {
    ...{ name, interface: 'rest', group: 'rest.filter', promise: 'a promise', state, difference },
    ...{ source: 'https://docs.example/', reason: '', checks: [], sights: [] },
    ...{ duration: 5, again: false, mutations: [], isMutated: false },
  }
}

describe('matching', () => {
  it('finds the place of the first difference', () => {
    expect(compare({ a: [1, 2] }, { a: [1, 3] }).mismatch?.path).toEqual(['a', 1])
    expect(compare({ a: 1 }, { a: 1, b: 2 }).mismatch?.path).toEqual(['b'])
    expect(compare([], [1]).mismatch).not.toBeNull()
    expect(compare({ a: null }, {}).mismatch?.path).toEqual(['a'])
  })

  it('takes matchers anywhere', () => {
    const holds = (expected: unknown, got: unknown) => compare(expected, got).mismatch === null
    expect(holds(partly({ a: some.number }), { a: 1, b: 2 })).toBe(true)
    expect(holds(partly({ a: some.number }), { a: '1' })).toBe(false)
    expect(holds(including({ n: 2 }), [{ n: 1 }, { n: 2 }])).toBe(true)
    expect(holds(including({ n: 3 }), [{ n: 1 }, { n: 2 }])).toBe(false)
    expect(holds(unordered(1, 2), [2, 1])).toBe(true)
    expect(holds(unordered(1), [2, 1])).toBe(false)
    expect(holds(without(1), [2, 1])).toBe(false)
    expect(holds([/^a/], ['ab'])).toBe(true)
  })
})

describe('spoiling', () => {
  const body = new TextEncoder().encode('[{"n":1},{"n":2}]')
  const response = { status: 200, headers: new Headers({ 'content-range': '0-1/2' }), body }
  const text = (mutated: ReturnType<typeof mutateResponse>) =>
    new TextDecoder().decode(mutated?.body)

  it('changes what it is told to', () => {
    const field = { ordinal: 0, kind: 'field', paths: [[1, 'n']], exact: true } as const
    expect(text(mutateResponse(field, response))).toBe('[{"n":1},{"n":3}]')
    expect(text(mutateResponse({ ordinal: 0, kind: 'row', path: [0] }, response))).toBe('[{"n":2}]')
    const header = { ordinal: 0, kind: 'header', name: 'content-range', exact: true } as const
    expect(mutateResponse(header, response)?.headers.get('content-range')).toBe('1-2/3')
    expect(mutateText([['a']], '{"a":true}')).toBe('{"a":false}')
  })

  it('tells where there is nothing to change', () => {
    const field = { ordinal: 0, kind: 'field', paths: [[7, 'n']], exact: true } as const
    expect(mutateResponse(field, response)).toBeNull()
    expect(mutateResponse({ ordinal: 0, kind: 'row', path: [0, 'x', 0] }, response)).toBeNull()
  })

  it('never leaves a status or a value as it was', () => {
    for (const status of [200, 201, 204, 206, 300, 302, 400, 404, 416, 500, 501]) {
      expect(otherStatus(status, true)).not.toBe(status)
      expect(otherStatus(status, false) < 400).toBe(status >= 400)
    }
    for (const value of [null, true, 0, 2 ** 60, '', 'spoiled']) {
      expect(otherValue(value, true)).not.toBe(value)
      expect(typeof otherValue(value, false)).not.toBe(value === null ? 'object' : typeof value)
    }
  })
})

describe('masking', () => {
  const mask = masker([target])

  it('hides keys, tokens and passwords', () => {
    const secrets = [
      'apikey: anonymous-key',
      'authorization: Bearer eyJhbGciOi.eyJzdWIiOi.c2ln',
      '{"password":"hunter22","refresh_token":"r3fresh"}',
      '"{\\"access_token\\":\\"t0ken\\"}"',
      'GET /auth/v1/verify?token=hunter22&type=signup',
      'postgresql://postgres:hunter22@other.example/postgres',
      'sb_secret_hunter22',
      'token of the operator',
      'sbp_v0_0123456789abcdef',
      'set-cookie: session=hunter22',
    ]
    for (const secret of secrets) {
      expect(mask(secret)).not.toMatch(/anonymous-key|eyJ|hunter22|r3fresh|t0ken|operator|0123/)
    }
    expect(maskAll({ a: ['service-key', 1, null] }, mask)).toEqual({ a: ['•••', 1, null] })
  })

  it('leaves the rest', () => {
    expect(mask('GET /rest/v1/tokens?select=name')).toBe('GET /rest/v1/tokens?select=name')
  })
})

describe('reports', () => {
  const nasty = '<script>alert("1 & \'2\'")</script>\u0000'
  const report: Report = {
    ...{
      kit: '1',
      url: 'http://server.example/?<x>',
      about: 'Basalt <1>',
      started: '2026-01-01T00:00:00.000Z',
    },
    ...{ duration: 1, required: [], passed: false, selfCheck: null, comparison: null },
    groups: [
      {
        ...{
          name: 'rest.filter',
          title: nasty,
          interface: 'rest',
          source: 'https://docs.example/',
        },
        outcomes: [outcome('rest.filter.eq', 'differs', nasty), outcome('rest.filter.in', 'holds')],
      },
    ],
  }

  it('escape what servers say', () => {
    for (const text of [htmlReport(report), junitReport(report)]) {
      expect(text).toContain('&lt;script&gt;')
      expect(text).not.toMatch(/<script|\?<x>/)
      expect(text).not.toContain('\u0000')
    }
    expect(htmlReport(report)).toContain('Basalt &lt;1&gt;')
    expect(junitReport(report)).toContain('tests="2" failures="1" errors="0" skipped="0"')
  })

  it('fetch nothing', () => {
    expect(htmlReport(report)).not.toMatch(/<link|<img|<iframe|@import|url\(/)
  })
})

describe('what was asked for', () => {
  const outcomes = [
    outcome('rest.filter.eq', 'differs'),
    outcome('rest.filters.x', 'absent'),
    outcome('rest.page.limit', 'not tried'),
  ]
  const names = (required: string[]) => failures(outcomes, required).map(({ name }) => name)

  it('is that nothing differs, or that the required names hold', () => {
    expect(names([])).toEqual(['rest.filter.eq'])
    expect(names(['rest.page'])).toEqual(['rest.page.limit'])
    expect(names(['rest.filter'])).toEqual(['rest.filter.eq'])
    expect(names(['rest', '-rest.filter'])).toEqual(['rest.filters.x', 'rest.page.limit'])
    expect(isBelow('rest.filters.x', 'rest.filter')).toBe(false)
  })

  it('is understood, or refused', () => {
    const args = ['--url', 'http://a.example/', '--anon-key', 'k', '--require', 'rest, auth']
    expect(parseOptions(args, {})).toMatchObject({
      target: { url: 'http://a.example', anonKey: 'k' },
      require: ['rest', 'auth'],
      jobs: 8,
    })
    const environment = { SUPABASE_URL: 'http://b.example', SUPABASE_ANON_KEY: 'k' }
    expect(parseOptions([], environment).target.url).toBe('http://b.example')
    expect(() => parseOptions(['--url', 'http://a.example'], {})).toThrow(UsageError)
    expect(() => parseOptions([...args, '--jobs', 'many'], {})).toThrow(UsageError)
    expect(() => parseOptions([...args, '--colour'], {})).toThrow(UsageError)
  })

  it('has the platform where there are a token and a project', () => {
    const args = ['--url', 'http://a.example/', '--anon-key', 'k', '--access-token', 't']
    const platform = (...more: string[]) => parseOptions([...args, ...more], {}).target.platform
    expect(platform()).toBeNull()
    const project = ['--project-ref', 'abcdefghijklmnopqrst']
    expect(platform(...project)).toEqual({
      url: 'http://a.example',
      accessToken: 't',
      projectRef: 'abcdefghijklmnopqrst',
    })
    expect(platform(...project, '--platform-url', 'https://b.example/')?.url).toBe(
      'https://b.example',
    )
    expect(() => platform('--project-ref', '../other')).toThrow(UsageError)
    expect(() => platform(...project, '--platform-url', 'b.example')).toThrow(UsageError)
  })
})

describe('comparing', () => {
  it('shows the cases with another outcome, and looks over names of one run', () => {
    const here = [
      outcome('a', 'holds'),
      outcome('b', 'differs', 'conformance_0123abcd_7_x'),
      outcome('c', 'differs', 'red'),
    ]
    const there = [
      outcome('a', 'absent'),
      outcome('b', 'differs', 'conformance_4567abcd_9_x'),
      outcome('c', 'differs', 'blue'),
    ]
    expect(contrasts(here, there).map(({ name }) => name)).toEqual(['a', 'c'])
  })
})

describe('cases', () => {
  it('have names that are there once, and a source', async () => {
    const groups = await loadGroups()
    expect(groups.length).toBeGreaterThan(10)
    const cases = groups.flatMap((one) => one.cases)
    expect(select(cases, ['rest.filter.in']).map(({ name }) => name)).toContain(
      'rest.filter.in.quoted',
    )
    expect(() => select(cases, ['rest.filt'])).toThrow('no case')
    expect(() => checkNames([...groups, ...groups])).toThrow('there twice')
    const wrong = group('rest.wrong', { title: 'Wrong', source: 'the docs' })
    expect(() => wrong.case('name', 'a promise', () => undefined)).toThrow('a source is a URL')
    expect(() => group('wrong.name', { title: 'Wrong', source: 'https://docs.example/' })).toThrow()
  })
})
