// Checks compose.yaml, deploy/ and .env.example, and ends with 1 if something is wrong: check-deploy.mjs [FOLDER]
//
// What needs a program that is not on every machine (docker, haproxy, systemd-analyze) is checked where it is there.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { DCLinter } from 'dclint'
import { parse, parseAllDocuments } from 'yaml'

const root = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '..'))
const inRoot = (...parts) => path.join(root, ...parts)
const read = (file) => readFileSync(inRoot(file), 'utf8')
const names = (text, pattern) => new Set(Array.from(text.matchAll(pattern), ([, name]) => name))

/** Returns what `names` has and `others` lacks. */
const without = (names, others) => [...names].filter((name) => !others.has(name))

const problems = []
const report = (file, text) => problems.push(`${file}: ${text}`)
const expect = (holds, file, text) => holds || report(file, text)

/** Variables that the server reads, and those that the project's config.toml refers to. */
const settings = new Set([
  ...names(read('docs/settings.md'), /`([A-Z][A-Z0-9_]+)`/g),
  ...names(read('config.toml'), /"env\((\w+)\)"/g),
])

/** Checks that Basalt has settings of all names of `environment`, where `NAME_FILE` stands for `NAME`. */
function checkSettings(file, environment) {
  for (const name of Object.keys(environment)) {
    expect(settings.has(name) || settings.has(name.replace(/_FILE$/, '')), file, `${name} is no setting of Basalt`)
  }
}

/** Runs a program that may not be there, and reports what it says if it fails. */
function run(file, command, args, options = {}) {
  const { error, status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: root, ...options })
  if (error?.code === 'ENOENT') return false
  if (status !== 0) report(file, `${command}: ${stderr || stdout || String(error)}`.trim())
  return true
}

function checkCompose() {
  const file = 'compose.yaml'
  const text = read(file)
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] })
  for (const { messages } of linter.lintFiles([inRoot(file)], false)) {
    for (const { rule, message } of messages) expect(rule !== 'invalid-schema', file, message)
  }

  const example = names(read('.env.example'), /^(\w+)=/gm)
  const makesSecrets = read('deploy/secrets')
  const used = names(text.replaceAll('$$', ''), /\$\{(\w+)/g)
  for (const name of without(used, example)) report(file, `\${${name}} is not in .env.example`)
  for (const name of without(example, used)) {
    expect(new RegExp(`\\b${name}\\b`).test(makesSecrets), '.env.example', `nobody uses ${name}`)
  }

  const compose = parse(text, { merge: true })
  const { services = {}, secrets = {}, networks = {}, volumes = {} } = compose
  const unused = { secrets: new Set(Object.keys(secrets)), networks: new Set(Object.keys(networks)) }
  unused.volumes = new Set(Object.keys(volumes))
  for (const [name, service] of Object.entries(services)) {
    const at = `${file}, ${name}`
    const refer = (kind, all, item) => {
      expect(item in all, at, `there is no ${item} in ${kind}`)
      unused[kind].delete(item)
    }
    for (const item of service.secrets ?? []) refer('secrets', secrets, item)
    for (const item of service.networks ?? []) refer('networks', networks, item)
    for (const mount of service.volumes ?? []) {
      const source = mount.split(':')[0]
      if (source.startsWith('.')) expect(existsSync(inRoot(source)), at, `there is no ${source}`)
      else refer('volumes', volumes, source)
    }
    const dependencies = service.depends_on ?? []
    for (const item of Array.isArray(dependencies) ? dependencies : Object.keys(dependencies)) {
      expect(item in services, at, `there is no service ${item}`)
    }
    for (const [variable, value] of Object.entries(service.environment ?? {})) {
      const secret = /^\/run\/secrets\/(.+)$/.exec(value)?.[1]
      if (secret) expect(service.secrets?.includes(secret), at, `${variable} names a secret that it is not given`)
    }
    const started = [service.entrypoint, service.command].flat().join(' ')
    expect(!/\$\(.*\/run\/secrets\//.test(started), at, 'shows a secret in the list of processes')
    if (service.build) checkSettings(at, service.environment)
    expect(service.restart, at, 'has no restart policy')
    expect(service.read_only, at, 'may write to its root file system')
    expect(service.cap_drop?.includes('ALL'), at, 'keeps capabilities')
    expect(service.security_opt?.includes('no-new-privileges:true'), at, 'may gain privileges')
    expect(service.deploy?.resources?.limits?.memory, at, 'has no limit of memory')
    expect(service.build || service.healthcheck, at, 'has no health check')
    expect(service.build || /:\w/.test(service.image), at, 'has no version of its image')
  }
  for (const [kind, left] of Object.entries(unused)) {
    for (const item of left) report(file, `nobody uses ${item} of ${kind}`)
  }
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.file === `./secrets/${name}`, file, `the secret ${name} is in another file`)
    expect(new RegExp(`\\b${name}\\b`).test(makesSecrets), 'deploy/secrets', `does not make ${name}`)
  }

  const help = spawnSync('docker', ['compose', 'config', '--help'], { encoding: 'utf8' }).stdout ?? ''
  return (
    help.includes('--no-env-resolution') &&
    run(file, 'docker', ['compose', '--env-file', '.env.example', 'config', '--quiet', '--no-env-resolution'])
  )
}

