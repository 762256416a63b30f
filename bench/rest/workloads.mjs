import { createHash } from 'node:crypto'

/**
 * A set of requests that is sent to every peer.
 * @typedef {object} Workload
 * @property {string} id how BENCH_ONLY names it
 * @property {string} title
 * @property {number} target requests/s of Basalt ÷ requests/s of PostgREST at 16 connections, at least
 * @property {number} [standInTarget] the same of Basalt in PostgREST's place, where every session is reset
 * @property {number} [limitTarget] requests/s of Basalt ÷ transactions/s of pgbench at 16 connections, at least
 * @property {boolean} [isSmall] whether the server's processor time per request has an upper limit
 * @property {(token: (holder: number) => string) => import('../lib/load.mjs').Request[]} requests
 * @property {import('../lib/pgbench.mjs').Script} limit the least SQL that gives the same response: plain rows where a
 *   server can make them JSON at less cost than Postgres
 * @property {boolean} [isRead] whether responses can be compared: the same request has the same response
 * @property {boolean} [isComparedAsJson] whether whitespace and the order of keys may differ
 * @property {string} [prepare] SQL that is run before each measurement
 * @property {{ table: string, rows: number }} [inserts] what each request adds
 */

const json = { 'Content-Type': 'application/json' }
const minimal = { ...json, Prefer: 'return=minimal' }
const holders = Array.from({ length: 50 }, (_, index) => index + 1)

const checkIn = '{"player_id":{1..20000},"gate":"North","device":"{uuid}","number":{seq}}'

