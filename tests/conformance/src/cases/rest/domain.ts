import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/domain_representations.html'

export const domain = group('rest.domain', {
  title: 'Representations of domains',
  source: docs,
  needs: ['sql', 'service'],
})

domain.case(
  'response',
  'a value is shown as its cast to JSON',
  { source: `${docs}#domain-response-format` },
  async (t) => {
    const key = t.unique('paint')
    await t.rows('conformance_paints', [{ key, colour: '#00ff10' }], 'key')
    await t.get(`conformance_paints?key=eq.${key}`).is(200, [{ key, colour: '#00ff10' }])
  },
)

domain.case(
  'filter',
  'a value of a filter is read by the cast from text',
  { source: `${docs}#domain-filter-format` },
  async (t) => {
    const [key, other] = [t.unique('paint'), t.unique('other')]
    const rows = [
      { key, colour: '#0000ab' },
      { key: other, colour: '#0000cd' },
    ]
    await t.rows('conformance_paints', rows, 'key')
    await t
      .get(`conformance_paints?select=key&colour=eq.%230000ab&key=in.(${key},${other})`)
      .is(200, [{ key }])
    await t
      .get(`conformance_paints?select=key&colour=in.(%230000cd)&key=in.(${key},${other})`)
      .is(200, [{ key: other }])
  },
)

domain.case(
  'insert',
  'a value of a new row is read by the cast from JSON',
  { source: `${docs}#domain-request-body-format` },
  async (t) => {
    const key = t.unique('paint')
    t.removesRows('conformance_paints', 'key', key)
    const rows = t.anon.from('conformance_paints').insert({ key, colour: '#000102' })
    t.data(await rows.select(), [{ key, colour: '#000102' }])
    await t.get(`conformance_paint_numbers?key=eq.${key}`).is(200, [{ key, colour: 258 }])
  },
)

domain.case(
  'update',
  'a value of a changed row is read by the cast from JSON',
  { source: `${docs}#domain-request-body-format` },
  async (t) => {
    const key = t.unique('paint')
    await t.rows('conformance_paints', [{ key, colour: '#000001' }], 'key')
    await t.patch(`conformance_paints?key=eq.${key}`, { colour: '#000200' }).empty(204)
    await t.get(`conformance_paint_numbers?key=eq.${key}`).is(200, [{ key, colour: 512 }])
  },
)

domain.case(
  'null',
  'a value that is null stays null',
  { source: `${docs}#domain-response-format` },
  async (t) => {
    const key = t.unique('paint')
    await t.rows('conformance_paints', [{ key, colour: null }], 'key')
    await t.get(`conformance_paints?key=eq.${key}`).is(200, [{ key, colour: null }])
  },
)
