import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'

/** The types of files that a build of the site has. */
const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/**
 * Serves the files of a folder, and its index.html for every path that is no file: what static hosts do for a page
 * that has its routes in JavaScript.
 * @param {string} folder
 * @returns {import('node:http').RequestListener}
 */
export function pagesOf(folder) {
  return async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const requested = path.join(folder, path.normalize(decodeURIComponent(pathname)))
    const isFile = await stat(requested).then(
      (found) => found.isFile(),
      () => false,
    )
    const file =
      isFile && requested.startsWith(folder) ? requested : path.join(folder, 'index.html')
    const type = /** @type {Record<string, string>} */ (types)[path.extname(file)]
    response.writeHead(200, { 'content-type': type ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  }
}
