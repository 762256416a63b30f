import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

export const constraint = group('rest.constraint', {
  title: 'What constraints, types and privileges refuse',
  source: `${errors}#http-status-codes`,
  needs: ['sql', 'service'],
})

/** Rows that constraints and types refuse, with the status of the table of errors. */
const refusals: [name: string, promise: string, row: object, status: number, code: string][] = [
  ['null', 'null where a value is needed', { amount: null }, 400, '23502'],
  ['check', 'a value that a check refuses', { amount: -1 }, 400, '23514'],
  [
    'foreign-key',
    'a foreign key that leads nowhere',
    { amount: 1, note_key: 'nowhere' },
    409,
    '23503',
  ],
  ['length', 'a text that is too long', { amount: 1, code: 'too long' }, 400, '22001'],
  ['text', 'a text that is no number', { amount: 'many' }, 400, '22P02'],
  ['number', 'a number that is too great', { amount: 99999999999 }, 400, '22003'],
]

for (const [name, promise, row, status, code] of refusals) {
  constraint.case(name, `${promise} is refused with ${code}`, async (t) => {
    const key = t.unique('refused')
    t.removesRows('conformance_strict', 'key', key)
    await t.post('conformance_strict', { key, ...row }).has(status, { code })
  })
}

constraint.case(
  'null.details',
  'a refusal of Postgres is forwarded with its message and details',
  { source: `${errors}#errors-from-postgresql` },
  async (t) => {
    const key = t.unique('details')
    t.removesRows('conformance_strict', 'key', key)
    t.error(
      await t.anon.from('conformance_strict').insert({ key, amount: null }),
      partly({
        code: '23502',
        message:
          /^null value in column "amount" of relation "conformance_strict" violates not-null/,
        details: /^Failing row contains \(/,
        hint: null,
      }),
    )
  },
)

constraint.case('exclusion', 'rows that exclude one another are refused with 23P01', async (t) => {
  const key = t.unique('overlap')
  const low = Math.floor(Math.random() * 2_000_000_000)
  await t.rows('conformance_strict', [{ key, amount: 1, during: `[${low},${low + 5})` }], 'key')
  const row = { key: `${key}_2`, amount: 1, during: `[${low + 1},${low + 2})` }
  t.removesRows('conformance_strict', 'key', row.key)
  await t.post('conformance_strict', row).has(400, { code: '23P01' })
})

constraint.case(
  'identity',
  'a value for an identity that is always made is refused with 428C9',
  async (t) => {
    const key = t.unique('identity')
    t.removesRows('conformance_always', 'key', key)
    await t.post('conformance_always', { id: 1, key }).has(400, { code: '428C9' })
  },
)

constraint.case('privilege', 'a change of a table that may only be read is refused', (t) =>
  t.patch('conformance_branches?id=eq.1', { name: 'mine' }).has(401, { code: '42501' }),
)
