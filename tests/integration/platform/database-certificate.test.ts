/** The certificate of the database's port for other machines, where there is another than the server's own. */
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../../bench/lib/ports.mjs'
import { databaseCertificate } from '../../support/database-certificate.ts'
import { listOfProblems } from '../../support/health.ts'
import { freePorts, patience, serve } from '../../support/https.ts'
import { selfSigned } from '../../support/pebble.ts'
import type { Server } from '../../support/server.mjs'
import { Platform } from './support.ts'

describe.skipIf(inject('own') === null)('the certificate of the port of the database', () => {
  let folder: string
  let port: number
  const listening = () => ({ BASALT_DATABASE_LISTEN: `127.0.0.1:${String(port)}` })
  const fingerprint = async (file: string) =>
    new X509Certificate(await readFile(file)).fingerprint256
  const problems = async (server: Server) =>
    (await listOfProblems(server)).problems.filter(({ name }) => name === 'certificate_ends')

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-certificate-'))
    port = await freePort()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is read again when the files of the operator change', async () => {
    const { key, certificate } = selfSigned(folder, 'database')
    const config = `[basalt.database]\ncertificate = "${certificate}"\nprivate_key = "${key}"\n`
    const { server } = await Platform.start({ config, env: listening() })
    try {
      const first = await fingerprint(certificate)
      expect(await databaseCertificate(port)).toBe(first)
      // Two days are not much, but all that it was made for.
      expect(await problems(server)).toEqual([])

      await writeFile(certificate, 'broken')
      await expect
        .poll(async () => (await problems(server))[0]?.what, patience)
        .toContain('cannot be used')
      expect((await problems(server))[0]?.subject).toContain('database')
      expect(await databaseCertificate(port)).toBe(first)

      selfSigned(folder, 'database')
      const second = await fingerprint(certificate)
      await expect.poll(() => databaseCertificate(port), patience).toBe(second)
      await expect.poll(() => problems(server), patience).toEqual([])
    } finally {
      await server.stop()
    }
  })

  test('is that of HTTPS where the operator has no other', async () => {
    const { key, certificate } = selfSigned(folder, 'https')
    const server = await serve(await freePorts(), {
      ...listening(),
      BASALT_TLS_CERTIFICATE: certificate,
      BASALT_TLS_KEY: key,
    })
    try {
      expect(await databaseCertificate(port)).toBe(await fingerprint(certificate))
      selfSigned(folder, 'https')
      const second = await fingerprint(certificate)
      await expect.poll(() => databaseCertificate(port), patience).toBe(second)
    } finally {
      await server.stop()
    }
  })
})
