import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { ProcessorShare } from './processor-share.mjs'

/** The first version of cgroups has a folder for each resource, the second one has one for all. */
const first = '/sys/fs/cgroup/memory'
const second = '/sys/fs/cgroup'
const isFirst = existsSync(path.join(first, 'memory.limit_in_bytes'))
const files = isFirst
  ? { limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes', swap: undefined }
  : { limit: 'memory.max', peak: 'memory.peak', swap: 'memory.swap.max' }

/** How long the processes of a machine may take to be gone, in milliseconds. */
const patience = 10_000

/** A machine of a certain size: two cgroups, for programs that are started in them. Linux; needs root. */
export class Machine {
  /**
   * Makes one.
   * @param {string} name
   * @param {{ memory: number, processors: number }} size in bytes, and in processors
   */
  static async make(name, { memory, processors }) {
    const share = new ProcessorShare(name, processors)
    const folder = path.join(isFirst ? first : second, name)
    mkdirSync(folder, { recursive: true })
    if (!isFirst) writeFileSync(path.join(second, 'cgroup.subtree_control'), '+memory')
    writeFileSync(path.join(folder, files.limit), String(memory))
    if (files.swap) writeFileSync(path.join(folder, files.swap), '0')
    return new Machine(share, folder, await mkdtemp(path.join(tmpdir(), 'basalt-machine-')))
  }

  /**
   * @param {ProcessorShare} share
   * @param {string} folder of the memory's cgroup
   * @param {string} scripts
   */
  constructor(share, folder, scripts) {
    this.share = share
    this.folder = folder
    this.scripts = scripts
  }

  /**
   * Returns a script that runs `binary` on it.
   * @param {string} binary
   */
  async wrap(binary) {
    const script = path.join(this.scripts, 'basalt')
    const groups = [...new Set([this.share.folder, this.folder])]
    const enter = groups.map((folder) => `echo $$ > '${folder}/cgroup.procs'`).join('\n')
    await writeFile(script, `#!/bin/sh\n${enter}\nexec '${binary}' "$@"\n`)
    await chmod(script, 0o755)
    return script
  }

  /** The most memory that was in use, in bytes, with the files that the system keeps in what is free. */
  get peak() {
    return Number(readFileSync(path.join(this.folder, files.peak), 'utf8'))
  }

  /** How many processes the system has ended because there was no memory. */
  get killed() {
    const file = isFirst ? 'memory.oom_control' : 'memory.events'
    const text = readFileSync(path.join(this.folder, file), 'utf8')
    return Number(/oom_kill (\d+)/.exec(text)?.[1] ?? 0)
  }

  /** The memory of each part: of processes of that program what they do not share, and their part of what they do. */
  get parts() {
    /** @type {Map<string, { processes: number, bytes: number }>} */
    const parts = new Map()
    for (const pid of readFileSync(path.join(this.folder, 'cgroup.procs'), 'utf8').split('\n')) {
      const found = pid === '' ? undefined : memoryOf(pid)
      if (!found) continue
      const part = parts.get(found.name) ?? { processes: 0, bytes: 0 }
      parts.set(found.name, { processes: part.processes + 1, bytes: part.bytes + found.bytes })
    }
    return parts
  }

  /** Removes it, once its processes have ended. */
  async stop() {
    const end = Date.now() + patience
    while (readFileSync(path.join(this.folder, 'cgroup.procs'), 'utf8') !== '' && Date.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 100))
    await rm(this.scripts, { recursive: true, force: true })
    rmdirSync(this.folder)
    if (existsSync(this.share.folder)) await this.share.stop()
  }
}

/**
 * Returns the name of a process's program and its memory; `undefined` if it has ended. Source: proc_pid_smaps(5).
 * @param {string} pid
 */
function memoryOf(pid) {
  try {
    const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return { name, bytes: Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024 }
  } catch {
    return undefined
  }
}
