import { setMaxListeners } from 'node:events'

import type { Case, Group } from './case.ts'
import { Context } from './context.ts'
import { Absent, type Check, Difference, SetUpError, setUpFailed, display } from './difference.ts'
import { requestText } from './assertions.ts'
import type { Need } from './needs.ts'
import type { Recorder } from './recorder.ts'
import type { Mutation } from './mutation.ts'
import type { Interface, Target } from './target.ts'

/** `differs`: the server does otherwise than promised. `absent`: it does not have the whole feature. */
export type State = 'holds' | 'differs' | 'absent' | 'not tried'

/** A response or message that a case has seen, for the report. */
interface TranscriptEntry {
  request: string
  response: string
}

/** The outcome of a case. */
export interface Outcome {
  name: string
  interface: Interface
  group: string
  promise: string
  source: string
  state: State
  /** Why it is absent or was not tried. */
  reason: string
  /** What was checked and held. */
  checks: readonly Check[]
  /** What was checked and did not hold. */
  difference: Check | null
  sights: readonly TranscriptEntry[]
  /** Whether it was tried a second time, alone, since it did not hold among the others. */
  again: boolean
  /** Milliseconds. */
  duration: number
  /** What the case has to notice; see the self-check. */
  mutations: readonly Mutation[]
  /** Whether the mutation of this run has been applied. */
  isMutated: boolean
}

/** How a run is carried out. */
interface RunOptions {
  jobs: number
  /** Seconds that a case may take. */
  timeout: number
  /** Ends the run: what has begun is undone, the rest is not tried. */
  signal: AbortSignal
  onOutcome?: (outcome: Outcome) => void
}

/** The most cases that are tried a second time: where more fail, the server does. */
const retryLimit = 30

/** The most sights of one case that are reported. */
const transcriptLimit = 40

/** How long the undoing of one case may take, in milliseconds. */
const endLimit = 20_000

/** Runs cases against one server. */
export class Runner {
  readonly #probes = new Map<string, Promise<string>>()

  constructor(
    private readonly target: Target,
    private readonly groups: readonly Group[],
    private readonly missing: ReadonlyMap<Need, string>,
    private readonly options: RunOptions,
  ) {
    // Each case listens for the end of the run.
    setMaxListeners(0, options.signal)
  }

  /**
   * Runs cases, at most `jobs` at once; those that run alone come last. What fails then is tried once more by itself: a
   * machine that is busy breaks time limits.
   */
  async all(cases: readonly Case[]): Promise<Outcome[]> {
    const outcomes = new Map<string, Outcome>()
    const run = async (one: Case) => {
      const outcome = await this.one(one)
      outcomes.set(one.name, outcome)
      this.options.onOutcome?.(outcome)
    }
    await pool(
      cases.filter(({ alone }) => !alone),
      this.options.jobs,
      run,
    )
    await pool(
      cases.filter(({ alone }) => alone),
      1,
      run,
    )
    const failed = cases.filter(({ name }) => hasFailed(outcomes.get(name)))
    if (failed.length <= retryLimit) {
      for (const one of failed) {
        if (this.options.signal.aborted) break
        outcomes.set(one.name, { ...(await this.one(one)), again: true })
      }
    }
    return cases.flatMap(({ name }) => outcomes.get(name) ?? [])
  }

  /** Runs one case. With a mutation, one response is not what the server sent, and waiting takes `patience` at most. */
  async one(one: Case, options: { mutation?: Mutation; patience?: number } = {}): Promise<Outcome> {
    if (this.options.signal.aborted) return outcomeOf(one, 'not tried', 'the run was ended')
    const lack = one.needs.map((need) => this.missing.get(need)).find((reason) => reason)
    if (lack !== undefined) return outcomeOf(one, 'not tried', lack)
    const absence = await this.#absence(one)
    if (absence !== '') return outcomeOf(one, 'absent', absence)

    const context = new Context(this.target, one.interface, options)
    const begin = performance.now()
    const ending = await this.#ending(one, context)
    const duration = Math.round(performance.now() - begin)
    const { checks, mutations } = context.assertions
    await within(context.end(), endLimit)
    const { isMutated } = context.recorder
    const sights = transcriptOf(context.recorder)
    return {
      ...outcomeOf(one, 'holds', ''),
      checks,
      mutations,
      sights,
      duration,
      isMutated,
      ...ending,
    }
  }

