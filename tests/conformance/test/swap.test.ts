import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { describe, expect, it, vi } from 'vitest'

import { group } from '../src/case.ts'
import { isBelow, loadGroups } from '../src/load.ts'
import { partly } from '../src/match.ts'
import { parseOptions, UsageError } from '../src/options.ts'
import type { Outcome, State } from '../src/runner.ts'
import { casesOf, isLacking, featureReports } from '../src/swap/check.ts'
import { swapCheck } from '../src/swap/command.ts'
import type { Database } from '../src/swap/facts.ts'
import { casePrefixes, features } from '../src/swap/features.ts'
import { swapTable } from '../src/swap/report.ts'
import { byFeature, type UsedFeature } from '../src/swap/use.ts'

describe('the verdict', () => {
  const used = (feature: string, name = '', things: readonly string[] = []): UsedFeature => {
    return { feature, name, things, places: [{ file: 'a.sql', line: 3 }] }
  }
  const outcome = (name: string, state: State): Outcome => ({
    ...{ name, interface: 'rest', group: 'rest.x', promise: 'a promise', state, difference: null },
    ...{ source: 'https://docs.example/', reason: '', checks: [], sights: [] },
    ...{ duration: 5, again: false, mutations: [], isMutated: false },
  })
  const database: Database = {
    ...{ version: 17, walLevel: 'replica', isSuperuser: false, user: 'postgres' },
    ...{ extensions: new Set(['vector']), roles: new Set(['anon']), schemas: new Set(['auth']) },
    ...{ publications: new Set<string>(), objects: new Set(['auth.uid']) },
  }
  const nothing = { auth: null, database: null }
  const verdicts = (...all: Parameters<typeof featureReports>) =>
    featureReports(...all).map(({ verdict }) => verdict)

  it('comes from the cases that try the feature', () => {
    const all = [
      used('rest.text-search'),
      used('rest.aggregates'),
      used('rest.domains'),
      used('rest.views'),
      used('auth.hook', 'send_sms'),
    ]
    const outcomes = [
      outcome('rest.search.text', 'holds'),
      outcome('rest.search.web', 'differs'),
      outcome('rest.aggregate.sum', 'absent'),
      outcome('rest.domain.read', 'holds'),
      outcome('rest.domain.write', 'not tried'),
      { ...outcome('rest.embed.view', 'not tried'), reason: 'needs a key' },
    ]
    expect(verdicts(all, outcomes, nothing)).toEqual([
      'differs',
      'absent',
      'holds',
      'not known',
      'not known',
    ])
    expect(featureReports(all, outcomes, nothing)[0]?.failures.map(({ name }) => name)).toEqual([
      'rest.search.web',
    ])
    expect(featureReports(all, outcomes, nothing).filter(isLacking)).toHaveLength(2)
    const [views, hook] = featureReports(all, outcomes, nothing).slice(3)
    expect(views).toMatchObject({ cases: 1, tried: 0, untried: ['needs a key'], notes: [] })
    expect(hook).toMatchObject({ cases: 0, notes: ['no case tries it'] })
  })

  it('is not known where most cases could not be tried', () => {
    const search = [
      outcome('rest.search.text', 'holds'),
      ...['web', 'plain'].map((name) => outcome(`rest.search.${name}`, 'not tried')),
    ]
    expect(verdicts([used('rest.text-search')], search, nothing)).toEqual(['not known'])
    expect(verdicts([used('rest.text-search')], search.slice(0, 2), nothing)).toEqual(['holds'])
  })

  it('comes from what the database and the settings say', () => {
    const all = [
      used('extension', 'vector'),
      used('extension', 'plv8'),
      used('database.version', '15'),
      used('database.roles', '', ['anon', 'editors']),
      used('database.schema', 'auth', ['auth.uid']),
      used('database.schema', 'storage', ['storage.objects']),
      used('database.replication'),
      used('database.superuser'),
      used('database.event-triggers'),
    ]
    expect(verdicts(all, [], { auth: null, database })).toEqual([
      ...[
        'holds',
        'absent',
        'differs',
        'differs',
        'holds',
        'absent',
        'differs',
        'differs',
        'not known',
      ],
    ])
    const external = { google: true, apple: false }
    const auth = { external, disable_signup: false, saml_enabled: false }
    const providers = ['google', 'apple', 'fax'].map((name) => used('auth.provider', name))
    expect(verdicts(providers, [], { auth, database: null })).toEqual([
      'holds',
      'differs',
      'absent',
    ])
    const tried = [outcome('auth.authorize.redirect', 'differs')]
    expect(verdicts(providers.slice(0, 1), tried, { auth, database: null })).toEqual(['differs'])
  })

  it('asks only for what is used', () => {
    const some = group('rest.aggregate', { title: 'Some', source: 'https://docs.example/' })
    const other = group('rest.aggregates', { title: 'Other', source: 'https://docs.example/' })
    for (const one of [some, other]) one.case('sum', 'a promise', () => undefined)
    const cases = [...some.cases, ...other.cases]
    expect(casesOf(cases, [used('rest.aggregates')]).map(({ name }) => name)).toEqual([
      'rest.aggregate.sum',
    ])
  })

  it('is a table that names the cases that failed', () => {
    const all = [used('rest.text-search'), used('extension', 'plv8')]
    const reports = featureReports(all, [outcome('rest.search.web', 'differs')], {
      auth: null,
      database,
    })
    const report = {
      kit: '1',
      project: '/p',
      url: 'http://a.example',
      started: '',
      passed: false,
      features: reports,
    }
    expect(swapTable(report, false).split('\n')).toEqual([
      'feature           used at  on the target',
      'rest.text-search  a.sql:3  differs',
      '    1 of 1 case: rest.search.web',
      'extension plv8    a.sql:3  absent: plv8 cannot be created',
      '',
      '2 features used (1 differs, 1 absent): http://a.example lacks 2 of them, or has them otherwise',
      '',
    ])
    const lacking = {
      ...outcome('rest.search.web', 'not tried'),
      reason: 'needs a database (--db-url)',
    }
    const untried = { ...report, features: featureReports(all, [lacking], nothing) }
    expect(swapTable(untried, false).split('\n').slice(1, 3)).toEqual([
      'rest.text-search  a.sql:3  not known: 1 of 1 case not tried: needs --db-url',
      'extension plv8    a.sql:3  not known: needs --db-url',
    ])
    expect(swapTable({ ...report, url: '', passed: null }, false)).not.toContain('absent')
  })

  it('has all places of a feature once, in the order of the table', () => {
    const use = { name: '', thing: '', file: 'a.sql', line: 1 }
    const uses = ['rest.views', 'rest.tables', 'rest.views'].map((feature) => ({ ...use, feature }))
    const found = byFeature(
      [...uses, { ...use, feature: 'rest.views', line: 2, thing: 'v' }],
      Object.keys(features),
    )
    expect(found.map(({ feature }) => feature)).toEqual(['rest.tables', 'rest.views'])
    expect(found[1]).toMatchObject({ things: ['v'], places: [{ line: 1 }, { line: 2 }] })
  })
})

