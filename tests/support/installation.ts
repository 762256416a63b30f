import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The program under test, which installations are copies of. */
export const built = path.resolve(
  process.env.BASALT_BINARY ?? path.join(import.meta.dirname, '../../target/debug/basalt'),
)

/** A program as a release archive brings it, and a project beside it, in a folder of their own. */
export class Installation {
  readonly program: string
  readonly project: string
  /** What the program gets as its environment. */
  readonly env = {
    ...process.env,
    BASALT_ADMIN_PORT: '0',
    BASALT_INBOX_PORT: '0',
    BASALT_LOG_FORMAT: 'text',
  }

  private constructor(
    readonly folder: string,
    private readonly key: string,
  ) {
    this.program = path.join(folder, 'bin/basalt')
    this.project = path.join(folder, 'project')
  }

  /** Makes one whose updates are checked with a publisher's `key`, and whose project has this `config.toml`. */
  static async create(key: string, config: string) {
    const folder = await mkdtemp(path.join(tmpdir(), 'basalt-update-'))
    const installation = new Installation(folder, key)
    await mkdir(path.dirname(installation.program))
    await mkdir(installation.project)
    await writeFile(path.join(installation.project, 'config.toml'), config)
    await copyFile(built, installation.program)
    return installation
  }

  /** Runs `basalt update`, and returns what it prints. */
  async update(...words: string[]) {
    const flags = ['--project', this.project, ...words]
    const named = words.includes('--key') || words.includes('--back')
    const key = named ? [] : ['--key', this.key]
    const { stdout } = await run(this.program, ['update', ...flags, ...key], { env: this.env })
    return stdout
  }

  /** Returns what `basalt update` says where it fails. */
  refusal(...words: string[]) {
    return this.update(...words).then(
      (output) => `no error: ${output}`,
      (error: unknown) => (error as { stderr: string }).stderr,
    )
  }

  /** Returns what the program says of itself: `basalt 1.2.3`. */
  async version() {
    return (await run(this.program, ['--version'])).stdout.trim()
  }

  /** Removes the folder. */
  async remove() {
    await rm(this.folder, { recursive: true, force: true })
  }
}
