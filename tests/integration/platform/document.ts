// `schemas.json` has what the Management API's OpenAPI document (MIT) says of the responses of the operations that Basalt
// has: for each "<method> <path>" the status and the schema of its response with 2xx, and the schemas that these refer to,
// without descriptions, examples and extensions (`x-…`). It is made anew by a script of twenty lines that walks `paths`
// of the document, keeps these two of each operation, and collects `#/components/schemas/…` until nothing is missing.

import document from './schemas.json' with { type: 'json' }

/** The part of OpenAPI 3.0's schema objects that the Management API's document uses. */
interface Schema {
  $ref?: string
  type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean'
  nullable?: boolean
  enum?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean | number
  minItems?: number
  maxItems?: number
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  items?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
}

/** Texts that have a format; other formats are those of numbers, which `type` covers. */
const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^[a-z][a-z0-9+.-]*:/i,
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns in which ways `value` differs from `schema`: each with the place in the value, and what is expected there.
 * `schemas` are those that `$ref` refers to.
 */
function differences(
  value: unknown,
  schema: Schema,
  schemas: Record<string, Schema>,
  place = '$',
): string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    const referred = schemas[name]
    return referred ? differences(value, referred, schemas, place) : [`${place}: unknown ${name}`]
  }
  if (value === null && schema.nullable === true) return []
  const at = (message: string) => `${place}: expected ${message}, found ${JSON.stringify(value)}`
  const of = (one: Schema) => differences(value, one, schemas, place)
  const found: string[] = []
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives) {
    const all = alternatives.map(of)
    if (!all.some((differing) => differing.length === 0))
      found.push(at(`one of ${String(alternatives.length)} schemas (${all.flat().join('; ')})`))
  }
  for (const one of schema.allOf ?? []) found.push(...of(one))
  const kinds = {
    object: isObject(value),
    array: Array.isArray(value),
    string: typeof value === 'string',
    number: typeof value === 'number',
    integer: Number.isInteger(value),
    boolean: typeof value === 'boolean',
  }
  if (schema.type && !kinds[schema.type]) return [...found, at(schema.type)]
  if (schema.enum && !schema.enum.includes(value)) found.push(at(JSON.stringify(schema.enum)))
  if (typeof value === 'string') found.push(...ofText(value, schema).map(at))
  if (typeof value === 'number') found.push(...ofNumber(value, schema).map(at))
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Infinity, items = {} } = schema
    if (value.length < minItems || value.length > maxItems) found.push(at('another length'))
    for (const [index, one] of value.entries())
      found.push(...differences(one, items, schemas, `${place}[${String(index)}]`))
  }
  if (isObject(value)) {
    const { required = [], properties = {}, additionalProperties = true } = schema
    for (const name of required) if (!(name in value)) found.push(`${place}.${name}: is missing`)
    for (const [name, one] of Object.entries(value)) {
      const more = additionalProperties === true ? {} : additionalProperties
      const own = properties[name] ?? more
      if (own === false) found.push(`${place}.${name}: unexpected`)
      else found.push(...differences(one, own, schemas, `${place}.${name}`))
    }
  }
  return found
}

/** Returns what is expected of a text and does not hold. */
function ofText(value: string, { minLength = 0, maxLength = Infinity, pattern, format }: Schema) {
  const found: string[] = []
  if (value.length < minLength || value.length > maxLength) found.push('another length')
  if (pattern !== undefined && !new RegExp(pattern).test(value)) found.push(pattern)
  const form = format === undefined ? undefined : FORMATS[format]
  if (form && !form.test(value)) found.push(format ?? '')
  return found
}

/** Returns what is expected of a number and does not hold. */
function ofNumber(value: number, { minimum = -Infinity, maximum = Infinity, ...more }: Schema) {
  const { exclusiveMinimum = false } = more
  const found: string[] = []
  if (value < minimum || value > maximum) found.push(`${String(minimum)} to ${String(maximum)}`)
  const bound = exclusiveMinimum === true ? minimum : exclusiveMinimum
  if (bound !== false && value <= bound) found.push(`more than ${String(bound)}`)
  return found
}

/** What is documented of an operation's response with 2xx. */
export interface Operation {
  status: number
  schema: Schema | null
}

/** All operations of Basalt, by `<method> <path>`. */
export const operations = document.operations as Record<string, Operation>
const schemas = document.schemas as unknown as Record<string, Schema>

// Lints and kinds of objects that upstream's own linter has, and the document lacks. The Supabase CLI takes them.
const lint = schemas.V1ProjectAdvisorsResponse?.properties?.lints?.items?.properties
for (const names of [lint?.name, lint?.metadata?.properties?.type]) delete names?.enum

/** Returns in which ways what an operation has returned differs from what is documented. */
export const deviations = (operation: string, body: unknown) => {
  const schema = operations[operation]?.schema
  return schema ? differences(body, schema, schemas) : []
}
