/** Finds the files of a project: of the Supabase CLI, or of Basalt, which may have them without `supabase/`. */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'

import { scanClient, scanFunction, scanImportMap } from './scan-code.ts'
import { scanConfig, type Config } from './scan-config.ts'
import { scanSql } from './scan-sql.ts'
import type { Value } from './toml.ts'
import type { Source, Use } from './use.ts'

/** Thrown for a folder that has no project, or one that cannot be read. */
export class ProjectError extends Error {
  override name = 'ProjectError'
}

const sourceFile = /(?<!\.d)\.(?:[cm]?[jt]sx?|vue|svelte|astro)$/
const testFile = /\.(?:test|spec|stories)\.\w+$/

/** Folders of what is made, fetched, or tests the project. */
const otherFolders =
  /^(?:\..*|node_modules|dist|build|out|target|coverage|vendor|test|tests|__tests__|e2e|bench|examples?)$/

/** In characters; larger sources are made by programs. */
const sizeLimit = 2 ** 20

/** Finds what a project uses. Throws a ProjectError. */
export async function scanProject(folder: string): Promise<Use[]> {
  const base = await baseOf(folder)
  const read = async (file: string): Promise<Source> => ({
    file: path.relative(folder, file).replaceAll(path.sep, '/'),
    text: await readFile(file, 'utf8'),
  })
  const readAll = (files: readonly string[]) => Promise.all(files.map(read))
  const configFile = path.join(base, 'config.toml')
  const config = (await isThere(configFile)) ? configOf(await read(configFile)) : nothing
  const sql = await sqlFiles(base, config.values)
  const functionsFolder = path.join(
    base,
    textOf(config.values.get('basalt.functions_path'), 'functions'),
  )
  const functions = await functionsIn(functionsFolder, config.values)
  if (config === nothing && sql.length === 0 && functions.length === 0) {
    throw new ProjectError(`${folder} has no project: no config.toml, migrations or functions`)
  }
  const functionFiles = functions.length > 0 ? await filesBelow(functionsFolder) : []
  const clientFiles = (await filesBelow(folder)).filter(
    (file) =>
      isSource(file) &&
      !isWithin(file, functionsFolder) &&
      !isWithin(file, base === folder ? '' : base),
  )
  const exposed = config.values.get('api.schemas')
  const schemas = Array.isArray(exposed) ? exposed.map(String) : ['public']
  const clients = (await readAll(clientFiles)).filter(({ text }) => text.length < sizeLimit)
  return [
    ...config.uses,
    ...scanSql(await readAll(sql), config.values.get('api.enabled') === false ? [] : schemas),
    ...functions.map(({ name, file }) => ({
      ...{ feature: 'functions.served', name: '', thing: name, line: 1 },
      file: path.relative(folder, file).replaceAll(path.sep, '/'),
    })),
    ...(await readAll(functionFiles.filter(isSource))).flatMap(scanFunction),
    ...(await readAll(functionFiles.filter(isImportMap))).flatMap(scanImportMap),
    // What looks like a call of the client is one only where there is a client.
    ...(clients.some(({ text }) => /supabase/i.test(text)) ? clients.flatMap(scanClient) : []),
  ]
}

const nothing: Config = { values: new Map(), uses: [] }

async function baseOf(folder: string): Promise<string> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new ProjectError(`${folder} is no folder`)
  const inner = path.join(folder, 'supabase')
  // As Basalt has it: the Supabase CLI's file first, then one in the folder itself.
  for (const base of [inner, folder]) if (await isThere(path.join(base, 'config.toml'))) return base
  return (await isThere(inner)) ? inner : folder
}

function configOf(source: Source): Config {
  try {
    return scanConfig(source)
  } catch (error) {
    throw new ProjectError(`${source.file}: ${(error as Error).message}`)
  }
}

