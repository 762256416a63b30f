import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, vi } from 'vitest'

import { backupFolder, backupSettings, basalt, passphrase } from './backup.mjs'
import { Server } from './server.mjs'

/** How long something that the server does by itself may take. */
export const patience = { timeout: 45_000, interval: 250 }

/** Makes a table of notes. */
export const tables = 'create table public.notes (body text not null)'

/** Returns the notes in alphabetical order. */
export const bodies = async (server: Server) =>
  (await server.psql('select body from public.notes order by body')).split('\n').filter(Boolean)

/** Writes a note. */
export const note = (server: Server, body: string) =>
  server.psql(`insert into public.notes (body) values ('${body}')`)

/** A server that makes backups in a folder of its own. */
export class Project {
  readonly target: string
  readonly file: string
  server!: Server

  private constructor(
    readonly folder: string,
    readonly program: string,
  ) {
    this.target = path.join(folder, 'target')
    this.file = path.join(folder, 'passphrase')
  }

  /** Makes the folder of a project; `program` is the path of pgBackRest. */
  static async prepare(program: string | null) {
    const project = new Project(await backupFolder(), program ?? '')
    await writeFile(path.join(project.folder, 'config.toml'), '')
    await project.setPassphrase(passphrase)
    return project
  }

  setPassphrase(text: string) {
    return writeFile(this.file, `${text}\n`)
  }

  async start(
    dataDir = path.join(this.folder, 'data'),
    env: Record<string, string> = {},
    port = 0,
  ) {
    this.server = await Server.start({
      project: this.folder,
      dataDir,
      port,
      env: {
        ...backupSettings(this.target, this.program, 5),
        BASALT_BACKUP_PASSPHRASE: '',
        BASALT_BACKUP_PASSPHRASE_FILE: this.file,
        BASALT_BACKUP_VERIFY_DAYS: '0',
        ...env,
      },
      keepsLog: true,
    })
  }

  run(...words: string[]) {
    return basalt(this.server.instance, words, this.server.environment)
  }

  /** Restores into a new data folder, with the words of `basalt restore`. */
  async restore(name: string, words: string[] = [], env: NodeJS.ProcessEnv = {}) {
    const dataDir = path.join(this.folder, name)
    const instance = { ...this.server.instance, dataDir }
    const environment = { ...this.server.environment, ...env }
    return { dataDir, ...(await basalt(instance, ['restore', ...words], environment)) }
  }

  /** Waits until there are so many backups. */
  async has(backups: number) {
    const list = async () => (await this.run('backup', 'list')).output.match(/ ended: /g)?.length
    await vi.waitFor(async () => {
      expect(await list()).toBe(backups)
    }, patience)
  }

  async end() {
    await this.server.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}
