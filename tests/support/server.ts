import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The repository, which is a project that Basalt serves. */
export const project = path.resolve(import.meta.dirname, '../..')

/** The longest that a start on an empty data folder may take, in milliseconds. */
const startLimit = 120_000

/** What is needed to talk to a server. */
export interface Access {
  url: string
  anonKey: string
  serviceKey: string
}

/** A Basalt of the test's own, on a free port and an empty data folder. */
export class Server {
  private constructor(
    private readonly process: ChildProcess,
    private readonly dataDir: string,
    readonly access: Access,
  ) {}

  /** Starts the binary named by BASALT_BINARY and waits until it is ready. */
  static async start(): Promise<Server> {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-test-'))
    const child = spawn(
      binary(),
      ['serve', '--project', project, '--data-dir', dataDir, '--port', '0'],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const url = await announcedUrl(child)
    const keys = await basalt(dataDir, 'keys', '--show', '--json')
    const { anon, service_role: serviceKey } = JSON.parse(keys) as Record<
      'anon' | 'service_role',
      string
    >
    return new Server(child, dataDir, { url, anonKey: anon, serviceKey })
  }

  /** Runs SQL as an admin does: with psql, as the superuser. */
  psql(sql: string): Promise<string> {
    return basalt(this.dataDir, 'psql', '--', '-qAt', '-v', 'ON_ERROR_STOP=1', '-c', sql)
  }

  /** The process id of the embedded Postgres. */
  async postgresPid(): Promise<number> {
    const path = await this.psql("select pg_read_file('postmaster.pid')")
    return Number(path.split('\n')[0])
  }

  /** Ends the server as Ctrl-C does and removes its data. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve))
    if (this.process.exitCode === null) {
      this.process.kill('SIGINT')
      await ended
    }
    await rm(this.dataDir, { recursive: true, force: true })
  }
}

function binary(): string {
  return process.env.BASALT_BINARY ?? path.join(project, 'target/debug/basalt')
}

async function basalt(dataDir: string, command: string, ...rest: string[]): Promise<string> {
  const place = ['--project', project, '--data-dir', dataDir]
  const { stdout } = await run(binary(), [command, ...place, ...rest])
  return stdout
}

/** The API's URL, as the server prints it when it is ready. */
function announcedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the server was not ready after ${String(startLimit)} ms:\n${output}`))
    }, startLimit)
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const url = /API URL:?\s+(http:\/\/\S+)/.exec(output)?.[1]
      if (url !== undefined) {
        clearTimeout(timer)
        resolve(url.replace(/\/$/, ''))
      }
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the server ended with ${String(code)}:\n${output}`))
    })
  })
}
