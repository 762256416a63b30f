import { cp, mkdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

const repository = path.resolve(import.meta.dirname, '../..')

/**
 * Lays a functions folder out in `folder`: the site's functions, those of the integration tests, and the chat twice more
 * with the language model at `modelUrl`: as `chat-model`, and as `chat-hasty`, which does not wait for it.
 * @param {string} folder
 * @param {string} modelUrl
 */
export async function layFunctions(folder, modelUrl) {
  await mkdir(folder, { recursive: true })
  await cp(path.join(repository, 'functions'), folder, { recursive: true })
  await cp(path.join(repository, 'tests/integration/functions'), folder, { recursive: true })
  const settings = { OPENAI_API_KEY: 'test-key', OPENAI_BASE_URL: modelUrl }
  await layChat(folder, 'chat-model', settings)
  await layChat(folder, 'chat-hasty', { ...settings, OPENAI_TIMEOUT: '0.2' })
}

/**
 * Lays the chat once more, with settings of its own.
 * @param {string} folder
 * @param {string} name
 * @param {Record<string, string>} settings
 */
async function layChat(folder, name, settings) {
  const chat = path.join(folder, name)
  await cp(path.join(folder, 'chat-ai'), chat, { recursive: true })
  await rename(path.join(chat, 'index.ts'), path.join(chat, 'chat.ts'))
  const lines = Object.entries(settings).map(
    ([name, value]) => `Deno.env.set(${JSON.stringify(name)}, ${JSON.stringify(value)})\n`,
  )
  await writeFile(path.join(chat, 'settings.ts'), lines.join(''))
  await writeFile(path.join(chat, 'index.ts'), "import './settings.ts'\nimport './chat.ts'\n")
}
