import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Basalt's binary in surroundings that only it and what it starts see. */
export interface Wrapped {
  binary: string
  remove: () => Promise<void>
}

/** Makes a script that runs the binary under test the way that `command` says, in a shell; `"$@"` is to end it. */
export async function wrapped(command: (binary: string) => string): Promise<Wrapped> {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-wrapped-'))
  const built = path.resolve(import.meta.dirname, '../../target/debug/basalt')
  const binary = path.join(folder, 'basalt')
  await writeFile(binary, `#!/bin/sh\n${command(`'${process.env.BASALT_BINARY ?? built}'`)}\n`)
  await chmod(binary, 0o755)
  return { binary, remove: () => rm(folder, { recursive: true, force: true }) }
}
