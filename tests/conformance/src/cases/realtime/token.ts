import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { joinChanges, joinPrivate, listen, message, shut, subscribedTo } from '../../realtime.ts'

const protocol = 'https://supabase.com/docs/guides/realtime/protocol'
const source = 'https://github.com/supabase/realtime/blob/main/lib/realtime_web/channels'
const channel = `${source}/realtime_channel.ex`

export const token = group('realtime.token', {
  title: 'Tokens of channels',
  source: `${protocol}#access_token`,
})

/** Returns a token of a signed-in user that expires in `seconds`. */
function userToken(t: Context, seconds: number, claims: object = {}): string {
  const exp = Math.floor(Date.now() / 1000) + seconds
  return t.sign({ role: 'authenticated', sub: crypto.randomUUID(), exp, ...claims })
}

// The token of a join.

const refusals: Record<string, [string | RegExp, (t: Context) => string]> = {
  // The guide and the service name the code differently.
  expired: [
    /^InvalidJWT(Token|Expiration): Token has expired \d+ seconds ago$/,
    (t) => userToken(t, -100),
  ],
  malformed: ['MalformedJWT: The token provided is not a valid JWT', () => 'nonsense'],
  'wrong-signature': [
    'JwtSignatureError: Failed to validate JWT signature',
    (t) => `${userToken(t, 60).split('.').slice(0, 2).join('.')}.${'A'.repeat(43)}`,
  ],
  'no-role': [
    'InvalidJWTToken: Fields `role` and `exp` are required in JWT',
    (t) => userToken(t, 60, { role: undefined }),
  ],
}
for (const [name, [reason, makeToken]] of Object.entries(refusals)) {
  token.case(
    `join.${name}`,
    'a join with a token that is not valid is refused, and why it is said',
    { source: `${protocol}#join-errors`, needs: ['jwt'] },
    async (t) => {
      const phoenix = await t.phoenix()
      const topic = `realtime:${t.unique('room')}`
      const ref = phoenix.push(topic, 'phx_join', { config: {}, access_token: makeToken(t) })
      const payload = { status: 'error', response: { reason } }
      await phoenix.receives({ topic, event: 'phx_reply', ref, payload })
    },
  )
}

token.case(
  'join.key',
  'an opaque key in the place of a token is ignored, and the key of the connection counts',
  { source: channel },
  async (t) => {
    const phoenix = await t.phoenix()
    const rest = { access_token: 'sb_publishable_conformance' }
    await phoenix.join(`realtime:${t.unique('room')}`, {}, rest)
  },
)

token.case(
  'join.user-token',
  'the token may be called user_token, as older clients do',
  { source: channel, needs: ['sql', 'service'] },
  async (t) => {
    const user = await t.user()
    const phoenix = await t.phoenix()
    const topic = `realtime:conformance-own-${user.id}`
    await phoenix.join(topic, { private: true }, { user_token: user.token })
  },
)

// A new token for a channel.

const replacements: Record<string, [string | RegExp, (t: Context) => string]> = {
  expired: [/^Token has expired/, (t) => userToken(t, -100)],
  malformed: ['The token provided is not a valid JWT', () => 'nonsense'],
  'no-role': [
    'Fields `role` and `exp` are required in JWT',
    (t) => userToken(t, 60, { role: undefined }),
  ],
  'wrong-signature': [
    /signature/,
    (t) => `${userToken(t, 60).split('.').slice(0, 2).join('.')}.${'A'.repeat(43)}`,
  ],
}
for (const [name, [text, makeToken]] of Object.entries(replacements)) {
  token.case(
    `refresh.${name}`,
    'a channel whose new token is not valid is closed, and why it is said',
    { source: `${protocol}#channel-level-system-errors`, needs: ['jwt'] },
    async (t) => {
      const phoenix = await t.phoenix()
      const name = t.unique('room')
      const topic = `realtime:${name}`
      const join = await phoenix.join(topic)
      phoenix.push(topic, 'access_token', { access_token: makeToken(t) }, join)
      await phoenix.receives({ topic, event: 'system', payload: shut(name, text) })
      await phoenix.receives({ topic, event: 'phx_close', ref: join, payload: {} })
    },
  )
}

const ignored: Record<string, string | null> = {
  key: 'sb_publishable_conformance',
  nothing: null,
}
for (const [name, value] of Object.entries(ignored)) {
  token.case(
    `refresh.${name}`,
    'an opaque key or nothing in the place of a new token is ignored',
    { source: `${protocol}#access-token-refresh` },
    async (t) => {
      const phoenix = await t.phoenix()
      const topic = `realtime:${t.unique('room')}`
      await phoenix.join(topic, { broadcast: { self: true } })
      phoenix.push(topic, 'access_token', { access_token: value })
      phoenix.push(topic, 'broadcast', message('shout', 1))
      await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
      await phoenix.receivesNone({ event: 'phx_close' }, 100)
    },
  )
}