function checkKubernetes() {
  const folder = 'deploy/kubernetes'
  const objects = readdirSync(inRoot(folder)).flatMap((name) =>
    parseAllDocuments(read(`${folder}/${name}`)).map((document) => {
      for (const error of document.errors) report(`${folder}/${name}`, error.message)
      return { file: `${folder}/${name}`, ...document.toJS() }
    }),
  )
  const ofKind = (kind) => objects.filter((object) => object.kind === kind)
  const find = (kind, name) => ofKind(kind).find((object) => object.metadata.name === name)
  const selects = (selector, labels) => Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value)
  const [deployment] = ofKind('Deployment')
  const { metadata, spec: pod } = deployment.spec.template
  const [container] = pod.containers
  const ports = new Set(container.ports.map(({ name }) => name))

  for (const object of [deployment, ...ofKind('PodDisruptionBudget')]) {
    expect(selects(object.spec.selector.matchLabels, metadata.labels), object.file, 'selects no pods')
  }
  for (const { file, spec } of ofKind('Service')) {
    expect(selects(spec.selector, metadata.labels), file, 'selects no pods')
    for (const { targetPort } of spec.ports) expect(ports.has(targetPort), file, `pods have no port ${targetPort}`)
  }
  for (const { file, spec } of ofKind('Ingress')) {
    for (const { backend } of spec.rules.flatMap(({ http }) => http.paths)) {
      const service = find('Service', backend.service.name)
      const port = service?.spec.ports.some(({ name }) => name === backend.service.port.name)
      expect(port, file, `there is no service ${backend.service.name} with that port`)
    }
  }
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    expect(ports.has(container[probe]?.httpGet.port), deployment.file, `has no ${probe}`)
  }
  const mounts = container.volumeMounts.map(({ name }) => name).sort()
  const kept = pod.volumes.map(({ name }) => name).sort()
  expect(String(mounts) === String(kept), deployment.file, `mounts ${mounts}, and has the volumes ${kept}`)

  const volume = pod.volumes.find(({ secret }) => secret)
  const secret = find('Secret', volume.secret.secretName)
  const { mountPath } = container.volumeMounts.find(({ name }) => name === volume.name)
  for (const { configMapRef } of container.envFrom) {
    const map = find('ConfigMap', configMapRef.name)
    if (!expect(map, deployment.file, `there is no ConfigMap ${configMapRef.name}`)) continue
    checkSettings(map.file, map.data)
    for (const [name, value] of Object.entries(map.data).filter(([name]) => name.endsWith('_FILE'))) {
      const [directory, key] = [path.dirname(value), path.basename(value)]
      expect(directory === mountPath && key in (secret?.stringData ?? {}), map.file, `${name} names no secret`)
    }
  }
}

/** Checks the rest with the programs that read it. */
function checkFiles(scratch) {
  for (const script of ['deploy/secrets', 'deploy/postgres/start.sh', 'deploy/postgres/init.sh', 'scripts/image']) {
    run(script, 'bash', ['-n', script])
  }
  const certificate = path.join(scratch, 'tls.pem')
  const nodes = { TLS_CERTIFICATE: certificate, BASALT_1: '127.0.0.1:1', BASALT_2: '127.0.0.1:2' }
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost -keyout -'
  const made = spawnSync('openssl', request.split(' '), { encoding: 'utf8' })
  writeFileSync(certificate, made.stdout ?? '')
  const proxy = { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, ...nodes } }
  const balancer =
    made.status === 0 && run('deploy/haproxy.cfg', 'haproxy', ['-c', '-q', '-f', 'deploy/haproxy.cfg'], proxy)
  // The program that the unit starts need not be here.
  const unit = path.join(scratch, 'basalt.service')
  writeFileSync(unit, read('deploy/systemd/basalt.service').replaceAll('/usr/local/bin/basalt', '/bin/sh'))
  const service = run('deploy/systemd/basalt.service', 'systemd-analyze', ['verify', '--man=no', unit])
  return { balancer, service }
}

const scratch = mkdtempSync(path.join(tmpdir(), 'check-deploy-'))
try {
  const compose = checkCompose()
  checkKubernetes()
  const { balancer, service } = checkFiles(scratch)
  const missing = Object.entries({ 'docker compose': compose, haproxy: balancer, 'systemd-analyze': service })
  const left = missing.filter(([, found]) => !found).map(([name]) => name)
  if (left.length > 0) console.log(`Not there to check the files of deploy/ with: ${left.join(', ')}`)
} finally {
  rmSync(scratch, { recursive: true })
}
for (const problem of problems) console.error(problem)
process.exit(problems.length > 0 ? 1 : 0)