  async #ending(one: Case, context: Context): Promise<Partial<Outcome>> {
    const seconds = one.timeout ?? this.options.timeout
    try {
      const ended = new Promise<never>((_, reject) => {
        this.options.signal.addEventListener('abort', () => {
          reject(new SetUpError('the run was ended'))
        })
      })
      const late = new Promise<never>((_, reject) => {
        setTimeout(() => {
          reject(new Difference(withoutResponse(context.recorder, seconds)))
        }, seconds * 1000).unref()
      })
      // Where the case itself throws at once, nobody waits for these.
      for (const other of [late, ended]) other.catch(() => undefined)
      await Promise.race([one.run(context), late, ended])
      return { state: 'holds' }
    } catch (error) {
      if (error instanceof Absent) return { state: 'absent', reason: error.message }
      if (error instanceof SetUpError) return { state: 'not tried', reason: error.message }
      if (error instanceof Difference) return { state: 'differs', difference: error.check }
      const last = context.recorder.exchanges.at(-1)
      const request = last ? requestText(last) : one.name
      return {
        state: 'differs',
        difference: { request, expected: one.promise, got: display(error) },
      }
    }
  }

  /** Returns why the server does not have the case's interface or group; empty where it has. */
  async #absence({ interface: name, group }: Case): Promise<string> {
    const whole = await this.#probe(name, name, (t) => probeInterface(t, name))
    if (whole !== '') return whole
    const probe = this.groups.find((one) => one.name === group)?.traits.probe
    return probe ? this.#probe(group, name, probe) : ''
  }

  #probe(key: string, name: Interface, run: (t: Context) => unknown): Promise<string> {
    const known = this.#probes.get(key)
    if (known) return known
    const probe = this.#probed(name, run)
    this.#probes.set(key, probe)
    return probe
  }

  async #probed(name: Interface, run: (t: Context) => unknown): Promise<string> {
    const context = new Context(this.target, name)
    try {
      // One that gets no response decides nothing, either.
      await within(Promise.resolve(run(context)), this.options.timeout * 1000)
      return ''
    } catch (error) {
      // A probe that fails in another way decides nothing: the cases will show the failure.
      return error instanceof Absent ? error.message : ''
    } finally {
      await within(context.end(), endLimit)
    }
  }
}

/** Returns whether a case is worth a second try: it differs, or what it needs could not be set up. */
function hasFailed(outcome: Outcome | undefined): boolean {
  if (outcome?.state === 'not tried') return outcome.reason.startsWith(setUpFailed)
  return outcome?.state === 'differs'
}

/** Calls `run` for each item, at most `limit` at once. */
export async function pool<T>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}

/** Asks each interface for what every server with it has. */
async function probeInterface(t: Context, name: Interface): Promise<void> {
  const paths: Partial<Record<Interface, string>> = {
    rest: '/rest/v1/',
    auth: '/auth/v1/settings',
    storage: '/storage/v1/bucket',
  }
  const path = paths[name]
  if (path !== undefined) {
    t.present(await t.get(path, { as: t.target.serviceKey === '' ? 'anon' : 'service' }))
  } else if (name === 'realtime') {
    const key = encodeURIComponent(t.target.anonKey)
    t.present(await t.handshake(`/realtime/v1/websocket?apikey=${key}&vsn=1.0.0`))
  } else if (name === 'platform') {
    t.present(await t.get('projects'))
  }
  // Functions have no such request: a server may have none but the kit's own. The need "functions" finds that out.
}

function outcomeOf(one: Case, state: State, reason: string): Outcome {
  const { name, interface: own, group, promise, source } = one
  return {
    ...{ name, interface: own, group, promise, source, state, reason },
    ...{ checks: [], difference: null, sights: [], duration: 0, mutations: [], isMutated: false },
    again: false,
  }
}

function withoutResponse(recorder: Recorder, seconds: number): Check {
  const open = recorder.exchanges.find(({ status }) => status === 0) ?? recorder.exchanges.at(-1)
  const request = open ? requestText(open) : 'no request was sent'
  return { request, expected: `an end within ${seconds} s`, got: 'still waiting' }
}

function transcriptOf({ exchanges, messages }: Recorder): TranscriptEntry[] {
  const responses = exchanges.map((exchange) => ({
    request: requestText(exchange),
    response: [
      exchange.status === 0 ? 'no response' : String(exchange.status),
      ...[...exchange.headers].map(([name, value]) => `${name}: ${value}`),
      '',
      display(bodyOf(exchange.body)),
    ].join('\n'),
  }))
  const frames = messages.map(({ direction, text }) =>
    direction === 'sent'
      ? { request: `WebSocket: ${display(text)}`, response: '' }
      : { request: '', response: `WebSocket: ${display(text)}` },
  )
  return [...responses, ...frames].slice(0, transcriptLimit)
}

function bodyOf(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, 4000))
  return text.includes('\u0000') || text.includes('\ufffd') ? `(${body.length} bytes)` : text
}

async function within(work: Promise<unknown>, limit: number): Promise<void> {
  await Promise.race([work, new Promise<void>((resolve) => setTimeout(resolve, limit).unref())])
}
