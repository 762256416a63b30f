// Runs commands of the stock CLI on a linked project whose server has a domain: node commands.mjs FOLDER DOMAIN. Prints
// what they printed, as JSON by the commands. FOLDER has a project and the certificate of the domain, `domain.pem` and
// `domain.key`. It has to run in namespaces of mounts and of a network of its own: the CLI finds a project at
// `REF.DOMAIN`, port 443, and its database at `db.REF.DOMAIN`, port 5432, here by /etc/hosts.
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

import { link, supabase } from '../../support/supabase-cli.mjs'
import { Server } from '../../support/server.mjs'

const run = promisify(execFile)

const [folder = '', domain = ''] = process.argv.slice(2)
const bucket = 'shelf'

/** Makes names lead to this machine, in this namespace. */
async function resolve(/** @type {string[]} */ ...names) {
  const file = path.join(folder, 'hosts')
  await writeFile(file, `127.0.0.1 localhost ${names.join(' ')}\n`)
  await run('mount', ['--bind', file, '/etc/hosts'])
}

await run('ip', ['link', 'set', 'lo', 'up'])
await resolve(domain)
const certificate = path.join(folder, 'domain.pem')
const server = await Server.start({
  project: path.join(folder, 'served'),
  env: {
    API_EXTERNAL_URL: `https://${domain}`,
    BASALT_TLS_CERTIFICATE: certificate,
    BASALT_TLS_KEY: path.join(folder, 'domain.key'),
    BASALT_TLS_HOST: '127.0.0.1',
    BASALT_DATABASE_LISTEN: '127.0.0.1:5432',
    BASALT_DATABASE_PORT: '0',
    BASALT_DEFAULT_DATABASE_PASSWORD: 'false',
  },
})
try {
  server.access.url = `https://${domain}`
  const linked = path.join(folder, 'linked')
  const trust = { NODE_EXTRA_CA_CERTS: certificate, SSL_CERT_FILE: certificate }
  const { ref, token } = await link(server, linked, trust)
  await resolve(domain, `${ref}.${domain}`, `db.${ref}.${domain}`)
  await server.psql(`insert into storage.buckets (id, name) values ('${bucket}', '${bucket}')`)

  /** @type {Record<string, string>} */
  const printed = {}
  const cli = async (/** @type {string} */ command) => {
    const words = [...command.split(' '), '--remote']
    printed[command] = await supabase({ folder: linked, token, env: trust }, ...words)
  }
  await cli(`storage cp up.txt ss:///${bucket}/up.txt --yes --experimental`)
  await cli(`storage ls ss:///${bucket}/ --experimental`)
  await cli(`storage cp ss:///${bucket}/up.txt down.txt --yes --experimental`)
  await cli(`storage mv ss:///${bucket}/up.txt ss:///${bucket}/moved.txt --yes --experimental`)
  const stored = await server.psql('select name from storage.objects')
  await cli(`storage rm ss:///${bucket}/moved.txt --yes --experimental`)
  await cli('db push --yes')
  await cli('migration list')
  await cli('migration repair 20300101000000 --status reverted --yes')
  await cli('migration repair 20300101000000 --status applied --yes')
  await rm(path.join(linked, 'supabase/migrations'), { recursive: true })
  await cli('migration fetch --yes')
  await cli('inspect db table-stats')
  await cli('gen types typescript')
  await cli('gen types --lang go')
  await cli('network-restrictions update --db-allow-cidr 127.0.0.0/8 --experimental --yes')
  await cli('network-restrictions get --experimental')
  await cli('network-bans get --experimental')
  await cli('ssl-enforcement get --experimental')
  await cli('db reset --yes')
  await cli('logs')
  console.log(
    JSON.stringify({
      printed,
      downloaded: await readFile(path.join(linked, 'down.txt'), 'utf8'),
      stored,
      left: await server.psql('select count(*) from storage.objects'),
      tables: await server.psql("select to_regclass('public.shelves')"),
      watches: await server.psql(
        "select evtfoid::regproc from pg_event_trigger where evtname = 'watch'",
      ),
    }),
  )
} finally {
  await server.stop()
}