token.case(
  'refresh.silent',
  'a new token that is valid gets no reply, and the channel goes on',
  { source: `${protocol}#access-token-refresh`, needs: ['jwt'] },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    await phoenix.join(topic, { broadcast: { self: true } })
    const ref = phoenix.push(topic, 'access_token', { access_token: userToken(t, 600) })
    phoenix.push(topic, 'broadcast', message('shout', 1))
    await phoenix.receives({ topic, event: 'broadcast', payload: message('shout', 1) })
    await phoenix.receivesNone({ ref }, 200)
  },
)

token.case(
  'refresh.unread',
  'a private channel that the new token does not open is closed',
  {
    source: 'https://supabase.com/docs/guides/realtime/authorization#updating-rls-policies',
    needs: ['sql', 'service'],
  },
  async (t) => {
    const [user, other] = [await t.user(), await t.user()]
    const name = `conformance-own-${user.id}`
    const topic = `realtime:${name}`
    const phoenix = await joinPrivate(t, topic, user)
    phoenix.push(topic, 'access_token', { access_token: other.token })
    const text = `You do not have permissions to read from this Channel topic: ${name}`
    await phoenix.receives({ topic, event: 'system', payload: shut(name, text) })
    await phoenix.receives({ topic, event: 'phx_close', payload: {} })
  },
)

token.case(
  'refresh.changes',
  'a new token decides which row changes are told from then on',
  {
    source: 'https://supabase.com/docs/guides/realtime/postgres-changes#refreshed-tokens',
    needs: ['sql', 'service'],
  },
  async (t) => {
    const [before, after] = [await t.user(), await t.user()]
    const key = t.unique('owned')
    const phoenix = await t.phoenix()
    const table = 'conformance_owned_events'
    const binding = { event: '*', schema: 'public', table, filter: `key=eq.${key}` }
    const { topic } = await joinChanges(t, phoenix, [binding], { access_token: before.token })
    phoenix.push(topic, 'access_token', { access_token: after.token })
    const payload = subscribedTo(topic.replace('realtime:', ''))
    await phoenix.receives({ topic, event: 'system', payload })
    const rows = [before, after].map(({ id }) => ({ key, owner: id }))
    await t.rows(table, rows, 'key')
    const { payload: row } = await phoenix.receives({ topic, event: 'postgres_changes' })
    await t.eventually(
      () => (row as { data: { record: { owner: string } } }).data.record.owner,
      after.id,
    )
    await phoenix.receivesNone({ event: 'postgres_changes' }, 300)
  },
)

// The end of a token.

const expiry = 'https://supabase.com/docs/guides/realtime/authorization#updating-rls-policies'

token.case(
  'expiry',
  'a channel is closed when its token expires',
  { source: expiry, needs: ['jwt'] },
  async (t) => {
    const phoenix = await t.phoenix()
    const name = t.unique('room')
    const topic = `realtime:${name}`
    const join = await phoenix.join(topic, {}, { access_token: userToken(t, 3) })
    await phoenix.receives({ topic, event: 'system', payload: shut(name, /^Token has expired/) })
    await phoenix.receives({ topic, event: 'phx_close', ref: join, payload: {} })
  },
)

token.case(
  'expiry.refreshed',
  'a channel that has got a new token outlives its first one',
  { source: expiry, needs: ['jwt'] },
  async (t) => {
    const phoenix = await t.phoenix()
    const topic = `realtime:${t.unique('room')}`
    const config = { broadcast: { self: true } }
    await phoenix.join(topic, config, { access_token: userToken(t, 2) })
    phoenix.push(topic, 'access_token', { access_token: userToken(t, 600) })
    await t.pause(3500)
    phoenix.push(topic, 'broadcast', message('shout', 'still here'))
    const payload = message('shout', 'still here')
    await phoenix.receives({ topic, event: 'broadcast', payload })
  },
)

token.case(
  'client',
  'setAuth of a stock client decides whose rows it is told',
  {
    source: 'https://supabase.com/docs/guides/realtime/postgres-changes#custom-tokens',
    needs: ['sql', 'service', 'jwt'],
  },
  async (t) => {
    const sub = crypto.randomUUID()
    const key = t.unique('owned')
    const client = t.client(t.target.anonKey)
    await client.realtime.setAuth(userToken(t, 600, { sub }))
    const table = 'conformance_owned_events'
    const { received } = await listen(t, { event: '*', table, filter: `key=eq.${key}` }, client)
    await t.rows(table, [{ key, owner: sub }], 'key')
    await t.eventually(() => received.map((change) => change.new.owner), [sub])
  },
)
