import path from 'node:path'

import { auth } from './auth/suite.mjs'
import { foundation } from './foundation/figures.mjs'
import { functions } from './functions/figures.mjs'
import { peers } from './peers/figures.mjs'
import { realtime } from './realtime/figures.mjs'
import { rest } from './rest/suite.mjs'
import { scale } from './scale/figures.mjs'
import { schemaCache } from './schema-cache/figures.mjs'
import { storage } from './storage/figures.mjs'

/** What can be measured, in the order in which it is. Each returns whether the measured server was right. */
const parts = {
  foundation,
  functions,
  rest,
  auth,
  'schema-cache': schemaCache,
  storage,
  realtime,
  scale,
  peers,
}

function usage() {
  process.stderr.write(`usage: bench/run BINARY [${Object.keys(parts).join('|')} …]\n`)
  process.exit(2)
}

/** Returns the numbers of an environment variable, above zero. */
function numbers(name, fallback) {
  const values = (process.env[name] ?? fallback).split(',').map(Number)
  if (values.some((value) => !(value > 0))) {
    process.stderr.write(`${name}: expected numbers above 0, found ${process.env[name]}\n`)
    process.exit(2)
  }
  return values
}

const [binary, ...chosen] = process.argv.slice(2)
if (binary === undefined || chosen.some((name) => !(name in parts))) usage()

const [seconds] = numbers('BENCH_SECONDS', '3')
const [rounds] = numbers('BENCH_ROUNDS', '3')
const connections = numbers('BENCH_CONNECTIONS', '1,16,64')
const only = (process.env.BENCH_ONLY ?? '').split(',').filter((id) => id !== '')

try {
  for (const [name, measure] of Object.entries(parts)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const isRight = await measure(path.resolve(binary), { seconds, rounds, connections, only })
    if (isRight === false) process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`)
  process.exitCode = 1
}
