#!/usr/bin/env node
// Runs the program of this machine's package, with the same arguments and the same input and output. Postgres and Deno are
// dependencies of that package, where the program looks for them by itself.

import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

/** Signals that are for the program, which says by itself what each means. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2']

const name = `@basalt/cli-${process.platform}-${process.arch}`

function fail(reason) {
  console.error(`basalt: ${reason}`)
  process.exit(1)
}

function program() {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/basalt`)
  } catch {
    return fail(
      `the package ${name} is not installed. It is an optional dependency of @basalt/cli: install that again without ` +
        '--omit=optional and on this machine. There are packages for Linux (glibc) and macOS, each x64 and arm64.',
    )
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' })
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
child.on('error', (error) => fail(error.message))
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  // Whoever waits for this process learns how the program has ended.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
