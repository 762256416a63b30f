/** What cases of the platform have in common: sources, paths, and what they make. */
import type { Context } from './context.ts'

/** Returns the page of the Management API's reference about an operation. */
export function reference(operation: string): string {
  return `https://supabase.com/docs/reference/api/${operation}`
}

/** Returns a path of the server's project: `functions` becomes `projects/REF/functions`. */
export function project(t: Context, path = ''): string {
  return ['projects', t.target.platform?.projectRef ?? '', path].filter(Boolean).join('/')
}

/** Runs SQL of the set-up. */
export async function sql(t: Context, query: string): Promise<void> {
  await t.prepare('POST', project(t, 'database/query'), { query })
}

/** Makes a schema with SQL about `SCHEMA`, and removes it after the case. */
export async function schemaWith(t: Context, query: string): Promise<string> {
  const schema = t.unique('schema')
  t.after(() => sql(t, `drop schema if exists ${schema} cascade`))
  await sql(t, `create schema ${schema}; ${query.replaceAll('SCHEMA', schema)}`)
  return schema
}

/** Returns a name for a function that is removed after the case. */
export function functionName(t: Context): string {
  const slug = t.unique('function').replaceAll('_', '-')
  t.after(() => t.discard(project(t, `functions/${slug}`)))
  return slug
}

/** Returns the text of a function that responds with `text`. */
export function responding(text: string): string {
  return `Deno.serve(() => new Response(${JSON.stringify(text)}))\n`
}

/** What is uploaded of a function: by default its main file alone, and calls need no token. */
interface Upload {
  files?: Record<string, string>
  verifyJwt?: boolean
}

/** Returns a form with the files of a function, as the command line sends it: the main file has the text `main`. */
export function upload(
  slug: string,
  main: string,
  { files = {}, verifyJwt = false }: Upload = {},
): FormData {
  const folder = `supabase/functions/${slug}`
  const metadata = {
    name: slug,
    entrypoint_path: `${folder}/index.ts`,
    verify_jwt: verifyJwt,
  }
  const form = new FormData()
  form.append('metadata', JSON.stringify(metadata))
  for (const [name, text] of Object.entries({ 'index.ts': main, ...files })) {
    form.append('file', new Blob([text]), `${folder}/${name}`)
  }
  return form
}

/** Deploys a function as set-up. */
export async function deployed(t: Context, main: string, options?: Upload): Promise<string> {
  const slug = functionName(t)
  await t.prepare('POST', deployPath(t, slug), upload(slug, main, options))
  return slug
}

/** Returns the path at which a function is deployed. */
export function deployPath(t: Context, slug: string): string {
  return project(t, `functions/deploy?slug=${slug}`)
}

/**
 * Waits until a service responds as `isDone` says: what the platform has changed may take a moment to reach it. The
 * requests are not recorded; the case asks once more and checks.
 */
export async function until(
  t: Context,
  path: string,
  isDone: (status: number, text: string) => boolean,
  headers: Record<string, string> = {},
): Promise<void> {
  const end = performance.now() + t.patience
  do {
    const response = await fetch(`${t.target.url}${path}`, { headers, redirect: 'manual' })
    if (isDone(response.status, await response.text())) return
    await t.pause(100)
  } while (performance.now() < end)
}
