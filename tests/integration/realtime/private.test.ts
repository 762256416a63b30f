/** Channels that policies on `realtime.messages` open, and tokens that change while they are. */
import { REALTIME_SUBSCRIBE_STATES } from '@supabase/supabase-js'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { connect } from '../../support/client.ts'
import {
  inSeconds,
  isOwn,
  moment,
  post,
  signed,
  somebody,
  sql,
  token,
  unique,
  Wires,
} from './stage.ts'

const wires = new Wires()
afterEach(() => wires.close())

const ok = { status: 'ok', response: {} }
const joined = { status: 'ok', response: { postgres_changes: [] } }
const refusal = (reason: string) => ({ status: 'error', response: { reason } })
const unreadable = (name: string) =>
  refusal(`Unauthorized: You do not have permissions to read from this Channel topic: ${name}`)
const shut = (name: string, message: string) => ({
  extension: 'system',
  status: 'error',
  message,
  channel: name,
})

const PRIVATE = { private: true }
const WITH_PRESENCE = { private: true, presence: { enabled: true } }

const update = (access_token: unknown) => ({ access_token })

/**
 * Rights by user and topic. Who may do what is a row of a table, so that tests give and take rights without changes of
 * policies, which would affect other tests.
 */
const policies = `
  create table public.rt_rights (who text, topic text, extension text, can text);
  alter table public.rt_rights enable row level security;
  create policy "seen by all" on public.rt_rights for select using (true);
  grant select on public.rt_rights to anon, authenticated;
  create policy rt_read on realtime.messages for select to authenticated using (exists (
    select from public.rt_rights r where r.who = coalesce(auth.uid()::text, '') and r.topic = realtime.topic()
      and r.can = 'read' and r.extension = realtime.messages.extension));
  create policy rt_write on realtime.messages for insert to authenticated with check (exists (
    select from public.rt_rights r where r.who = coalesce(auth.uid()::text, '') and r.topic = realtime.topic()
      and r.can = 'write' and r.extension = realtime.messages.extension));
  create policy rt_raises on realtime.messages for select to authenticated using (
    case when realtime.topic() like 'rt-raises%' then (1 / (length(realtime.topic()) * 0))::boolean else false end)`

/** Lets somebody do something on a topic. */
const allow = (who: string, topic: string, ...rights: string[]) =>
  sql(
    `insert into public.rt_rights values ${rights
      .map((right) => right.split(' '))
      .map(([can = '', extension = '']) => `('${who}', '${topic}', '${extension}', '${can}')`)
      .join(', ')}`,
  )

const ALL = ['read broadcast', 'write broadcast', 'read presence', 'write presence']

