import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import type { LookupFunction } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Gives a namespace of mounts an `/etc/hosts` of its own, and becomes the program. */
const SCRIPT = 'mount --bind "$0" /etc/hosts && exec "$@"'

/** A name that leads to this machine. */
export interface Host {
  name: string
  /** The words before the command line of a program that is to find it. */
  entering: string[]
}

/**
 * Makes `name` lead to this machine for programs that are started with `entering`, by a file in `folder`. Where no
 * namespace can be made, which needs root or its like, the name is `localhost`.
 */
export async function host(folder: string, name: string): Promise<Host> {
  const file = path.join(folder, 'hosts')
  await writeFile(file, `127.0.0.1 localhost ${name}\n`)
  const [program, ...words] = ['unshare', '--mount', 'sh', '-c', SCRIPT, file] as const
  const isAllowed = await run(program, [...words, 'true']).then(
    () => true,
    () => false,
  )
  return isAllowed ? { name, entering: [program, ...words] } : { name: 'localhost', entering: [] }
}

/** Finds every name on this machine, for clients outside of the namespace. */
export const lookup: LookupFunction = (_name, { all }, found) => {
  const address = '127.0.0.1'
  if (all === true) found(null, [{ address, family: 4 }])
  else found(null, address, 4)
}
