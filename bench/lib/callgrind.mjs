import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** How long the profiler may take for a command, in milliseconds. */
const limit = 60_000

/** A function's instructions: its own, and with all that it called. */
/** @typedef {{ own: number, inclusive: number }} Cost */

/** A program that runs under callgrind, which counts instructions only when requested. */
export class Callgrind {
  #folder = mkdtempSync(path.join(tmpdir(), 'basalt-profile-'))

  /**
   * Creates a wrapper of `binary` whose command `serve` runs under callgrind.
   * @param {string} binary
   */
  constructor(binary) {
    /** The path of the wrapper. */
    this.binary = path.join(this.#folder, 'basalt')
    const flags = `--tool=callgrind --instr-atstart=no --callgrind-out-file='${this.#output}'`
    const script = [
      '#!/bin/sh',
      `[ "$1" = serve ] || exec '${binary}' "$@"`,
      `exec valgrind ${flags} '${binary}' "$@"`,
    ]
    writeFileSync(this.binary, `${script.join('\n')}\n`)
    chmodSync(this.binary, 0o700)
  }

  /**
   * Counts the instructions of the process `pid` during `work`, by function.
   * @param {number} pid
   * @param {() => Promise<void>} work
   * @returns {Promise<Map<string, Cost>>}
   */
  async during(pid, work) {
    const tell = (...flags) => run('callgrind_control', [...flags, String(pid)], { timeout: limit })
    await tell('--instr=on')
    await work()
    await tell('--instr=off')
    await tell('--dump')
    this.#dumps += 1
    return costs(readFileSync(`${this.#output}.${this.#dumps}`, 'utf8'))
  }

  /** Removes its files. */
  remove() {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #dumps = 0

  get #output() {
    return path.join(this.#folder, 'out')
  }
}

/**
 * Returns the costs in a dump, by the name of the function.
 * Source: "Callgrind Format Specification" in Valgrind's manual.
 * @param {string} text
 */
function costs(text) {
  /** @type {Map<string, Cost>} */
  const all = new Map()
  /** @type {Map<string, string>} */
  const names = new Map()
  const nameOf = (reference) => {
    const [, id, name] = /^(\(\d+\))(?: (.*))?$/.exec(reference) ?? [
      undefined,
      reference,
      reference,
    ]
    if (name !== undefined) names.set(id, name)
    return names.get(id) ?? id
  }
  let current = { own: 0, inclusive: 0 }
  let isOfCall = false
  for (const line of text.split('\n')) {
    if (line.startsWith('fn=')) {
      const name = nameOf(line.slice(3))
      current = all.get(name) ?? { own: 0, inclusive: 0 }
      all.set(name, current)
    } else if (line.startsWith('cfn=')) {
      nameOf(line.slice(4))
    } else if (line.startsWith('calls=')) {
      isOfCall = true
    } else if (/^[+\-*\d]/.test(line)) {
      const cost = Number(line.split(' ')[1] ?? 0)
      current.inclusive += cost
      if (!isOfCall) current.own += cost
      isOfCall = false
    }
  }
  return all
}
