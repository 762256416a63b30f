/**
 * The requests that are compared, family by family.
 * @typedef {{ method: string, path: string, headers?: Record<string, string>, body?: string, role?: string }} Request
 */

const json = { 'content-type': 'application/json' }
const object = { accept: 'application/vnd.pgrst.object+json' }
const full = { prefer: 'return=representation' }

const encoded = (text) => text.replaceAll(/[ "\\#+<>\u0080-\uffff]/g, encodeURIComponent)
const get = (path, headers) => ({ method: 'GET', path: encoded(path), headers })
const send = (method, path, body, headers) => ({
  method,
  path: encoded(path),
  headers: { ...json, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
  role: 'authenticated',
})
const post = (path, body, headers) => send('POST', path, body, headers)

/** Yields everything, in an order that does not matter. */
export function* requests() {
  yield* selects.map((select) => get(select))
  yield* filters.map((filter) => get(`/players?select=id&order=id&${filter}`))
  yield* groundFilters.map((filter) => get(`/grounds?select=id&order=id&${filter}`))
  yield* orders.map((order) => get(`/players?select=id&${order}`))
  yield* embeds.map((embed) => get(embed))
  yield* aggregates.map((aggregate) => get(aggregate))
  yield* pages()
  yield* singular()
  yield* media()
  yield* mutations()
  yield* calls()
  yield* unnamed()
  yield* twice()
  yield* schemas()
  yield* tokens()
  yield* domains()
  yield* handlers()
  yield* options()
  yield* refusals.map((path) => get(path))
}

const selects = [
  '/players?order=id',
  '/players?select=&order=id',
  '/players?select=*&order=id',
  '/players?select=id,name&id=eq.1',
  '/players?select=id, name &id=eq.1',
  '/players?select=called:name,id&id=eq.1',
  '/players?select=id::text,height::int&id=eq.1',
  '/players?select=n:id::text&id=eq.1',
  '/players?select=data->phones->0->>no&id=eq.1',
  '/players?select=data->phones->-1->>no&id=eq.1',
  '/players?select=data->phones->0&id=eq.1',
  '/players?select=data->>level::int&id=eq.1',
  '/players?select=level:data->level&id=eq.1',
  '/players?select=data->missing->deeper&id=eq.1',
  '/players?select=data->phones->9->>no&id=eq.1',
  '/players?select=tags->0,tags->>1&id=eq.1',
  '/players?select=data->"phones"->0&id=eq.1',
  '/players?select=label&id=eq.1',
  '/players?select=*,label&id=eq.1',
  '/players?select=id,id&id=eq.1',
  '/players?select=*,*&id=eq.1',
  '/players?select=*,id&id=eq.1',
  '/players?select=players&id=eq.1',
  '/clubs?select=clubs&id=eq.1',
  '/clubs?select=clubs,id&id=eq.1',
  '/clubs?select=whole:clubs&id=eq.1',
  '/clubs?select=clubs->name&id=eq.1',
  '/clubs?clubs=not.is.null&select=id&order=id',
  '/clubs?select=whole,motto&order=id',
  '/clubs?select=id&whole=eq.Mill Lane!',
  '/clubs?select=id&order=motto.desc',
  '/odd%20%22names%22?select=*',
  '/odd%20%22names%22?select="a \\"column\\", or two"',
  '/odd%20%22names%22?select="naïve.列"',
  '/odd%20%22names%22?"naïve.列"=eq.y&select=id',
  '/grounds?order=id',
  '/grounds?select=place->>street,place->no,zip:place->no&order=id',
  '/grounds?select=places->0->>street,gates->0,gates->-1&order=id',
  '/grounds?select=notes->a->1,notes->>b&order=id',
  '/clubs?select=id,grounds(gates->0)&order=id',
  '/grounds?select=price,price::text,opened::date,plan,seats,mood&order=id',
  '/club_names?order=club_id',
  '/squads?order=squad_id',
  '/first_squads?order=first_id',
  '/adults?order=id',
  '/goals?order=match_id,minute',
  '/goals_early',
  '/unkeyed?order=a,b',
  '/archive',
  '/unknown',
  '/player',
  '/Players',
  '/players/',
  '/players/1',
  '/rpc',
  '/rpc/',
  '/rpc/a/b',
  '//players',
  '/players?select=unknown',
  '/players?select=id,unknown->a',
  '/players?select=id::unknown',
  '/players?select=id->a',
  '/players?select=id,',
  '/players?select=,id',
  '/players?select=id,,name',
  '/players?select=(id)',
  '/players?select=id)',
  '/players?select=id::',
  '/players?select=id:',
  '/players?select=:id',
  '/players?select=a:b:id',
  '/players?select=data->',
  '/players?select=data->>',
  '/players?select=data->->a',
  '/players?select=data->>a->b',
  '/players?select="id',
  '/players?select=*id',
  '/players?select=id*',
  '/players?select=$1',
  "/players?select='id'",
  '/players?select=id%20as%20x',
  '/players?select=id;drop',
]

const filters = [
  ...['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'isdistinct'].flatMap((operator) => [
    `id=${operator}.2`,
    `id=not.${operator}.2`,
    `name=${operator}.Bea`,
    `born=${operator}.1990-01-01`,
    `height=${operator}.1.60`,
  ]),
  ...['eq', 'gt', 'gte', 'lt', 'lte'].flatMap((operator) => [
    `id=${operator}(any).{1,3}`,
    `id=${operator}(all).{2,3}`,
    `id=not.${operator}(any).{1,3}`,
  ]),
  ...['like', 'ilike', 'match', 'imatch'].flatMap((operator) => [
    `name=${operator}.*a*`,
    `name=${operator}.A%25`,
    `name=${operator}.^a`,
    `name=not.${operator}.%25a`,
    `name=${operator}(any).{*a*,^b}`,
    `name=${operator}(all).{*a*,^b}`,
    `name=${operator}.`,
  ]),
  ...['null', 'true', 'false', 'unknown', 'NULL', 'Not_Null', 'not_null', 'nope', ''].flatMap(
    (value) => [`active=is.${value}`, `active=not.is.${value}`],
  ),
  'born=is.null',
  'born=not.is.null',
  'id=in.(1,2)',
  'id=in.(1, 2)',
  'id=in.()',
  'id=not.in.()',
  'id=in.(1)',
  'id=in.1',
  'id=in.(1',
  'id=in.1)',
  'id=in.(a)',
  'name=in.("Ada")',
  'name=in.("Dot, \\"the wall\\" (x)",Bea)',
  'name=in.(Dot, "the wall" (x))',
  'name=in.("Ada",)',
  'name=in.("")',
  'name=in.(null)',
  'name=eq."Ada"',
  'name=eq.Dot, "the wall" (x)',
  'name=eq.',
  'name=eq',
  'name=',
  'name',
  'name=Ada',
  'name=not.Ada',
  'name=not.eq',
  'name=not.not.eq.Ada',
  'name=EQ.Ada',
  'name=eqq.Ada',
  'name=eq(some).{a}',
  'name=neq(any).{Ada}',
  'name=eq(any).Ada',
  'id=eq(any).{a}',
  'id=eq.x',
  'id=eq.99999999999999999999',
  'unknown=eq.1',
  'tags=cs.{left}',
  'tags=cs.left',
  'tags=cd.{left,right}',
  'tags=ov.{captain,right}',
  'tags=eq.{left}',
  'tags->0=eq."left"',
  'tags->>0=eq.left',
  'data=cs.{"level":3}',
  'data=cd.{"level":5,"x":1}',
  'data->level=eq.3',
  'data->>level=eq.3',
  'data->>level=in.(3,5)',
  'data->phones->0->>no=eq.11',
  'data->level=gt.2',
  'data->>nick=is.null',
  'data->nick=is.null',
  'data->>level=fts.3',
  'shirt=sl.[6,7)',
  'shirt=sr.[1,9)',
  'shirt=nxr.[1,9)',
  'shirt=nxl.[5,9)',
  'shirt=adj.[9,20)',
  'shirt=cs.3',
  'shirt=cs.[1,2)',
  'shirt=ov.(0,6)',
  'shirt=sl.nonsense',
  ...['fts', 'plfts', 'phfts', 'wfts'].flatMap((operator) => [
    `biography=${operator}.keeper`,
    `biography=${operator}(english).patient keepers`,
    `biography=not.${operator}(english).striker`,
    `biography=${operator}(klingon).striker`,
    `biography=${operator}().striker`,
    `biography=${operator}(english.striker`,
  ]),
  'biography=fts(english).fast %26 striker',
  'biography=fts.fast striker',
  'id=fts.1',
  'or=(id.eq.1,id.eq.3)',
  'or=(id.eq.1)',
  'or=()',
  'or=id.eq.1',
  'or=(id.eq.1',
  'or=(id.eq.1))',
  'or=(id.eq.1,)',
  'or=( id.eq.1 , id.eq.2 )',
  'and=(id.gt.1,id.lt.4)',
  'not.and=(id.gt.1,id.lt.4)',
  'not.or=(id.eq.1,id.eq.3)',
  'or=(and(id.gt.1,id.lt.3),not.and(id.gt.0,id.lt.4))',
  'or=(id.eq.1,not.id.eq.1)',
  'or=(id.not.eq.1,id.in.(1,2))',
  'or=(id.in.(1,2),name.eq.Cyd)',
  'or=(name.eq."Dot, \\"the wall\\" (x)",id.eq.1)',
  'or=(name.like.A*,name.ilike.*b*)',
  'or=(tags.cs.{captain,left},id.eq.3)',
  'or=(tags.eq.{"captain","left"},id.eq.3)',
  'or=(data->>level.eq.5,data->phones->0->>no.eq.11)',
  'or=(born.is.null,active.is.true)',
  'or=(biography.fts(english).keeper,id.eq.1)',
  'or=(shirt.sl.[6,7),id.eq.3)',
  'or=(shirt.cs.[1,2),id.eq.3)',
  'or=(id.eq(any).{1,2},name.eq.Cyd)',
  'or=(id.eq.1,nope.eq.2)',
  'or=(id.nope.1)',
  'or=(name.eq.a(b,id.eq.1)',
  'or=(name.eq."a(b",id.eq.1)',
  'or=(name.eq.,id.eq.1)',
  'or.and=(id.eq.1)',
  'and=(or(id.eq.1,id.eq.2),id.gt.1)&id=lt.4',
  'id=gt.1&id=lt.4',
  'teams.id=eq.1',
  'a.b.c=eq.1',
  '.id=eq.1',
  'id.=eq.1',
  'id=eq.1&unknown.order=id',
  '=eq.1',
  'select=id,name&select=id',
  'columns=id',
  'on_conflict=id',
]

const groundFilters = [
  'place->>street=eq.Quay',
  'place->no=gt.3',
  'place=eq.(Quay,7)',
  'gates=cs.{3}',
  'gates->0=eq.3',
  'mood=eq.glad',
  'mood=eq.angry',
  'mood=in.(glad,sad)',
  'seats=gt.5',
  'seats=eq.-5',
  'opened=gte.2001-02-03T04:05:06Z',
  'opened=lt.nonsense',
  'price=eq.12.5',
  'plan=eq.\\x00ff',
  'loud=like.PIER*',
  'loud=fts.pier',
  'notes->>b=eq.1',
  'notes->a->0=eq.1',
  'notes=eq.{}',
]

const orders = [
  'order=id',
  'order=id.asc',
  'order=id.desc',
  'order=id.desc&order=name',
  'order=born',
  'order=born.nullsfirst',
  'order=born.desc.nullslast',
  'order=active.desc,id.desc',
  'order=data->level.desc.nullslast,id',
  'order=data->>level.asc.nullsfirst,id',
  'order=label.desc',
  'order=tags->0.nullsfirst,id',
  'order=id, name',
  'order=',
  'order=id.',
  'order=id.up',
  'order=id.desc.asc',
  'order=id.desc.nulls',
  'order=id,',
  'order=unknown',
  'order=teams(name)',
  'order=desc',
  'order="id"',
  'order=id&order=name',
  'limit=2&order=id',
  'limit=2&offset=1&order=id',
  'limit=0&order=id',
  'limit=-1&order=id',
  'limit=x&order=id',
  'limit=&order=id',
  'limit=1.5&order=id',
  'offset=-1&order=id',
  'offset=2&order=id',
  'offset=100&order=id',
  'limit=99999999999&order=id',
]

const embeds = [
  '/players?select=name,teams(name)&order=id',
  '/players?select=name,teams(*)&order=id',
  '/players?select=name,teams(name,clubs(name,founded))&order=id',
  '/clubs?select=name,teams(name,players(name))&order=id&teams.order=id&teams.players.order=id',
  '/players?select=id,passports(number)&order=id',
  '/passports?select=number,players(name)',
  '/matches?select=id,players(name)&order=id&players.order=id',
  '/players?select=id,matches(id)&order=id&matches.order=id',
  '/players?select=id,lineups(minutes,matches(id))&order=id&lineups.order=match_id',
  '/matches?select=home:teams!home_id(name),away:teams!matches_away_id_fkey(name)&order=id',
  '/matches?select=home_id(name)&order=id',
  '/matches?select=home:home_id(name),away:away_id(name)&order=id',
  '/matches?select=matches_home_id_fkey(name)&order=id',
  '/matches?select=teams(name)',
  '/teams?select=matches(id)',
  '/teams?select=id,matches!home_id(id)&order=id',
  '/teams?select=id,home:matches!home_id(id),away:matches!away_id(id)&order=id&home.order=id&away.order=id',
  '/players?select=id,teams!players_team_id_fkey(name)&order=id',
  '/players?select=id,teams!team_id(name)&order=id',
  '/players?select=id,teams!nope(name)&order=id',
  '/players?select=id,matches!lineups(id)&order=id&matches.order=id',
  '/players?select=id,matches!lineups!inner(id)&order=id&matches.order=id',
  '/players?select=id,matches!inner!lineups(id)&order=id&matches.order=id',
  '/players?select=id,teams!inner(name)&order=id',
  '/players?select=id,teams!left(name)&order=id',
  '/players?select=id,teams!inner!left(name)&order=id',
  '/clubs?select=id,teams!inner(name)&teams.name=like.*Firsts&order=id',
  '/clubs?select=id,teams(name)&teams.name=like.*Firsts&order=id',
  '/clubs?select=id,teams!inner(players!inner(name))&teams.players.name=eq.Cyd',
  '/clubs?select=id,teams(id)&teams.order=id.desc&teams.limit=1&order=id',
  '/clubs?select=id,teams(id)&teams.order=id&teams.limit=1&teams.offset=1&order=id',
  '/clubs?select=id,teams(id)&teams.limit=0&order=id',
  '/clubs?select=id,teams(id)&teams.or=(id.eq.2,id.eq.3)&order=id',
  '/clubs?select=id,teams(id)&teams.and=(id.gt.1,id.lt.3)&order=id',
  '/clubs?select=id,teams(id)&teams.not.or=(id.eq.2,id.eq.3)&order=id&teams.order=id',
  '/clubs?select=id,teams()&order=id',
  '/clubs?select=id,teams(id)&teams=is.null',
  '/clubs?select=id,teams()&teams=is.null',
  '/clubs?select=id,teams()&teams=not.is.null&order=id',
  '/clubs?select=id,teams(id)&teams=eq.1',
  '/clubs?select=id,teams(id)&or=(teams.is.null,id.eq.1)&order=id&teams.order=id',
  '/clubs?select=id,teams(id)&or=(teams.eq.1,id.eq.1)&order=id',
  '/clubs?select=id,squads:teams(id)&squads=not.is.null&order=id&squads.order=id',
  '/players?select=id,teams(name)&order=teams(name).desc.nullslast,id',
  '/players?select=id,team:teams(name)&order=team(name).nullsfirst,id',
  '/players?select=id,teams(name)&order=teams(unknown)',
  '/clubs?select=id,teams(name)&order=teams(name)',
  '/players?select=id,teams(name,clubs(name))&order=teams(clubs(name))',
  '/players?select=id,...teams(team:name)&order=id',
  '/players?select=id,...teams(team:name,...clubs(club:name))&order=id',
  '/players?select=id,...teams(*)&order=id',
  '/players?select=id,...teams(name),...passports(number)&order=id',
  '/players?select=id,...teams!inner(name)&order=id',
  '/players?select=id,...teams(name)&order=teams(name).nullslast,id',
  '/players?select=id,...teams()&order=id',
  '/players?select=id,...teams(clubs(name))&order=id',
  '/players?select=id,...teams(name)&teams.name=eq.Row Firsts&order=id',
  '/staff?select=name,manager_id(name)&order=id',
  '/staff?select=name,staff!manager_id(name)&order=id',
  '/staff?select=name,boss:staff!manager_id(name)&order=id',
  '/staff?select=name,staff(name)&order=id',
  '/staff?select=name,staff!staff_manager_id_fkey(name)&order=id',
  '/squads?select=name,clubs(name),players(name)&order=squad_id&players.order=id',
  '/clubs?select=id,squads(name)&order=id&squads.order=squad_id',
  '/clubs?select=id,first_squads(name)&order=id',
  '/players?select=name,squads(name)&order=id',
  '/players?select=name,first_squads(name,clubs(name))&order=id',
  '/adults?select=name,teams(name)',
  '/adults?select=name,passports(number)&order=id',
  '/grounds?select=name,clubs(name)&order=id',
  '/clubs?select=name,grounds(name,place->>street)&order=id',
  '/club_names?select=name,teams(name)&order=club_id&teams.order=id',
  '/goals?select=minute,matches(id),players(name)&order=minute',
  '/matches?select=id,goals(minute)&order=id&goals.order=minute',
  '/clubs?select=id,grounds_of(name)&order=id',
  '/grounds?select=id,club_of(name,motto)&order=id',
  '/grounds?select=id,...club_of(club:name)&order=id',
  '/clubs?select=id,grounds_of!inner(name)&order=id',
  '/grounds?select=id,club_of(name)&club_of.name=eq.Mill Lane&order=id',
  '/clubs?select=id,players(name)',
  '/clubs?select=id,player(name)',
  '/clubs?select=id,team(name)',
  '/club?select=id,teams(name)',
  '/clubs?select=id,teams(unknown)',
  '/clubs?select=id,teams(id,unknown(id))',
  '/clubs?select=id,teams(id',
  '/clubs?select=id,teams(id))',
  '/clubs?select=id,teams((id))',
  '/clubs?select=id,teams!(id)',
  '/clubs?select=id,!inner(id)',
  '/clubs?select=id,...a:teams(id)',
  '/clubs?select=id,a:...teams(id)',
  '/clubs?select=id,teams(id)&players.id=eq.1',
  '/clubs?select=id,teams(id)&teams.players.id=eq.1',
  '/clubs?select=id,teams(id)&teams.unknown=eq.1',
  '/clubs?select=id,teams(id)&teams.order=unknown',
  '/clubs?select=id,teams(id)&players.order=id',
  '/clubs?select=id,teams(id)&players.limit=1',
  '/clubs?select=id,teams(id),teams(name)&order=id&teams.order=id',
  '/clubs?select=id,a:teams(id),b:teams(name)&order=id&a.order=id&b.order=id',
  '/clubs?select=id,a:teams(id),b:teams(name)&a.id=eq.1&b.id=eq.2&order=id',
  '/clubs?select=teams(id)&order=id&teams.order=id',
]

const aggregates = [
  '/players?select=count()',
  '/players?select=total:count()',
  '/players?select=count()::text',
  '/players?select=id.count()',
  '/players?select=height.sum(),height.avg(),height.min(),height.max()',
  '/players?select=top:height.max()',
  '/players?select=height.max()::int',
  '/players?select=height::int.sum()',
  '/players?select=team_id,count()&order=team_id',
  '/players?select=team_id,height.sum()&order=team_id.desc',
  '/players?select=data->>level::int.sum()',
  '/players?select=data->level,count()&order=data->level',
  '/players?select=count()&id=gt.2',
  '/players?select=count()&id=gt.99',
  '/players?select=height.max()&id=gt.99',
  '/players?select=name.sum()',
  '/players?select=id.median()',
  '/players?select=id.sum',
  '/players?select=*.count()',
  '/players?select=sum()',
  '/players?select=id.sum().max()',
  '/teams?select=name,players(count())&order=id',
  '/teams?select=name,players(id.max())&order=id',
  '/teams?select=name,players(active,count())&order=id&players.order=active',
  '/players?select=count(),teams(name)&team_id=eq.1',
  '/players?select=count(),...teams(name)&order=teams(name)',
  '/players?select=...teams(name.count())',
  '/players?select=...teams(id.max(),...clubs(id.min()))',
  '/clubs?select=name,teams(players(count()))&order=id&teams.order=id',
  '/players?select=count(),*&id=eq.1',
  '/players?select=count(),count()',
  '/players?select=team_id,count()&order=team_id&limit=1',
  '/players?select=team_id,count()&order=count',
  '/players?select=label,count()&order=label',
  '/rpc/team_players?team=1&select=count()',
  '/rpc/team_players?team=1&select=active,count()&order=active',
]

function* pages() {
  const counts = ['', 'count=exact', 'count=planned', 'count=estimated', 'count=none']
  const ranges = [undefined, '0-1', '1-', '0-', '2-1', '10-20', '0-0', 'x', '-5', 'items=0-1']
  for (const prefer of counts) {
    for (const range of ranges) {
      if (prefer === 'count=planned') continue
      yield get('/players?select=id&order=id', {
        prefer,
        ...(range && { range, 'range-unit': 'items' }),
      })
    }
    for (const path of [
      '/players?select=id&order=id&limit=2',
      '/players?select=id&order=id&limit=0',
      '/players?select=id&order=id&limit=0&offset=1',
      '/players?select=id&order=id&offset=2',
      '/players?select=id&order=id&offset=4',
      '/players?select=id&order=id&offset=5',
      '/players?select=id&order=id&id=eq.99',
      '/players?select=id&order=id&limit=2&offset=1&id=gt.1',
      '/clubs?select=id,teams!inner(id)&order=id&limit=1&teams.order=id',
    ]) {
      if (prefer === 'count=planned') continue
      yield get(path, { prefer })
      yield get(path, { prefer, range: '0-0' })
      yield { ...get(path, { prefer }), method: 'HEAD' }
    }
  }
}

function* singular() {
  for (const accept of [
    'application/vnd.pgrst.object+json',
    'application/vnd.pgrst.object',
    'application/vnd.pgrst.object+json;nulls=stripped',
    'application/vnd.pgrst.array+json;nulls=stripped',
    'application/vnd.pgrst.array+json',
    'application/vnd.pgrst.array',
    'text/csv',
  ]) {
    for (const path of [
      '/players?id=eq.3',
      '/players?id=eq.99',
      '/players?id=lt.3&order=id',
      '/players?select=id,teams(name,club_id)&id=eq.1',
      '/rpc/no_row',
      '/rpc/no_rows',
      '/rpc/set_of_clubs',
      '/rpc/set_of_clubs?id=eq.1',
      '/rpc/oldest_club',
      '/rpc/add?a=1',
      '/rpc/numbers',
      '/rpc/totals',
      '/rpc/null_text',
      '/rpc/json_of',
      '/rpc/composite_of',
    ]) {
      yield get(path, { accept })
    }
  }
}

function* media() {
  for (const accept of [
    '*/*',
    'application/*',
    'application/json',
    'application/json;charset=utf-8',
    'text/csv;q=0.5, application/json;q=0.6',
    'text/csv, application/json',
    'application/json, text/csv',
    'text/html, application/json',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'image/png',
    'text/plain',
    'text/xml',
    'application/octet-stream',
    'application/openapi+json',
    'application/vnd.pgrst.plan',
    'application/vnd.unknown',
    'nonsense',
  ]) {
    for (const path of ['/clubs?order=id', '/rpc/add?a=1', '/rpc/null_text', '/unknown', '/']) {
      if (path === '/' && !accept.includes('image')) continue
      if (accept.includes('plan') && path === '/clubs?order=id') continue
      yield get(path, { accept })
    }
  }
  for (const path of [
    '/players?order=id&select=id,name,tags,data,shirt,born',
    '/players?select=id,teams(name)&order=id',
    '/players?id=eq.99',
    '/grounds?order=id',
    '/rpc/set_of_composite',
    '/rpc/table_of?n=2',
  ]) {
    yield get(path, { accept: 'text/csv' })
  }
}

function* mutations() {
  const prefers = [
    '',
    'return=minimal',
    'return=headers-only',
    'return=representation',
    'return=representation, count=exact',
    'return=minimal, count=exact',
    'return=nonsense',
    'tx=commit-not, return=minimal',
    'handling=strict, nonsense=1',
    'handling=lenient, nonsense=1',
    'handling=strict, max-affected=1, return=representation',
    'handling=strict, max-affected=0',
    'max-affected=0',
  ]
  const row = { id: 100, name: 'Tenth' }
  for (const prefer of prefers) {
    yield post('/clubs', row, { prefer })
    yield send('PATCH', '/players?id=lt.3&select=id,name&order=id', { height: 2 }, { prefer })
    yield send('DELETE', '/lineups?match_id=eq.1&select=player_id&order=player_id', '', { prefer })
    yield send('PUT', '/seasons?id=eq.1', { id: 1, name: 'n', counter: 1, flag: null }, { prefer })
    yield send('PUT', '/seasons?id=eq.9', { id: 9, name: 'n', counter: 1, flag: null }, { prefer })
  }
  for (const body of [
    [
      { id: 100, name: 'a' },
      { id: 101, name: 'b' },
    ],
    [{ id: 100, name: 'a' }, { id: 101 }],
    [
      { name: 'a', id: 100 },
      { id: 101, name: 'b' },
    ],
    [],
    [[]],
    [1],
    {},
    [{}],
    [{}, {}],
    '"text"',
    '1',
    'null',
    'true',
    '',
    '{',
    '{"id":1}}',
    '{"id":100,"name":"x","id":102}',
    { id: 100, name: null },
    { id: 100, name: 'x', unknown: 1 },
    { id: 'x', name: 'x' },
    { id: 100, name: 5 },
    { id: 100, name: { a: 1 } },
    { id: 100, name: ['a'] },
    { id: 100, name: 'Mill Lane' },
    { id: 100, name: 'x', founded: 'nonsense' },
    '{"id":100,"name":"\\u0000"}',
    '{"id":100,"name":"\\ud800"}',
    ' {"id":100,"name":"x"} ',
  ]) {
    yield post('/clubs', body, full)
    yield post('/clubs?columns=id,name', body, full)
    yield post('/clubs', body, { prefer: 'return=representation, missing=default' })
    yield post('/clubs?columns=id,name', body, {
      prefer: 'return=representation, missing=default',
    })
    yield send('PATCH', '/seasons?id=eq.1', body, full)
  }
  for (const path of [
    '/seasons?columns=id',
    '/seasons?columns=id,name&select=*',
    '/seasons?columns=',
    '/seasons?columns=unknown',
    '/seasons?columns=id,id',
    '/seasons?columns="id"',
    '/seasons?select=id',
    '/seasons?select=unknown',
    '/seasons?select=id::text,n:name',
    '/seasons?id=eq.5',
    '/seasons?limit=1',
    '/seasons?order=id',
  ]) {
    for (const prefer of ['return=representation', 'return=representation, missing=default']) {
      yield post(path, { id: 50, name: 'x' }, { prefer })
      yield post(path, [{ id: 50 }, { id: 51, name: 'y', flag: true }], { prefer })
    }
    yield send('PATCH', path, { counter: 70 }, full)
    yield send('DELETE', path, '', full)
  }
  for (const resolution of ['merge-duplicates', 'ignore-duplicates']) {
    const prefer = `resolution=${resolution}, return=representation`
    yield post('/seasons', { id: 1, name: 'again' }, { prefer })
    yield post(
      '/seasons',
      [
        { id: 1, name: 'again' },
        { id: 77, name: 'new' },
      ],
      { prefer },
    )
    yield post(
      '/seasons',
      [
        { id: 1, name: 'a' },
        { id: 1, name: 'b' },
      ],
      { prefer },
    )
    yield post('/seasons', { id: 77, name: 'new' }, { prefer })
    yield post('/seasons', [], { prefer })
    yield post('/clubs?on_conflict=name', { name: 'Mill Lane', founded: '1900-01-01' }, { prefer })
    yield post('/clubs?on_conflict=name,id', { name: 'Mill Lane' }, { prefer })
    yield post('/clubs?on_conflict=unknown', { name: 'Mill Lane' }, { prefer })
    yield post('/clubs?on_conflict=', { name: 'Mill Lane' }, { prefer })
    yield post('/unkeyed', { a: 1, b: 'y' }, { prefer })
    yield post('/goals', [{ match_id: 1, minute: 3, scorer: 3 }], { prefer })
    yield post('/lineups', { match_id: 1, player_id: 1, minutes: 5 }, { prefer })
    yield post('/lineups', { match_id: 1, player_id: 1 }, { prefer })
    yield post('/seasons?columns=id,name', { id: 1, name: 'z', flag: false }, { prefer })
    yield post('/seasons', { id: 1 }, { prefer: `${prefer}, missing=default` })
  }
  for (const path of [
    '/seasons?id=eq.1',
    '/seasons?id=eq.3',
    '/seasons',
    '/seasons?name=eq.x',
    '/seasons?id=eq.1&name=eq.x',
    '/seasons?id=gt.1',
    '/seasons?id=in.(1)',
    '/seasons?id=not.eq.1',
    '/seasons?or=(id.eq.1)',
    '/seasons?id=eq.1&limit=1',
    '/seasons?id=eq.1&offset=1',
    '/seasons?id=eq.1&select=id',
    '/unkeyed?a=eq.1',
    '/lineups?match_id=eq.1&player_id=eq.1',
    '/lineups?match_id=eq.1',
  ]) {
    yield send('PUT', path, { id: 1, name: 'x', counter: 2, flag: true }, full)
    yield send('PUT', path, [{ id: 1, name: 'x', counter: 2, flag: true }], full)
    yield send('PUT', path, { match_id: 1, player_id: 1, minutes: 3 }, full)
    yield send('PUT', path, [], full)
    yield send('PUT', path, {}, full)
  }
  for (const path of [
    '/players?id=eq.1&select=id,teams(name)',
    '/players?id=lt.3&select=id,...teams(team:name)&order=id.desc',
    '/players?id=lt.3&select=id,label,passports(number)&order=id',
    '/players?id=lt.4&select=id&order=id&teams.name=eq.x',
    '/players?id=lt.4&select=id,teams!inner(name)&order=id',
    '/players?or=(id.eq.1,id.eq.2)&select=id&order=id',
    '/players?select=id&order=id&name=like.*a',
    '/players?id=eq.99&select=id',
    '/players?id=eq.1&select=matches(id)&matches.order=id',
  ]) {
    yield send('PATCH', path, { height: 1.9 }, full)
    yield send('PATCH', path, { height: 1.9 }, { ...full, ...object })
    yield send('PATCH', path, { height: 1.9 }, { prefer: 'return=headers-only' })
    yield send('PATCH', path, { height: 1.9 }, { ...full, accept: 'text/csv' })
  }
  for (const path of [
    '/lineups?match_id=eq.2',
    '/lineups?select=match_id,players(name)&match_id=eq.2',
  ]) {
    yield send('DELETE', path, '', full)
    yield send('DELETE', path, '', { ...full, ...object })
    yield send('DELETE', path, '{"a":1}', full)
  }
  yield post('/lineups', { match_id: 2, player_id: 4 }, { prefer: 'return=headers-only' })
  yield post(
    '/lineups?select=minutes',
    { match_id: 2, player_id: 4 },
    { prefer: 'return=headers-only' },
  )
  yield post('/unkeyed', { a: 5 }, { prefer: 'return=headers-only' })
  yield post('/unkeyed', [{ a: 5 }, { a: 6 }], { prefer: 'return=headers-only' })
  yield post('/teams?select=name,clubs(name)', { id: 90, name: 'x', club_id: 1 }, full)
  yield post(
    '/teams?select=name,clubs(name)',
    { id: 90, name: 'x', club_id: 1 },
    { ...full, ...object },
  )
  yield post('/teams?select=name', { id: 90, name: 'x', club_id: 999 }, full)
  yield post('/passports', { player_id: 2, number: '9'.repeat(30) }, full)
  yield post('/grounds', { name: 'x', loud: 'y' }, full)
  yield post('/grounds', { id: 8, name: 'x' }, full)
  yield post(
    '/grounds?select=name,loud,place,places,gates,mood,seats,opened,price,plan,notes',
    {
      name: 'x',
      place: { street: 's', no: 1 },
      places: [{ street: 'a', no: 2 }],
      gates: [1, 2],
      mood: 'sad',
      seats: 5,
      opened: '2020-01-01',
      price: 1.005,
      plan: '\\x01',
      notes: { z: 1, a: 2 },
    },
    full,
  )
  yield post('/grounds', { name: 'x', mood: 'angry' }, full)
  yield post('/grounds', { name: 'x', seats: -5 }, full)
  yield post('/grounds', { name: 'x', gates: '{1,2}' }, full)
  yield post('/grounds', { name: 'x', gates: 'nonsense' }, full)
  yield post('/squads', { squad_id: 88, name: 'x' }, full)
  yield post('/club_names', { name: 'x' }, full)
  yield post('/unknown', { name: 'x' }, full)
  yield send('PATCH', '/unknown', { name: 'x' }, full)
  yield send('DELETE', '/unknown', '', full)
  yield { ...post('/clubs', row), role: undefined }
  yield { ...send('DELETE', '/clubs?id=eq.1', ''), role: undefined }
  const typed = (type, body) =>
    post('/seasons?select=id,name', body, { ...full, 'content-type': type })
  yield typed('text/csv', 'id,name\n50,x\n51,NULL')
  yield typed('text/csv', 'id,name\r\n50,"x, ""y"""\r\n')
  yield typed('text/csv', 'id,name\n50\n')
  yield typed('text/csv', '')
  yield typed('text/csv', 'id,unknown\n1,2')
  yield typed('text/csv; charset=utf-8', 'id\n50')
  yield typed('application/x-www-form-urlencoded', 'id=50&name=x+y%21')
  yield typed('application/x-www-form-urlencoded', 'id=50&id=51')
  yield typed('application/x-www-form-urlencoded', '')
  yield typed('application/json; charset=utf-8', '{"id":50}')
  yield typed('application/vnd.api+json', '{"id":50}')
  yield typed('text/plain', '{"id":50}')
  yield typed('application/octet-stream', '{"id":50}')
  yield typed('text/html', '{"id":50}')
}

function* calls() {
  yield* [
    '/rpc/add?a=1&b=2',
    '/rpc/add?a=1',
    '/rpc/add?b=1',
    '/rpc/add',
    '/rpc/add?a=1&c=2',
    '/rpc/add?a=x',
    '/rpc/add?a=',
    '/rpc/add?a=1&a=2',
    '/rpc/add?a=1&b=eq.2',
    '/rpc/named?a=1',
    '/rpc/named?a=1&b=x y',
    '/rpc/both?a=1',
    '/rpc/both?a=1&b=2',
    '/rpc/both?b=2',
    '/rpc/both?a=1&b=2&c=3',
    '/rpc/which?a=1',
    '/rpc/sum_of?numbers={4,5}',
    '/rpc/sum_of?numbers=4',
    '/rpc/sum_of?numbers=4&numbers=5',
    '/rpc/many?names=a&names=b',
    '/rpc/many?names=a',
    '/rpc/many?names={a,b}',
    '/rpc/many?names=is.great',
    '/rpc/many?names=in.foo',
    '/rpc/many?names=not.foo',
    '/rpc/many?names=eqx',
    '/rpc/many',
    '/rpc/variadic_ints?v=1&v=2',
    '/rpc/variadic_ints',
    '/rpc/nothing',
    '/rpc/forget',
    '/rpc/no_row',
    '/rpc/no_rows',
    '/rpc/null_text',
    '/rpc/table_of?n=2',
    '/rpc/table_of?n=3&id=gt.1',
    '/rpc/table_of?n=3&select=double&id=gt.1',
    '/rpc/table_of?n=3&id=eq.2&order=double.desc&limit=1',
    '/rpc/table_of?n=3&n=eq.2',
    '/rpc/pair',
    '/rpc/pair?select=a',
    '/rpc/inout_pair?a=1&b=x',
    '/rpc/one_out',
    '/rpc/array_of',
    '/rpc/json_of',
    '/rpc/set_of_json',
    '/rpc/composite_of',
    '/rpc/composite_of?select=street',
    '/rpc/set_of_composite',
    '/rpc/set_of_composite?select=no&street=eq.Quay',
    '/rpc/record_of',
    '/rpc/takes_place?p=(Quay,7)',
    '/rpc/takes_place?p={"street":"x"}',
    '/rpc/takes_array?p={1,2}',
    '/rpc/takes_json?p={"a":1}',
    '/rpc/takes_json?p=nonsense',
    '/rpc/takes_mood?p=glad',
    '/rpc/takes_mood?p=angry',
    '/rpc/takes_positive?p=-1',
    '/rpc/numbers',
    '/rpc/numbers?limit=1&offset=1',
    '/rpc/numbers?order=numbers',
    '/rpc/numbers?numbers=gt.1',
    '/rpc/totals',
    '/rpc/oldest_club',
    '/rpc/oldest_club?select=name',
    '/rpc/oldest_club?select=name,teams(name)&teams.order=id',
    '/rpc/set_of_clubs?order=id.desc&limit=2',
    '/rpc/set_of_clubs?select=id,teams(id)&teams.order=id&teams.limit=1',
    '/rpc/set_of_clubs?select=id,teams!inner(id)&teams.id=eq.3',
    '/rpc/set_of_clubs?select=id,whole,grounds_of(name)',
    '/rpc/set_of_clubs?name=like.M*&select=id',
    '/rpc/set_of_clubs?or=(id.eq.1,id.eq.3)&select=id',
    '/rpc/set_of_clubs?unknown=eq.1',
    '/rpc/set_of_clubs?select=unknown',
    '/rpc/team_players?team=1&select=name,teams(name)&order=id',
    '/rpc/unknown',
    '/rpc/ad?a=1',
    '/rpc/found_club?name=x',
    '/rpc/label',
    '/rpc/plain',
    '/rpc/plain?=x',
    '/rpc/echo',
    '/rpc/teapot',
  ].map((path) => get(path))
  const bodies = [
    ['/rpc/add', { a: 1, b: 2 }],
    ['/rpc/add', { a: '1' }],
    ['/rpc/add', { a: null }],
    ['/rpc/add', { a: 1, b: 2, c: 3 }],
    ['/rpc/add', {}],
    ['/rpc/add', ''],
    ['/rpc/add', '[]'],
    ['/rpc/add', [{ a: 1 }]],
    ['/rpc/add', '1'],
    ['/rpc/add', '{"a":1,"a":2}'],
    ['/rpc/add?a=1', { a: 2 }],
    ['/rpc/add?columns=a', { a: 2, b: 3 }],
    ['/rpc/add?columns=a', { a: 2, c: 3 }],
    ['/rpc/both', { a: 1 }],
    ['/rpc/both', { a: 1, b: 1 }],
    ['/rpc/which', { a: 1 }],
    ['/rpc/many', { names: ['a', 'b'] }],
    ['/rpc/many', { names: 'a' }],
    ['/rpc/many', {}],
    ['/rpc/sum_of', { numbers: [1, 2] }],
    ['/rpc/sum_of', { numbers: '{1,2}' }],
    ['/rpc/sum_of', { numbers: [] }],
    ['/rpc/takes_place', { p: { street: 'x', no: 1 } }],
    ['/rpc/takes_array', { p: [1, 2] }],
    ['/rpc/takes_json', { p: [1, { a: 'b' }] }],
    ['/rpc/takes_json', { p: 'text' }],
    ['/rpc/takes_json', { p: null }],
    ['/rpc/takes_mood', { p: 'glad' }],
    ['/rpc/takes_mood', { p: 'angry' }],
    ['/rpc/echo', { a: 1 }],
    ['/rpc/echo', [1, 2]],
    ['/rpc/echo', '"x"'],
    ['/rpc/echo', '{'],
    ['/rpc/binary', { b: 1, a: 2 }],
    ['/rpc/nothing', {}],
    ['/rpc/nothing', { a: 1 }],
    ['/rpc/forget', {}],
    ['/rpc/unknown', { a: 1 }],
    ['/rpc/unknown', {}],
    ['/rpc/ad', { a: 1 }],
    ['/rpc/table_of?select=id&order=id.desc', { n: 2 }],
    ['/rpc/team_players?select=name&order=id', { team: 1 }],
    ['/rpc/found_club', { name: 'made' }],
    ['/rpc/teapot', {}],
    ['/rpc/set_of_clubs', {}],
  ]
  for (const [path, body] of bodies) {
    yield post(path, body)
    yield post(path, body, { prefer: 'return=minimal' })
    yield post(path, body, { prefer: 'count=exact' })
  }
  yield post('/rpc/set_of_clubs?limit=1', {}, { prefer: 'count=exact' })
  yield post('/rpc/set_of_clubs', {}, { prefer: 'handling=strict, max-affected=1' })
  yield post('/rpc/set_of_clubs', {}, { range: '0-0' })
  yield get('/rpc/set_of_clubs', { range: '0-0' })
  yield get('/rpc/set_of_clubs', { range: '0-0', prefer: 'count=exact' })
  yield get('/rpc/set_of_clubs?limit=2', { prefer: 'count=exact' })
  yield get('/rpc/numbers?limit=2', { prefer: 'count=exact' })
  yield get('/rpc/add?a=1', { prefer: 'count=exact' })
  for (const type of [
    'text/plain',
    'text/xml',
    'application/octet-stream',
    'application/x-www-form-urlencoded',
    'text/csv',
    'image/png',
  ]) {
    yield post('/rpc/plain', 'héllo', { 'content-type': type })
    yield post('/rpc/mark', '<a>b</a>', { 'content-type': type })
    yield post('/rpc/size', 'abc', { 'content-type': type })
    yield post('/rpc/add', 'a=1&b=2', { 'content-type': type })
    yield post('/rpc/echo', '{}', { 'content-type': type })
    yield post('/rpc/many', 'names=a&names=b', { 'content-type': type })
  }
  // Not 40001 and 40P01, after which the peer tries again for ever.
  for (const state of [
    'P0001',
    'PT402',
    'PT999',
    'PTABC',
    '23505',
    '23503',
    '42501',
    '42883',
    '42P01',
    '42P17',
    '57014',
    '54001',
    '53300',
    '53400',
    '08006',
    '09000',
    '0L000',
    '0P000',
    '21000',
    '22023',
    '22P02',
    '25006',
    '25000',
    '26000',
    '28000',
    '2D000',
    '38000',
    '39000',
    '3B000',
    '42601',
    '44000',
    '55006',
    '57P01',
    '58000',
    'F0000',
    'HV000',
    'XX000',
    'P0002',
    'PGRST',
    'ZZZZZ',
    '01000',
    '02000',
    '0A000',
  ]) {
    yield post('/rpc/raises', { state })
    yield { ...post('/rpc/raises', { state }), role: undefined }
  }
  for (const how of ['plain', 'status', 'whole', 'status-setting', 'header-setting', 'nonsense']) {
    yield post('/rpc/refuse', { how })
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) yield send(method, '/rpc/add', {})
}

/** Parameters without a name, and functions that cannot be told apart. */
function* unnamed() {
  for (const name of [
    'plain',
    'mark',
    'size',
    'echo',
    'plain_or',
    'gives_one',
    'none_or',
    'entire',
  ]) {
    yield post(`/rpc/${name}`, { '': '<a/>' })
    yield post(`/rpc/${name}`, { '': '<a/>', b: 1 })
    yield post(`/rpc/${name}`, '=%3Ca/%3E', { 'content-type': 'application/x-www-form-urlencoded' })
    yield post(`/rpc/${name}`, '<a/>', { 'content-type': 'text/plain; charset=utf-8' })
    yield get(`/rpc/${name}`)
  }
  for (const name of ['none_or', 'longer', 'hidden', 'pick', 'entire']) {
    yield post(`/rpc/${name}`, {})
    yield post(`/rpc/${name}`, { a: 1 })
    yield get(`/rpc/${name}?a=1`)
  }
}

/** Yields requests of names of which there are two: embeds, and columns of views. */
function* twice() {
  yield* [
    '/clubs?select=id,teams(id),teams(name)',
    '/clubs?select=id,a:teams(id),a:teams(name)',
    '/players?select=id,...teams(a:id),...teams(name)',
    '/teams?select=clubs(id),clubs(name)',
    '/clubs?select=squad(*)',
    '/clubs?select=motta(*)',
    '/pairs?select=clubs(*)',
    '/clubs?select=pairs(*)',
    '/pairs?select=people(*)',
    '/people?select=pairs(*)',
    '/pairs?select=doubled(*)',
    '/chained?select=clubs(*)',
    '/chained?select=doubled(*)',
    '/doubled?select=teams(*)',
    '/teams?select=doubled(*)',
    '/pairs?select=a:clubs!first_club(name),b:clubs!second_club(name)',
  ].map((path) => get(path))
  yield post('/doubled', { id: 77, name: 'x' }, { prefer: 'return=headers-only' })
}

function* domains() {
  yield* [
    '/kits?order=id',
    '/kits?select=id,main,trim,price&order=id',
    '/kits?select=shade:main,main::text&order=id',
    '/kits?select=id&main=eq.%23ffffff',
    '/kits?select=id&main=eq.ffffff',
    '/kits?select=id&main=in.(%23ffffff,000000)&order=id',
    '/kits?select=id&main=not.in.(%23ffffff)&order=id',
    '/kits?select=id&main=gt.000000&order=id',
    '/kits?select=id&main=isdistinct.ffffff&order=id',
    '/kits?select=id&or=(main.eq.ffffff,trim.eq.000001)&order=id',
    '/kits?select=id&trim=is.null',
    '/kits?select=id&main=eq.nonsense',
    '/kits?select=id&order=main.desc',
    '/kit_list?order=id',
    '/kit_list?main=eq.ffffff',
    '/clubs?select=name,kits(main,price)&order=id&kits.order=id',
    '/clubs?select=name,kits!inner(id)&kits.main=eq.000000',
    '/rpc/kits_of?club=1',
    '/rpc/kits_of?club=1&main=eq.ffffff',
    '/rpc/favourite',
  ].map((path) => get(path))
  for (const body of [
    { id: 50, main: '#0000ff' },
    { id: 50, main: '00ff00', trim: null, price: 7.25 },
    { id: 50, main: 'nonsense' },
    { id: 50 },
    [
      { id: 50, main: '#1' },
      { id: 51, main: '#2' },
    ],
  ]) {
    yield post('/kits?order=id', body, full)
    yield post('/kits?columns=id,main&order=id', body, {
      prefer: `${full.prefer}, missing=default`,
    })
    yield post('/kit_list', body, full)
  }
  yield send('PATCH', '/kits?main=eq.ffffff', { main: '#abcdef' }, full)
  yield send('DELETE', '/kits?main=eq.ffffff&select=main', '', full)
}

function* handlers() {
  for (const path of [
    '/rpc/motto',
    '/rpc/feed',
    '/rpc/keystream?size=3',
    '/rpc/crest',
    '/rpc/plain',
    '/rpc/anything',
    '/players?id=lt.3&order=id',
    '/players?select=id,name&id=lt.3&order=id',
    '/rpc/team_players?team=1',
    '/clubs?order=id',
    '/clubs?select=id,name&order=id',
    '/teams.txt?order=id',
    '/teams.txt?select=name&order=id',
  ]) {
    for (const accept of [
      'text/plain',
      'text/xml',
      'text/csv',
      'image/png',
      'application/octet-stream',
      'application/json',
      'application/vnd.squad',
      'text/x-lines',
      'text/x-kit',
      '*/*',
      'odd/type',
      'application/vnd.pgrst.object+json',
    ]) {
      yield get(path, { accept })
    }
  }
}

function* schemas() {
  for (const profile of ['league', 'archive', 'secret', '', 'LEAGUE', 'league,archive']) {
    yield get('/clubs?order=id', { 'accept-profile': profile })
    yield get('/clubs?order=id', { 'content-profile': profile })
    yield post('/clubs', { id: 100, name: 'x' }, { 'content-profile': profile })
    yield post('/clubs', { id: 100, name: 'x' }, { 'accept-profile': profile })
    yield get('/rpc/add?a=1', { 'accept-profile': profile })
    yield post('/rpc/add', { a: 1 }, { 'content-profile': profile })
  }
}

function* tokens() {
  yield { ...get('/clubs?order=id'), role: 'authenticated' }
  yield { ...get('/secrets'), role: 'authenticated' }
  yield get('/secrets')
  yield { ...get('/clubs'), role: 'nobody' }
  yield { ...get('/clubs'), role: 'postgres' }
  for (const authorization of [
    'Bearer x',
    'Bearer a.b',
    'Bearer a.b.c',
    'Basic x',
    'bearer x',
    'x',
  ]) {
    yield get('/clubs?order=id', { authorization })
  }
  for (const prefer of [
    'timezone=America/Los_Angeles',
    'timezone=Mars/Olympus, handling=strict',
    'handling=strict',
    'handling=strict, count=exact, return=minimal',
    'handling=strict, count=exact, nope',
    'count=exact, count=planned',
    'COUNT=exact',
    'count = exact',
    'count=exact;x=1',
    'tx=commit',
    'tx=rollback',
    'tx=rollback, count=exact, return=representation, handling=lenient, missing=default',
  ]) {
    yield get('/clubs?order=id', { prefer })
    yield { ...get('/clubs?order=id', { prefer }), method: 'HEAD' }
    yield get('/rpc/numbers', { prefer })
  }
}

function* options() {
  for (const path of [
    '/clubs',
    '/squads',
    '/first_squads',
    '/club_names',
    '/adults',
    '/goals',
    '/unknown',
    '/rpc/add',
    '/rpc/found_club',
    '/rpc/unknown',
    '/',
  ]) {
    yield { method: 'OPTIONS', path }
  }
  for (const method of ['TRACE2', 'BREW', 'COPY']) {
    for (const path of ['/clubs', '/rpc/add', '/']) yield { method, path }
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) yield send(method, '/', {})
}

const refusals = [
  '/players?select=count',
  '/players?id=eq.1%00',
  '/players?id=eq.%FF',
  '/players?data->>"a\'b"=eq.x',
  "/players?name=eq.';drop table x;--",
  '/players?name=eq.%2525',
  '/players?name=eq.a+b',
  '/players?select=id&name=eq.%zz',
  '/clubs%3Fid=eq.1',
  '/cl%75bs?select=id&order=id',
]
