import { readFileSync } from 'node:fs'
import path from 'node:path'

const folder = path.join(import.meta.dirname, 'tls')

/** The certificate of `localhost` with its key, which were made for these tests and protect nothing. */
export const certificate = {
  cert: readFileSync(path.join(folder, 'certificate.pem')),
  key: readFileSync(path.join(folder, 'key.pem')),
}

/** The file with the certificate of the authority; its key is not kept. */
export const authorityFile = path.join(folder, 'authority.pem')

/** What is in it. */
export const authority = readFileSync(authorityFile)
