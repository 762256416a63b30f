import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Basalt's binary, wrapped in a script that changes the environment of it and its child processes. */
export interface WrappedBinary {
  binary: string
  remove: () => Promise<void>
}

/** Creates a script that runs the binary under test with the shell command `command`, which must end with `"$@"`. */
export async function wrapBinary(command: (binary: string) => string): Promise<WrappedBinary> {
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-wrapped-'))
  const built = path.resolve(import.meta.dirname, '../../target/debug/basalt')
  const binary = path.join(folder, 'basalt')
  await writeFile(binary, `#!/bin/sh\n${command(`'${process.env.BASALT_BINARY ?? built}'`)}\n`)
  await chmod(binary, 0o755)
  return { binary, remove: () => rm(folder, { recursive: true, force: true }) }
}
