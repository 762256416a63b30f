/**
 * Full disks: those of the target and of the data are small file systems in memory, which are filled while the project
 * is written to. Needs Linux, and root to mount them.
 */
import { execFile } from 'node:child_process'
import { mkdir, rm, statfs } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

import { row } from '../../bench/lib/table.mjs'
import { beginDrill, burn } from './drill.mjs'
import { compare } from './comparison.mjs'
import { grow, isInTarget, mostWaiting } from './log-growth.mjs'
import { folderIn } from './places.mjs'

const run = promisify(execFile)

const MIB = 2 ** 20

/** The sizes of the disks in MiB. */
const dataSize = 1600
const targetSize = 500

/** How much log is written while the target takes none, in MiB, and how much room there is for more than that. */
const growth = 300
const room = 250

/** How long a disk stays full, in milliseconds. */
const full = 10_000

/** A small file system in memory. */
class Disk {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
    this.filler = path.join(folder, 'filler')
  }

  /**
   * @param {string} folder
   * @param {number} size in MiB
   */
  static async mount(folder, size) {
    await mkdir(folder)
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size}m,mode=755`, 'tmpfs', folder])
    return new Disk(folder)
  }

  async free() {
    const { bavail, bsize } = await statfs(this.folder)
    return (bavail * bsize) / MIB
  }

  /** Takes all room but `left` MiB. */
  async fill(left = 0) {
    const size = Math.floor(((await this.free()) - left) * MIB)
    // Whoever writes at the same time may have taken some of it.
    await run('dd', [
      'if=/dev/zero',
      `of=${this.filler}`,
      'bs=1M',
      `count=${size}`,
      'iflag=count_bytes',
    ]).catch((error) => {
      if (left > 0) throw error
    })
  }

  async empty() {
    await rm(this.filler, { force: true })
  }

  async unmount() {
    // Processes that have just ended may still hold it.
    await run('umount', ['--lazy', this.folder])
  }
}

/**
 * @param {string} folder
 * @param {string} program the path of pgBackRest
 */
export async function fullDisks(folder, program) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    console.log('skipped: this needs Linux, and root to mount file systems')
    return
  }
  const maxLoss = 20
  const place = folderIn(folder)
  const data = await Disk.mount(path.join(folder, 'data'), dataSize)
  const target = await Disk.mount(place.target, targetSize)
  try {
    const dataDir = path.join(data.folder, 'project')
    const drill = await beginDrill({ folder, dataDir, place, program, maxLoss })
    const { original, journal, writers } = drill
    await writers.recover()
    for (const [what, happens] of Object.entries(filled)) {
      const failed = journal.failed
      const detail = await happens({ original, writers, place, data, target })
      const isSafe = await isInTarget(original.server)
      if (!isSafe) process.exitCode = 1
      const safe = isSafe ? 'in the target' : 'NOT in the target'
      row(what, `${detail}; ${journal.failed - failed} writes failed; then ${safe}`)
    }
    await pause(full)
    const end = await burn(drill)
    await compare({ folder, original, target: place.target, journal, maxLoss, end })
  } finally {
    for (const disk of [data, target]) await disk.unmount()
  }
}

/**
 * What is filled, and what it did.
 * @type {Record<string, (drill: Pick<import('./drill.mjs').Drill, 'original' | 'writers'> & { place: import('./places.mjs').Place, data: Disk, target: Disk }) => Promise<string>>}
 */
const filled = {
  'the target is full': async ({ original, writers, target }) => {
    await target.fill()
    try {
      const begin = performance.now()
      const backup = await original.run('backup', 'create').catch(String)
      const said = /the target of backups[^\n]*/.exec(backup)?.[0] ?? 'a backup was made'
      if (!/full|No space left/.test(said)) process.exitCode = 1
      const seconds = ((performance.now() - begin) / 1000).toFixed(0)
      const waiting = mostWaiting(original.server)
      await grow(original.server, growth)
      await writers.recover()
      return `"${said}" after ${seconds} s; at most ${await waiting.end()} MiB waited`
    } finally {
      await target.empty()
    }
  },
  'the disk of the data is full': async ({ writers, data }) => {
    await data.fill()
    await pause(full)
    await data.empty()
    return `served ${((await writers.recover()) / 1000).toFixed(1)} s after there was room`
  },
  'the target is away, and the log fills the disk': async ({ original, writers, place, data }) => {
    await data.fill(room)
    await place.leave()
    try {
      const waiting = mostWaiting(original.server)
      // Postgres writes into the files of what was written before, and needs room only for more than that.
      await grow(original.server, growth + 2 * room)
      await writers.recover()
      return `${(await data.free()).toFixed(0)} MiB left; at most ${await waiting.end()} MiB waited`
    } finally {
      await place.back()
      await data.empty()
    }
  },
}