describe.skipIf(!isOwn)('a private channel', () => {
  beforeAll(async () => {
    await sql(policies)
  })
  afterAll(async () => {
    await sql(`
      drop policy rt_read on realtime.messages; drop policy rt_write on realtime.messages;
      drop policy rt_raises on realtime.messages; drop table public.rt_rights`)
  })

  /** Returns somebody who has those rights on a topic of a new name. */
  async function member(name: string, ...rights: string[]) {
    const person = await somebody()
    if (rights.length > 0) await allow(person.id, name, ...rights)
    return { ...person, wire: await wires.add() }
  }

  test('carries broadcasts between those who may', async () => {
    const name = unique('room')
    const [one, two] = [await member(name, ...ALL), await member(name, ...ALL)]
    expect(await one.wire.join(name, { ...PRIVATE, broadcast: { ack: true } }, one)).toEqual(joined)
    expect(await two.wire.join(name, PRIVATE, two)).toEqual(joined)
    expect(await one.wire.reply(one.wire.broadcast(name, 'text', { n: 1 }))).toEqual(ok)
    expect(await one.wire.reply(one.wire.binary(name, 'binary', { n: 2 }))).toEqual(ok)
    await two.wire.receiveBroadcast(name, 'text')
    await two.wire.receiveBinaryBroadcast(name, 'binary')
    expect(await sql(`select count(*) from realtime.messages where topic = '${name}'`)).toBe('0')
  })

  test('takes what is sent right behind its join', async () => {
    const name = unique('room')
    const [one, two] = [await member(name, ...ALL), await member(name, ...ALL)]
    await two.wire.mustJoin(name, PRIVATE, two)
    const join = one.wire.sendJoin(name, { ...PRIVATE, broadcast: { ack: true } }, one)
    const track = { type: 'presence', event: 'track', payload: {} }
    const sent = [
      one.wire.broadcast(name, 'first', {}),
      one.wire.send(`realtime:${name}`, 'presence', track),
      one.wire.binary(name, 'second', {}),
    ]
    for (const ref of [join, ...sent]) {
      expect(await one.wire.reply(ref)).toMatchObject({ status: 'ok' })
    }
    await two.wire.receiveBroadcast(name, 'first')
    await two.wire.receiveBinaryBroadcast(name, 'second')
    // A refused join takes along what was sent behind it.
    const closed = unique('room')
    const rejection = one.wire.sendJoin(closed, PRIVATE, one)
    const lost = one.wire.broadcast(closed, 'lost', {})
    expect(await one.wire.reply(rejection)).toEqual(unreadable(closed))
    expect(await one.wire.reply(lost)).toEqual(refusal('unmatched topic'))
  })

  test('is closed to those who may nothing', async () => {
    const name = unique('room')
    const person = await member(name)
    await allow(person.id, name, 'write broadcast', 'write presence')
    expect(await person.wire.join(name, PRIVATE, person)).toEqual(unreadable(name))
    expect(await person.wire.join(name, WITH_PRESENCE, person)).toEqual(unreadable(name))
    expect(await person.wire.join(name, PRIVATE)).toEqual(unreadable(name))
    // Messages of the public channel of the same name do not reach it.
    expect(await person.wire.join(name, {}, person)).toEqual(joined)
  })

  test('is closed to roles that there are not, and where a policy fails', async () => {
    const wire = await wires.add()
    const name = unique('rt-raises')
    expect(await wire.join(name, PRIVATE, await somebody())).toEqual(unreadable(name))
    const nobody = { token: await token({ role: 'nobody_knows_this_role' }) }
    const room = unique('room')
    expect(await wire.join(room, PRIVATE, nobody)).toEqual(unreadable(room))
    expect(await wire.join(room, {}, nobody)).toMatchObject({
      status: expect.any(String) as string,
    })
    await wire.flush()
  })

  test('is open to the service’s role', async () => {
    const wire = await wires.add({ key: inject('access').serviceKey })
    const name = unique('room')
    expect(await wire.join(name, WITH_PRESENCE)).toEqual(joined)
  })

  test('takes broadcasts only from those who may write', async () => {
    const name = unique('room')
    const reader = await member(name, 'read broadcast')
    const writer = await member(name, ...ALL)
    await reader.wire.mustJoin(name, { ...PRIVATE, broadcast: { ack: true } }, reader)
    await writer.wire.mustJoin(name, PRIVATE, writer)
    const refs = [reader.wire.broadcast(name, 'text', {}), reader.wire.binary(name, 'binary', {})]
    await moment()
    await reader.wire.flush()
    expect(reader.wire.received.filter(({ ref }) => refs.includes(String(ref)))).toEqual([])
    writer.wire.broadcast(name, 'after', {})
    await reader.wire.receiveBroadcast(name, 'after')
    expect(writer.wire.received).toEqual([])
  })

  test('shows presence only to those who may read it', async () => {
    const name = unique('room')
    const all = await member(name, ...ALL)
    const onlyPresence = await member(name, 'read presence')
    const onlyBroadcast = await member(name, 'read broadcast')
    await all.wire.mustJoin(name, WITH_PRESENCE, all)
    // Without presence enabled nothing can be read.
    expect(await onlyPresence.wire.join(name, PRIVATE, onlyPresence)).toEqual(unreadable(name))
    await onlyPresence.wire.mustJoin(name, WITH_PRESENCE, onlyPresence)
    await onlyBroadcast.wire.mustJoin(name, WITH_PRESENCE, onlyBroadcast)

    const track = { type: 'presence', event: 'track', payload: { here: true } }
    const topic = `realtime:${name}`
    expect(await all.wire.reply(all.wire.send(topic, 'presence', track))).toEqual(ok)
    await all.wire.event(name, 'presence_diff')
    await onlyPresence.wire.event(name, 'presence_diff')
    all.wire.broadcast(name, 'shout', {})
    await onlyBroadcast.wire.receiveBroadcast(name, 'shout')
    await moment()
    const events = (wire: typeof all.wire) => wire.received.map(({ event }) => event)
    expect(events(onlyPresence.wire)).toEqual(['presence_state'])
    expect(events(onlyBroadcast.wire)).toEqual([])

    for (const { wire } of [onlyPresence, onlyBroadcast])
      expect(await wire.reply(wire.send(topic, 'presence', track))).toEqual({
        status: 'error',
        response: {},
      })
    const late = await member(name, ...ALL)
    await late.wire.mustJoin(name, WITH_PRESENCE, late)
    const { payload } = await late.wire.event(name, 'presence_state')
    expect(Object.values(payload as object)).toHaveLength(1)
  })

  test('hears nothing of the public one of the same name, and the reverse', async () => {
    const name = unique('room')
    const [one, two] = [await member(name, ...ALL), await member(name, ...ALL)]
    const [open, other] = [await wires.add(), await wires.add()]
    for (const { wire, ...join } of [one, two]) await wire.mustJoin(name, WITH_PRESENCE, join)
    for (const wire of [open, other]) await wire.mustJoin(name, { presence: { enabled: true } })
    for (const { wire } of [one, two]) await wire.event(name, 'presence_state')
    for (const wire of [open, other]) await wire.event(name, 'presence_state')

    const track = { type: 'presence', event: 'track', payload: {} }
    open.send(`realtime:${name}`, 'presence', track)
    open.broadcast(name, 'public', {})
    open.binary(name, 'public', {})
    await other.event(name, 'presence_diff')
    await other.receiveBroadcast(name, 'public')
    await other.receiveBinaryBroadcast(name, 'public')
    one.wire.broadcast(name, 'private', {})
    await two.wire.receiveBroadcast(name, 'private')
    const body = (isPrivate: boolean) =>
      JSON.stringify({
        messages: [{ topic: name, event: 'http', payload: { isPrivate }, private: isPrivate }],
      })
    await post('broadcast', body(false))
    expect(await other.receiveBroadcast(name, 'http')).toMatchObject({
      payload: { isPrivate: false },
    })
    const authorization = `Bearer ${inject('access').serviceKey}`
    await post('broadcast', body(true), { authorization })
    expect(await two.wire.receiveBroadcast(name, 'http')).toMatchObject({
      payload: { isPrivate: true },
    })
    await moment()
    expect(two.wire.received).toEqual([])
    expect(other.received).toEqual([])
  })

  test('is reached over HTTP by those who may write', async () => {
    const name = unique('room')
    const [reader, writer] = [await member(name, 'read broadcast'), await member(name, ...ALL)]
    await reader.wire.mustJoin(name, PRIVATE, reader)
    const bearer = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` })
    const batch = (event: string) =>
      JSON.stringify({
        messages: [
          { topic: name, event, payload: {}, private: true },
          { topic: name, event, payload: {} },
        ],
      })
    const open = await wires.add()
    await open.mustJoin(name)
    expect((await post('broadcast', batch('refused'), bearer(reader))).status).toBe(202)
    expect((await post('broadcast', batch('granted'), bearer(writer))).status).toBe(202)
    await reader.wire.receiveBroadcast(name, 'granted')
    for (const event of ['refused', 'granted']) await open.receiveBroadcast(name, event)

    const path = `broadcast/${name}/events/single?private=true`
    const rejection = await post(path, '{}', bearer(reader))
    expect(rejection.status).toBe(403)
    expect(await rejection.json()).toEqual({ message: 'Unauthorized' })
    expect((await post(path, '{}', bearer(writer))).status).toBe(202)
    await reader.wire.receiveBinaryBroadcast(name, 'single')
    expect(reader.wire.received).toEqual([])

    const nobody = await post(path, '{}', bearer({ token: await token({ role: 'nobody_at_all' }) }))
    expect(nobody.status).toBe(422)
    expect(await nobody.json()).toEqual({ message: 'RLS policy error' })
  })

  test('knows in its policies who asks for what', async () => {
    const name = unique('rt-policy')
    await sql(`
      create policy rt_settings on realtime.messages for select to authenticated using (
        realtime.topic() = '${name}' and extension = 'broadcast'
        and current_setting('request.jwt.claims')::jsonb ->> 'club' = 'ours'
        and current_setting('request.jwt.claim.role') = 'authenticated'
        and current_setting('request.jwt.claim.sub') = auth.uid()::text
        and current_setting('request.headers')::jsonb ->> 'x-club' = 'ours'
        and auth.role() = 'authenticated' and current_user = 'authenticated')`)
    const sub = (await somebody()).id
    const claims = { token: await token({ sub, club: 'ours' }) }
    const [wire, other] = [await wires.add({ headers: { 'x-club': 'ours' } }), await wires.add()]
    expect(await wire.join(name, PRIVATE, claims)).toEqual(joined)
    expect(await wire.join(name, PRIVATE, { token: await token({ sub }) })).toEqual(
      unreadable(name),
    )
    expect(await other.join(name, PRIVATE, claims)).toEqual(unreadable(name))
    await sql('drop policy rt_settings on realtime.messages')
  })

  test('is joined by the stock client of who is signed in', async () => {
    const name = unique('room')
    const [one, two] = [await member(name, ...ALL), await somebody()]
    const { url, anonKey } = inject('access')
    const join = async (access: string) => {
      const client = connect(url, anonKey)
      await client.realtime.setAuth(access)
      const channel = client.channel(name, { config: { private: true } })
      const result = await new Promise<string>((resolve) => {
        channel.subscribe((status, error) => {
          resolve(status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED ? status : String(error))
        })
      })
      await client.realtime.disconnect()
      return result
    }
    expect(await join(one.token)).toBe('SUBSCRIBED')
    expect(await join(two.token)).toContain('You do not have permissions to read from this Channel')
  })

  describe('whose token is replaced', () => {
    test('has the rights of the new one', async () => {
      const name = unique('room')
      const [one, two] = [await member(name, ...ALL), await somebody()]
      await one.wire.mustJoin(name, PRIVATE, one)
      one.wire.send(`realtime:${name}`, 'access_token', update(two.token))
      expect(await one.wire.system(name)).toEqual(
        shut(name, `You do not have permissions to read from this Channel topic: ${name}`),
      )
      await one.wire.event(name, 'phx_close')
      expect(await one.wire.join(name, PRIVATE, one)).toEqual(joined)
    })

    test('is shut if it has lost one of its rights to read', async () => {
      const name = unique('room')
      const one = await member(name, ...ALL)
      await one.wire.mustJoin(name, WITH_PRESENCE, one)
      await sql(
        `delete from public.rt_rights where who = '${one.id}' and (can, extension) = ('read', 'presence')`,
      )
      const fresh = await token({ sub: one.id, fresh: 1 })
      one.wire.send(`realtime:${name}`, 'access_token', update(fresh))
      expect(await one.wire.system(name)).toEqual(
        shut(name, `You no longer have permission to read from this Channel topic: ${name}`),
      )
      await one.wire.event(name, 'phx_close')
    })

    test('may write from then on, or not any more', async () => {
      const name = unique('room')
      const [one, two] = [await member(name, 'read broadcast'), await member(name, ...ALL)]
      await one.wire.mustJoin(name, { ...PRIVATE, broadcast: { ack: true } }, one)
      await two.wire.mustJoin(name, PRIVATE, two)
      one.wire.broadcast(name, 'early', {})
      await moment()
      await allow(one.id, name, 'write broadcast')
      const topic = `realtime:${name}`
      one.wire.send(topic, 'access_token', update(await token({ sub: one.id, fresh: 1 })))
      expect(await one.wire.reply(one.wire.broadcast(name, 'granted', {}))).toEqual(ok)
      await two.wire.receiveBroadcast(name, 'granted')
      await sql(`delete from public.rt_rights where who = '${one.id}' and can = 'write'`)
      one.wire.send(topic, 'access_token', update(await token({ sub: one.id, fresh: 2 })))
      one.wire.broadcast(name, 'late', {})
      await moment()
      await one.wire.flush()
      expect(one.wire.received).toEqual([])
      expect(two.wire.received).toEqual([])
    })
  })
})

describe.skipIf(!isOwn)('the token of a channel', () => {
  test.for<[string, object, RegExp]>([
    [
      'has expired',
      { exp: inSeconds(-20) },
      /^InvalidJWTToken: Token has expired \d+ seconds ago$/,
    ],
    [
      'has no role',
      { role: undefined },
      /^InvalidJWTToken: Fields `role` and `exp` are required in JWT$/,
    ],
    [
      'has no expiry',
      { exp: undefined },
      /^InvalidJWTToken: Fields `role` and `exp` are required in JWT$/,
    ],
  ])('keeps it from being joined if it %s', async ([, claims, reason]) => {
    const wire = await wires.add()
    const join = { token: await token(claims) }
    for (const isPrivate of [false, true]) {
      const reply = await wire.join(unique('room'), { private: isPrivate }, join)
      expect(reply).toEqual(refusal(expect.stringMatching(reason) as string))
    }
    expect(await wire.join(unique('room'))).toEqual(joined)
  })

  test('keeps it from being joined if it is none, or somebody else’s', async () => {
    const wire = await wires.add()
    const name = unique('room')
    expect(await wire.join(name, {}, { token: 'rubbish' })).toEqual(
      refusal('MalformedJWT: The token provided is not a valid JWT'),
    )
    const forged = signed(
      { role: 'anon', exp: inSeconds(60) },
      'a secret that nobody here knows of',
    )
    expect(await wire.join(name, {}, { token: forged })).toEqual(
      refusal('JwtSignatureError: Failed to validate JWT signature'),
    )
    const unknown = signed({ role: 'anon', exp: inSeconds(60) }, '', { alg: 'RS256', kid: 'x' })
    expect(await wire.join(name, {}, { token: `${unknown}AAAA` })).toEqual(
      refusal(
        'JwtSignerError: Failed to generate JWT signer for key ID (kid) "x", check your JWT secret or JWKS configuration',
      ),
    )
  })

  test('may have its older name in the join, which wins', async () => {
    const wire = await wires.add()
    const topic = `realtime:${unique('room')}`
    const join = (payload: object) => wire.reply(wire.send(topic, 'phx_join', payload))
    const good = await token()
    expect(await join({ config: {}, user_token: good, access_token: 'x' })).toEqual(joined)
    expect(await join({ config: {}, user_token: 'x', access_token: good })).toMatchObject({
      status: 'error',
    })
  })

  test('refuses a join only after a pause', async () => {
    const wire = await wires.add()
    const begin = performance.now()
    await wire.join(unique('room'), {}, { token: 'rubbish' })
    // As setup.ts has it.
    expect(performance.now() - begin).toBeGreaterThan(190)
  })

  test.for<[string, () => Promise<unknown>]>([
    ['null', () => Promise.resolve(null)],
    ['an opaque key', () => Promise.resolve('sb_publishable_x')],
    ['a good one', () => token({ fresh: 1 })],
  ])('may be replaced by %s', async ([, fresh]) => {
    const wire = await wires.add()
    const name = unique('room')
    await wire.mustJoin(name, { broadcast: { ack: true } }, { token: await token() })
    wire.send(`realtime:${name}`, 'access_token', update(await fresh()))
    expect(await wire.reply(wire.broadcast(name, 'still', {}))).toEqual(ok)
    await wire.flush()
    expect(wire.received).toEqual([])
  })

  test.for<[string, () => Promise<string>, RegExp]>([
    ['has expired', () => token({ exp: inSeconds(-20) }), /^Token has expired \d+ seconds ago$/],
    ['is none', () => Promise.resolve('rubbish'), /^The token provided is not a valid JWT$/],
    ['is empty', () => Promise.resolve(''), /^The token provided is not a valid JWT$/],
    [
      'has no role',
      () => token({ role: undefined }),
      /^Fields `role` and `exp` are required in JWT$/,
    ],
    [
      'is somebody else’s',
      () =>
        Promise.resolve(
          signed({ role: 'anon', exp: inSeconds(60) }, 'a secret of somebody else, long'),
        ),
      /signature/,
    ],
  ])('shuts it if the new one %s', async ([, fresh, message]) => {
    const wire = await wires.add()
    const [name, other] = [unique('room'), unique('other')]
    const own = { token: await token() }
    await wire.mustJoin(name, {}, { ...own, ref: 'join' })
    await wire.mustJoin(other, { broadcast: { ack: true } }, own)
    wire.send(`realtime:${name}`, 'access_token', update(await fresh()))
    expect(await wire.system(name)).toEqual(shut(name, expect.stringMatching(message) as string))
    expect((await wire.event(name, 'phx_close')).ref).toBe('join')
    expect(await wire.reply(wire.broadcast(other, 'still', {}))).toEqual(ok)
    expect(await wire.join(name, {}, own)).toEqual(joined)
  })

  test('shuts it, and nothing else, when it expires', async () => {
    const wire = await wires.add()
    const [short, renewed, long] = [unique('short'), unique('renewed'), unique('long')]
    const exp = inSeconds(3)
    for (const name of [short, renewed])
      await wire.mustJoin(name, {}, { token: await token({ exp }) })
    await wire.mustJoin(long, { broadcast: { ack: true } }, { token: await token() })
    wire.send(`realtime:${renewed}`, 'access_token', update(await token()))
    expect(await wire.system(short)).toEqual(
      shut(short, expect.stringMatching(/^Token has expired \d+ seconds ago$/) as string),
    )
    const late = Date.now() / 1000 - exp
    expect(late).toBeGreaterThanOrEqual(-0.1)
    expect(late).toBeLessThan(10)
    await wire.event(short, 'phx_close')
    await moment()
    expect(await wire.reply(wire.broadcast(long, 'still', {}))).toEqual(ok)
    await wire.flush()
    expect(wire.received).toEqual([])
  })
})