/** Returns the holder's id, as schema.sql makes it. */
export function holderId(number) {
  const digits = createHash('md5').update(`holder ${number}`).digest('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** @type {Workload[]} */
export const workloads = [
  {
    id: 'key',
    title: 'one row by key, 10 columns',
    target: 8,
    standInTarget: 5.5,
    limitTarget: 0.5,
    isSmall: true,
    isRead: true,
    requests: () => [{ path: '/players?id=eq.{1..20000}' }],
    limit: {
      variables: { id: [1, 20000] },
      sql: 'select * from players where id = :id limit 1000',
    },
  },
  {
    id: 'list-20',
    title: 'list of 20, 2 filters, ordered',
    target: 8,
    isSmall: true,
    isRead: true,
    requests: () => [
      {
        path:
          '/players?select=id,name,position,shirt,market_value,joined_at' +
          '&position=eq.midfielder&market_value=lt.{100000..800000}&order=market_value.desc,id&limit=20',
      },
    ],
    limit: {
      variables: { value: [100000, 800000] },
      sql: `select id, name, position, shirt, market_value, joined_at from players
            where position = 'midfielder' and market_value < :value order by market_value desc, id limit 20`,
    },
  },
  {
    id: 'list-1000',
    title: 'list of 1,000, 6 columns',
    target: 2.5,
    isRead: true,
    requests: () => [
      {
        path:
          '/events?select=id,player_id,kind,minute,distance,occurred_at' +
          '&id=gte.{1..490000}&order=id&limit=1000',
      },
    ],
    limit: {
      variables: { id: [1, 490000] },
      sql: `select id, player_id, kind, minute, distance, occurred_at from events
            where id >= :id order by id limit 1000`,
    },
  },
  {
    id: 'embed',
    title: 'two-level embed, 1 + 2 + 20 rows',
    target: 7,
    isRead: true,
    isComparedAsJson: true,
    requests: () => [
      {
        path:
          '/clubs?select=id,name,teams(id,name,players(id,name,shirt))&id=eq.{1..1000}' +
          '&teams.order=id&teams.players.order=id',
      },
    ],
    limit: {
      variables: { id: [1, 1000] },
      sql: `select id, name, (
              select coalesce(json_agg(t), '[]') from (
                select id, name, (
                  select coalesce(json_agg(p), '[]') from (
                    select id, name, shirt from players where team_id = teams.id order by id limit 1000) p
                ) as players
                from teams where club_id = clubs.id order by id limit 1000) t
            ) as teams
            from clubs where id = :id limit 1000`,
    },
  },
  {
    id: 'rls',
    title: 'RLS read with a JWT, 20 rows',
    target: 7,
    isSmall: true,
    isRead: true,
    requests: (token) =>
      holders.map((holder) => ({
        path: '/tickets?select=id,fixture,seat,price,bought_at&order=id&limit=20',
        headers: { Authorization: `Bearer ${token(holder)}` },
      })),
    limit: {
      variables: { holder: [1, 50] },
      role: 'authenticated',
      claims: `json_build_object('role', 'authenticated', 'sub', md5('holder ' || :holder::text)::uuid)::text`,
      sql: 'select id, fixture, seat, price, bought_at from tickets order by id limit 20',
    },
  },
  { ...insertOne('insert', 'insert one, minimal', 'check_ins'), standInTarget: 5.5 },
  insertOne('insert-plain', '… without a foreign key', 'visits'),
  insertHundred('bulk', 'bulk insert of 100', 'check_ins'),
  insertHundred('bulk-plain', '… without a foreign key', 'visits'),
  {
    id: 'upsert',
    title: 'upsert one',
    target: 8,
    isSmall: true,
    prepare: 'vacuum ratings',
    requests: () => [
      {
        method: 'POST',
        path: '/ratings',
        headers: { ...json, Prefer: 'resolution=merge-duplicates,return=minimal' },
        body: '{"player_id":{1..20000},"points":{0..100}}',
      },
    ],
    limit: {
      writes: true,
      variables: { player: [1, 20000], points: [0, 100] },
      sql: `insert into ratings (player_id, points) values (:player, :points)
            on conflict (player_id) do update set points = excluded.points`,
    },
  },
  {
    id: 'rpc',
    title: 'RPC scalar',
    target: 10,
    standInTarget: 7,
    isSmall: true,
    isRead: true,
    requests: () => [
      { method: 'POST', path: '/rpc/add', headers: json, body: '{"a":{1..1000},"b":{1..1000}}' },
    ],
    limit: {
      variables: { a: [1, 1000], b: [1, 1000] },
      sql: 'select to_json(add(:a, :b))',
    },
  },
  {
    id: 'count',
    title: 'exact count of 6,667 with a range of 20',
    target: 1.8,
    isRead: true,
    requests: () => [
      {
        path: '/players?select=id,name,shirt&position=eq.defender&order=id',
        headers: { 'Range-Unit': 'items', Range: '0-19', Prefer: 'count=exact' },
        status: 206,
      },
    ],
    limit: {
      sql: `select coalesce(json_agg(t), '[]'), (select count(*) from players where position = 'defender') from (
              select id, name, shirt from players where position = 'defender' order by id limit 20) t`,
    },
  },
]

/** @returns {Workload} */
function insertOne(id, title, table) {
  return {
    id,
    title,
    inserts: { table, rows: 1 },
    target: 8,
    isSmall: true,
    prepare: `truncate ${table}`,
    requests: () => [
      { method: 'POST', path: `/${table}`, headers: minimal, body: checkIn, status: 201 },
    ],
    limit: {
      writes: true,
      variables: { player: [1, 20000], number: [1, 1_000_000] },
      sql: `insert into ${table} (player_id, gate, device, number)
            values (:player, 'North', gen_random_uuid(), :number)`,
    },
  }
}

/** @returns {Workload} */
function insertHundred(id, title, table) {
  return {
    id,
    title,
    inserts: { table, rows: 100 },
    target: 2.5,
    prepare: `truncate ${table}`,
    requests: () => [
      {
        method: 'POST',
        path: `/${table}`,
        headers: minimal,
        body: `[${Array.from({ length: 100 }, () => checkIn).join(',')}]`,
        status: 201,
      },
    ],
    limit: {
      writes: true,
      variables: { player: [1, 19900] },
      sql: `insert into ${table} (player_id, gate, device, number)
            select :player + n, 'North', gen_random_uuid(), n from generate_series(1, 100) n`,
    },
  }
}
