import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { group } from '../src/case.ts'
import { partly } from '../src/match.ts'
import { Runner } from '../src/runner.ts'
import { selfCheck } from '../src/selfcheck.ts'
import type { Target } from '../src/target.ts'

const source = 'https://docs.example/'
const some = group('rest.some', { title: 'Some', source })
const missing = group('rest.missing', {
  title: 'Missing',
  source,
  probe: async (t) => {
    t.present(await t.get('missing'))
  },
})

some.case('whole', 'all is judged', (t) =>
  t
    .get('rows')
    .is(200, [{ n: 1 }, { n: 2 }])
    .header('x-kind', 'rows'),
)
some.case('client', 'a client judges all', async (t) => {
  t.data(await t.anon.from('rows').select(), [{ n: 1 }, { n: 2 }])
})
some.case('lazy', 'the length alone is compared', async (t) => {
  const { data } = await t.anon.from('rows').select()
  t.equal((data ?? []).length > 0, true)
})
some.case('blind', 'the response is read and not compared', async (t) => {
  const result = await t.anon.from('rows').select()
  if (result.data?.length === 0) t.data(result, [])
})
some.case('partial', 'a result is taken as it comes', async (t) => {
  const { data } = await t.anon.from('rows').select()
  t.equal((data?.at(-1) as unknown) ?? { n: 2 }, partly({ n: 2 }))
})
some.case('either', 'one of several statuses is promised', (t) => t.get('rows').is([200, 204]))
some.case('coded', 'a mail holds a code', async (t) => {
  const code = await t.mails('coded@example.com').code()
  await t.get(`rows?code=${code}`).header('x-code', '123456')
})
some.case('codeless', 'a mail holds a code', async (t) => {
  await t.mails('codeless@example.com').code()
})
some.case('neither', 'none of several statuses comes', (t) => t.get('rows').is([201, 204]))
some.case('differs', 'another row is promised', (t) => t.get('rows').is(200, [{ n: 3 }]))
some.case('throws', 'a mistake of a library is a difference', () => {
  throw new TypeError('no such thing')
})
some.case('slow', 'a response comes in time', { timeout: 1 }, (t) => t.get('never').is(200))
some.case('unset', 'the set-up works', async (t) => {
  await t.prepare('POST', '/rest/v1/missing')
})
some.case('needy', 'a database is there', { needs: ['db'] }, () => undefined)
missing.case('one', 'the feature works', (t) => t.get('missing').is(200))

/** Returns the response of a Mailpit: a mail to `coded@example.com` has a code, others a link with digits alone. */
function mailResponse(pathname: string, query: URLSearchParams): unknown {
  const link = 'http://server.example/auth/v1/verify?token=654321'
  if (pathname.endsWith('/search')) {
    return { messages: [{ ID: query.get('query')?.includes('codeless') ? 'codeless' : 'coded' }] }
  }
  if (!pathname.includes('/message/')) return undefined
  return { Subject: 'Hello', Text: pathname.endsWith('/coded') ? `${link} or 123456` : link }
}

describe('a run', () => {
  let server: Server
  let target: Target
  let runner: Runner
  const cases = [...some.cases, ...missing.cases]
  const undone: string[] = []

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url?.includes('never')) return
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://server.example')
      if (pathname.includes('missing')) response.statusCode = 404
      response.setHeader('content-type', 'application/json').setHeader('x-kind', 'rows')
      response.setHeader('x-code', searchParams.get('code') ?? '')
      response.setHeader('x-authorization', request.headers.authorization ?? '')
      response.end(JSON.stringify(mailResponse(pathname, searchParams) ?? [{ n: 1 }, { n: 2 }]))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    target = {
      ...{ url: `http://127.0.0.1:${port}`, anonKey: 'anon', serviceKey: 'service' },
      ...{ databaseUrl: '', mailUrl: `http://127.0.0.1:${port}`, jwtSecret: '', s3: null },
      platform: { url: `http://127.0.0.1:${port}`, accessToken: 'operator', projectRef: '' },
    }
    const { signal } = new AbortController()
    const lacking = new Map([['db', 'needs a database']] as const)
    runner = new Runner(target, [some, missing], lacking, { jobs: 4, timeout: 5, signal })
  })

  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  it('gives each case its state', async () => {
    const states = (await runner.all(cases)).map(({ name, state }) => [name, state])
    expect(Object.fromEntries(states)).toEqual({
      'rest.some.whole': 'holds',
      'rest.some.client': 'holds',
      'rest.some.lazy': 'holds',
      'rest.some.blind': 'holds',
      'rest.some.partial': 'holds',
      'rest.some.either': 'holds',
      'rest.some.coded': 'holds',
      'rest.some.codeless': 'not tried',
      'rest.some.neither': 'differs',
      'rest.some.differs': 'differs',
      'rest.some.throws': 'differs',
      'rest.some.slow': 'differs',
      'rest.some.unset': 'not tried',
      'rest.some.needy': 'not tried',
      'rest.missing.one': 'absent',
    })
  })

  it('tries once more what fails', async () => {
    const own = group('rest.busy', { title: 'Busy', source })
    let tries = 0
    own.case('late', 'it holds on a machine that is not busy', (t) => {
      tries += 1
      t.equal(tries, 2)
    })
    own.case('never', 'it does not hold', (t) => {
      t.equal(1, 2)
    })
    const outcomes = await runner.all([...own.cases, ...some.cases.slice(0, 1)])
    expect(outcomes.map(({ state, again }) => [state, again])).toEqual([
      ['holds', true],
      ['differs', true],
      ['holds', false],
    ])
  })

  it('shows what was requested, promised and returned', async () => {
    const [outcome] = await runner.all(cases.filter(({ name }) => name.endsWith('.differs')))
    expect(outcome?.difference?.request).toContain('GET /rest/v1/rows')
    expect(outcome?.difference?.expected).toBe('[{"n":3}]')
    expect(outcome?.difference?.got).toContain('[{"n":1},{"n":2}]')
  })

  it('sends the access token to the platform only', async () => {
    const own = group('platform.own', { title: 'Own', source })
    own.case('token', 'the operator asks the platform', async (t) => {
      await t.get('projects').header('x-authorization', 'Bearer operator')
      await t.get('/functions/v1/any').header('x-authorization', 'Bearer anon')
      await t.get('projects', { as: 'nobody' }).header('x-authorization', '')
    })
    const [outcome] = await runner.all(own.cases)
    expect(outcome?.difference).toBeNull()
    expect(outcome?.state).toBe('holds')
  })

  it('undoes what a case has made, the last first, whatever the outcome', async () => {
    const own = group('rest.own', { title: 'Own', source })
    own.case('undone', 'what is made is undone', async (t) => {
      t.after(() => undone.push('first'))
      t.after(() => {
        throw new Error('this one fails')
      })
      t.after(() => undone.push('last'))
      await t.get('rows').is(500)
    })
    await Promise.all(own.cases.map((one) => runner.one(one)))
    expect(undone).toEqual(['last', 'first'])
  })

  it('lists the cases that do not notice a spoilt response', async () => {
    const pending = cases.filter(({ name }) => !name.endsWith('.slow'))
    const outcomes = await runner.all(pending)
    const { unnoticed } = await selfCheck(runner, pending, outcomes, 4, () => undefined)
    const names = unnoticed.map(({ name }) => name)
    expect([...new Set(names)]).toEqual(['rest.some.blind', 'rest.some.lazy', 'rest.some.partial'])
  })
})
