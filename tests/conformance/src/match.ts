/** Comparing a response with what is promised, and remembering which parts of it were looked at. */

/** Where a value lies in a JSON document; the step `*` stands for each element of an array. */
export type Path = readonly (string | number)[]

/** One value that a comparison has looked at. */
export interface ComparedValue {
  path: Path
  /** The value that was there. */
  value: unknown
  /** Whether the value itself is promised, or its type alone. */
  exact: boolean
}

/** What a comparison has found. */
export interface Comparison {
  /** The first place where the value is not as promised; null where everything is. */
  mismatch: { path: Path; expected: unknown; got: unknown } | null
  /** The scalars that were looked at. */
  leaves: ComparedValue[]
  /** The elements of arrays whose presence was looked at; an empty path of elements means "no element at all". */
  rows: Path[]
  /** Arrays that are promised to be empty. */
  empties: Path[]
}

/** A promise about a value that is not the value itself. */
export class Matcher {
  constructor(
    readonly description: string,
    readonly compare: (got: unknown, path: Path, found: Comparison) => boolean,
  ) {}

  toJSON(): string {
    return `<${this.description}>`
  }
}

/** Makes a matcher for scalars of one kind. */
export function kind(description: string, test: (got: unknown) => boolean): Matcher {
  return new Matcher(description, (got, path, found) => {
    found.leaves.push({ path, value: got, exact: false })
    return test(got)
  })
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Promises about values of which only the kind is known. */
export const some = {
  string: kind('a string', (got) => typeof got === 'string' && got !== ''),
  number: kind('a number', (got) => typeof got === 'number'),
  boolean: kind('a boolean', (got) => typeof got === 'boolean'),
  uuid: kind('a UUID', (got) => typeof got === 'string' && uuid.test(got)),
  time: kind(
    'a point in time',
    (got) =>
      typeof got === 'string' && /^\d{4}-\d\d-\d\d/.test(got) && !Number.isNaN(Date.parse(got)),
  ),
  token: kind('a JWT', (got) => typeof got === 'string' && got.split('.').length === 3),
  object: kind('an object', (got) => typeof got === 'object' && got !== null),
  array: kind('an array', (got) => Array.isArray(got)),
}

/** Anything, even nothing: the value is not looked at. */
export const anything = new Matcher('anything', () => true)

/** Returns an object with at least these members. */
export function partly(members: Readonly<Record<string, unknown>>): Matcher {
  return new Matcher(`at least ${JSON.stringify(members)}`, (got, path, found) => {
    if (typeof got !== 'object' || got === null) return differ(found, path, members, got)
    const record = got as Record<string, unknown>
    return Object.entries(members).every(([name, expected]) =>
      walk(expected, record[name], [...path, name], found),
    )
  })
}

/** Returns an array that has at least these elements, in any order, among others. */
export function including(...elements: readonly unknown[]): Matcher {
  return new Matcher(`an array with ${JSON.stringify(elements)}`, (got, path, found) =>
    includes(elements, got, path, found, true),
  )
}

/** Returns an array of exactly these elements, in any order. */
export function unordered(...elements: readonly unknown[]): Matcher {
  return new Matcher(`in any order ${JSON.stringify(elements)}`, (got, path, found) => {
    if (Array.isArray(got) && elements.length === 0) return walk([], got, path, found)
    return includes(elements, got, path, found, false) &&
      (got as unknown[]).length === elements.length
      ? true
      : differ(found, path, elements, got)
  })
}

/** Returns an array without any element like this one. */
export function without(element: unknown): Matcher {
  return new Matcher(`an array without ${JSON.stringify(element)}`, (got, path, found) => {
    if (!Array.isArray(got)) return differ(found, path, [], got)
    found.leaves.push({ path, value: got, exact: false })
    return got.every((one: unknown) => compare(element, one).mismatch !== null)
  })
}

/** Compares `got` with `expected`: JSON values, regular expressions for strings, and matchers. */
export function compare(expected: unknown, got: unknown): Comparison {
  const found: Comparison = { mismatch: null, leaves: [], rows: [], empties: [] }
  walk(expected, got, [], found)
  return found
}

/** Compares a value at `path`; false where it is not as promised. */
function walk(expected: unknown, got: unknown, path: Path, found: Comparison): boolean {
  if (expected instanceof Matcher) {
    const fits = expected.compare(got, path, found)
    return fits || differ(found, path, expected, got)
  }
  if (expected instanceof RegExp) {
    found.leaves.push({ path, value: got, exact: true })
    const fits = typeof got === 'string' && expected.test(got)
    return fits || differ(found, path, expected.toString(), got)
  }
  if (Array.isArray(expected)) return walkArray(expected, got, path, found)
  if (typeof expected === 'object' && expected !== null) {
    return walkObject(expected as Record<string, unknown>, got, path, found)
  }
  found.leaves.push({ path, value: got, exact: true })
  return Object.is(expected, got) || differ(found, path, expected, got)
}

function walkArray(expected: unknown[], got: unknown, path: Path, found: Comparison): boolean {
  if (!Array.isArray(got) || got.length !== expected.length)
    return differ(found, path, expected, got)
  if (expected.length === 0) found.empties.push(path)
  else found.rows.push([...path, expected.length - 1])
  return expected.every((one, index) => walk(one, got[index], [...path, index], found))
}

function walkObject(
  expected: Record<string, unknown>,
  got: unknown,
  path: Path,
  found: Comparison,
): boolean {
  if (typeof got !== 'object' || got === null || Array.isArray(got)) {
    return differ(found, path, expected, got)
  }
  const record = got as Record<string, unknown>
  const names = new Set([...Object.keys(expected), ...Object.keys(record)])
  if (names.size === 0) found.leaves.push({ path, value: got, exact: true })
  for (const name of names) {
    const wanted = expected[name]
    const fits =
      wanted === undefined && record[name] !== undefined
        ? differ(found, [...path, name], 'no such member', record[name])
        : walk(wanted, record[name], [...path, name], found)
    if (!fits) return false
  }
  return true
}

function includes(
  elements: readonly unknown[],
  got: unknown,
  path: Path,
  found: Comparison,
  anywhere: boolean,
): boolean {
  if (!Array.isArray(got)) return differ(found, path, elements, got)
  const taken = new Set<number>()
  return elements.every((element) => {
    const index = got.findIndex(
      (one: unknown, at) => !taken.has(at) && compare(element, one).mismatch === null,
    )
    if (index < 0) return differ(found, path, element, got)
    taken.add(index)
    // Among rows of others the next run finds it in another place.
    const at = [...path, anywhere ? '*' : index]
    found.rows.push(at)
    return walk(element, got[index], at, found)
  })
}

function differ(found: Comparison, path: Path, expected: unknown, got: unknown): false {
  found.mismatch ??= { path, expected, got }
  return false
}