async function sqlFiles(base: string, values: ReadonlyMap<string, Value>): Promise<string[]> {
  const migrations = textOf(values.get('basalt.migrations_path'), 'migrations')
  const seeds =
    values.get('db.seed.enabled') === false
      ? []
      : listOf(values.get('db.seed.sql_paths'), ['seed.sql'])
  const patterns = [
    'roles.sql',
    ...listOf(values.get('db.migrations.schema_paths'), []),
    ...(values.get('db.migrations.enabled') === false ? [] : [`${migrations}/*.sql`]),
    ...seeds,
  ]
  const found = await Promise.all(patterns.map((pattern) => glob(base, pattern)))
  return [...new Set(found.flat())]
}

/** Returns the functions that are served: each folder with a beginning, except those that the settings turn off. */
async function functionsIn(
  folder: string,
  values: ReadonlyMap<string, Value>,
): Promise<{ name: string; file: string }[]> {
  const names = (await entries(folder)).filter(
    (one) => one.isDirectory() && /^[^._]/.test(one.name),
  )
  const found = await Promise.all(
    names.map(async ({ name }) => {
      if (values.get(`functions.${name}.enabled`) === false) return []
      const own = textOf(values.get(`functions.${name}.entrypoint`), '')
      const inside = (await entries(path.join(folder, name))).find((file) =>
        /^index\.(ts|tsx|js|mjs)$/.test(file.name),
      )
      if (own === '' && !inside) return []
      return [{ name, file: path.join(folder, name, inside?.name ?? '') }]
    }),
  )
  return found.flat()
}

/** Returns the files that a pattern with `*` and `?` names, by name; `**` is any number of folders. */
async function glob(base: string, pattern: string): Promise<string[]> {
  const steps = path.normalize(pattern).split(path.sep)
  const fixed = steps.findIndex((step) => /[*?]/.test(step))
  if (fixed < 0) {
    const file = path.join(base, pattern)
    return (await isThere(file)) ? [file] : []
  }
  const root = path.join(base, ...steps.slice(0, fixed))
  const expression = steps
    .slice(fixed)
    .map((step) => (step === '**' ? '(?:[^/]+/)*' : `${asExpression(step)}/`))
    .join('')
    .replace(/\/$/, '')
  const matches = new RegExp(`^${expression}$`)
  const files = await filesBelow(
    root,
    /^$/,
    steps.slice(fixed).includes('**') ? Infinity : steps.length - fixed,
  )
  return files.filter((file) => matches.test(path.relative(root, file).replaceAll(path.sep, '/')))
}

function asExpression(step: string): string {
  return step
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^/]*')
    .replaceAll('?', '[^/]')
}

/** Returns all files below a folder, without the folders that are no part of the project. */
async function filesBelow(
  folder: string,
  without = otherFolders,
  depth = Infinity,
): Promise<string[]> {
  if (depth === 0) return []
  const inner = await Promise.all(
    (await entries(folder)).map(async (entry) => {
      const place = path.join(folder, entry.name)
      if (entry.isFile()) return [place]
      return entry.isDirectory() && !without.test(entry.name)
        ? filesBelow(place, without, depth - 1)
        : []
    }),
  )
  return inner.flat().sort()
}

async function entries(folder: string) {
  return readdir(folder, { withFileTypes: true }).catch(() => [])
}

async function isThere(place: string): Promise<boolean> {
  return stat(place).then(
    () => true,
    () => false,
  )
}

function isSource(file: string): boolean {
  return sourceFile.test(file) && !testFile.test(file)
}

function isImportMap(file: string): boolean {
  return /^(?:deno\.jsonc?|import_map\.json)$/.test(path.basename(file))
}

function isWithin(file: string, folder: string): boolean {
  return folder !== '' && file.startsWith(folder + path.sep)
}

function textOf(value: Value | undefined, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function listOf(value: Value | undefined, otherwise: readonly string[]): readonly string[] {
  return Array.isArray(value) ? value.map(String) : otherwise
}