describe('the table of features', () => {
  /** The names of uses that a feature's prefixes are made with; without one here, the name plays no part. */
  const usedNames: Record<string, string[]> = { 'auth.web3': ['ethereum', 'solana'] }

  it('names nothing that no case is below', async () => {
    const cases = (await loadGroups()).flatMap((one) => one.cases)
    const prefixes = Object.keys(features).flatMap((feature) =>
      (usedNames[feature] ?? ['']).flatMap((name) => casePrefixes(feature, name)),
    )
    const stale = prefixes.filter((prefix) => !cases.some(({ name }) => isBelow(name, prefix)))
    expect(stale).toEqual([])
  })
})

describe('a check', () => {
  const search = group('rest.search', { title: 'Search', source: 'https://docs.example/' })
  search.case('text', 'a search finds rows', (t) => t.get('rows').is(200, [partly({ n: 1 })]))
  search.case('web', 'a search finds none', (t) => t.get('rows').is(200, []))
  const unused = group('rest.aggregate', { title: 'Unused', source: 'https://docs.example/' })
  unused.case('sum', 'a sum is there', (t) => t.get('sums').is(200, []))

  /** Runs the command for a project, and returns its result, table and JSON. */
  async function checked(sql: string, url: string) {
    const folder = await mkdtemp(path.join(tmpdir(), 'swap-'))
    const written: string[] = []
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.push(String(text))
      return true
    })
    try {
      await writeFile(path.join(folder, 'config.toml'), '[auth.external.google]\nenabled = true')
      await writeFile(path.join(folder, 'seed.sql'), sql)
      const json = path.join(folder, 'report.json')
      const at = url === '' ? [] : ['--url', url, '--anon-key', 'anonymous-key']
      const options = parseOptions(
        ['swap', 'check', '--project', folder, '--json', json, ...at],
        {},
      )
      const { signal } = new AbortController()
      const passed = await swapCheck('1', [search, unused], options, signal)
      return { passed, table: written.join(''), json: await readFile(json, 'utf8') }
    } finally {
      write.mockRestore()
      await rm(folder, { recursive: true })
    }
  }

  it('asks a server for what is used, and hides its key', async () => {
    const requestedPaths: string[] = []
    const server = createServer((request, response) => {
      requestedPaths.push(request.url ?? '')
      const settings = { external: { google: true }, disable_signup: false, saml_enabled: false }
      const isSettings = request.url?.endsWith('/settings') === true
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(isSettings ? settings : [{ n: 1, key: request.headers.apikey }]))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const found = await checked('create table t (words tsvector);', url)
      expect(found.passed).toBe(false)
      expect(found.table).toMatch(/^rest\.tables +seed\.sql:1 +not known: no case tries it$/m)
      expect(found.table).toMatch(/^rest\.text-search +seed\.sql:1 +differs$/m)
      expect(found.table).toMatch(/^ +1 of 2 cases: rest\.search\.web$/m)
      expect(found.table).toMatch(/^auth\.provider google +config\.toml:2 +holds$/m)
      expect(found.json).toContain('"got"')
      expect(found.table + found.json).not.toContain('anonymous-key')
      expect(requestedPaths.some((path) => path.includes('sums'))).toBe(false)
      expect((await checked('', url)).passed).toBe(true)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('only lists what is used where no server is named', async () => {
    const found = await checked('create table t (id int);', '')
    expect(found).toMatchObject({ passed: true })
    expect(found.table).toMatch(/^rest\.tables +seed\.sql:1$/m)
    expect(JSON.parse(found.json)).toMatchObject({ passed: null, url: '' })
  })

  it('says where no server responds', async () => {
    await expect(checked('', 'http://127.0.0.1:9')).rejects.toThrow('does not respond')
  })
})

describe('the command line', () => {
  it('of swap check is understood, or refused', () => {
    expect(parseOptions(['swap', 'check'], {})).toMatchObject({
      action: 'swap-check',
      project: '.',
    })
    const args = ['swap', 'check', '--project', 'x', '--url', 'http://a.example', '--json', 'f']
    expect(() => parseOptions(args, {})).toThrow('--anon-key')
    expect(parseOptions([...args, '--anon-key', 'k'], {})).toMatchObject({
      project: 'x',
      json: 'f',
    })
    for (const wrong of [
      ['--html', 'f'],
      ['--only', 'rest'],
      ['--compare', 'x'],
      ['--db-url', 'x'],
      ['more'],
    ]) {
      expect(() => parseOptions(['swap', 'check', ...wrong], {}), wrong[0]).toThrow(UsageError)
    }
    expect(() => parseOptions(['--project', 'x'], {})).toThrow(UsageError)
    expect(() => parseOptions(['swap'], {})).toThrow(UsageError)
  })
})
