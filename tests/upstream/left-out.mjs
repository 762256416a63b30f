/**
 * The browser tests that have no meaning on upstream's services, by what they need that is absent there: whole files, or
 * the beginnings of tests' titles behind their file.
 * @type {Record<string, string[]>}
 */
const absent = {
  Realtime: ['realtime.spec.ts', "home.spec.ts an admin's edit shows at once"],
  'Edge Functions': ['functions.spec.ts'],
  'pictures in other sizes (imgproxy)': ['pictures.spec.ts on a phone '],
  'heads, first screens and statuses of pages, which Basalt writes and a static host does not': [
    'heads.spec.ts',
    'home.spec.ts an unknown path is a page that says so, with status 404',
  ],
  'headers that are exposed to other origins, which the gateway of the containers does not do': [
    'storage.spec.ts a page of another origin reads which part of which version it got',
  ],
  'files that are kept from running scripts, which Storage alone does not do': [
    'storage.spec.ts a script in a file runs nothing under the API’s origin',
  ],
  'a command of Basalt: gen types': ['types.spec.ts'],
  'a server that starts its Postgres again': ['resilience.spec.ts'],
}

/** What is left out, in one line each, with what it needs. */
export const leftOut = Object.entries(absent).flatMap(([needed, tests]) =>
  tests.map((test) => `${test.trim()}: needs ${needed}`),
)

/** What the full title of a test matches that is left out. */
export const pattern = Object.values(absent)
  .flat()
  .map((test) => `(^|[ /])${test.replace(/[^\w ']/g, '\\$&')}`)
  .join('|')
