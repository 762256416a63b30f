import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some } from '../../match.ts'
import {
  deployed,
  deployPath,
  functionName,
  project,
  reference,
  responding,
  until,
  upload,
} from '../../platform.ts'

export const deploy = group('platform.function', {
  title: 'Deployed functions',
  source: reference('v1-deploy-a-function'),
  needs: ['platform'],
  timeout: 120,
})

const called = (slug: string) => `/functions/v1/${slug}`

/** Calls a function, and checks that it responds with `text`. */
async function responds(t: Context, slug: string, text: string): Promise<void> {
  await until(t, called(slug), (_, got) => got === text)
  await t.get(called(slug), { as: 'nobody' }).text(200, text)
}

deploy.case('deploy', 'a function takes calls when it is deployed', async (t) => {
  const slug = functionName(t)
  await t.post(deployPath(t, slug), upload(slug, responding('first'))).has(201, {
    id: some.string,
    name: slug,
    status: 'ACTIVE',
    version: some.number,
    slug,
  })
  await responds(t, slug, 'first')
})

deploy.case('deploy.files', 'a function has several files', async (t) => {
  const slug = functionName(t)
  const main = `import { word } from './words/word.ts'\nDeno.serve(() => new Response(word))\n`
  const files = { 'words/word.ts': `export const word = 'several'\n` }
  await t.post(deployPath(t, slug), upload(slug, main, { files })).has(201, { slug })
  await responds(t, slug, 'several')
})

deploy.case('deploy.again', 'another version takes the place of the one before', async (t) => {
  const slug = await deployed(t, responding('first'))
  await responds(t, slug, 'first')
  await t.post(deployPath(t, slug), upload(slug, responding('second'))).has(201, { slug })
  await responds(t, slug, 'second')
})

deploy.case(
  'deploy.refused',
  'a function with an error of syntax is refused, and the version before goes on',
  async (t) => {
    const slug = await deployed(t, responding('first'))
    await t
      .post(deployPath(t, slug), upload(slug, 'Deno.serve(() => new Response("second"'))
      .has(400, { message: some.string })
    await responds(t, slug, 'first')
  },
)

deploy.case('deploy.slug', 'a name of a function begins with a letter', (t) => {
  const slug = '0-conformance'
  return t
    .post(deployPath(t, slug), upload(slug, responding('no')))
    .has(400, { message: some.string })
})

deploy.case(
  'bundle',
  'with bundleOnly, a version takes calls when the list of functions names it',
  { source: reference('v1-bulk-update-functions') },
  async (t) => {
    const slug = await deployed(t, responding('first'))
    const form = upload(slug, responding('second'))
    const made = await t.post(`${deployPath(t, slug)}&bundleOnly=true`, form).has(201, { slug })
    await responds(t, slug, 'first')
    await t
      .put(project(t, 'functions'), [made.json])
      .has(200, { functions: including(partly({ slug })) })
    await responds(t, slug, 'second')
  },
)

deploy.case(
  'token',
  'calls need a token if the function verifies it, until that is changed',
  { source: reference('v1-update-a-function') },
  async (t) => {
    const slug = await deployed(t, responding('open'), { verifyJwt: true })
    await until(t, called(slug), (status) => status === 401)
    await t.get(called(slug), { as: 'nobody' }).is(401)
    await t
      .patch(project(t, `functions/${slug}`), { verify_jwt: false })
      .has(200, { slug, verify_jwt: false })
    await responds(t, slug, 'open')
  },
)

deploy.case(
  'update.query',
  'whether calls need a token is changed by a parameter',
  { source: reference('v1-update-a-function') },
  async (t) => {
    const slug = await deployed(t, responding('open'), { verifyJwt: true })
    await t
      .patch(project(t, `functions/${slug}?verify_jwt=false`), {})
      .has(200, { slug, verify_jwt: false })
  },
)

/** What is said about a function. */
const described = (slug: string) => ({
  id: some.string,
  name: slug,
  status: 'ACTIVE',
  version: some.number,
  created_at: some.number,
  updated_at: some.number,
  slug,
})

deploy.case(
  'list',
  'the functions are listed',
  { source: reference('v1-list-all-functions') },
  async (t) => {
    const slug = await deployed(t, responding('listed'))
    await t.get(project(t, 'functions')).is(200, including(partly(described(slug))))
  },
)

deploy.case(
  'get',
  'a function is found by its name',
  { source: reference('v1-get-a-function') },
  async (t) => {
    const slug = await deployed(t, responding('found'))
    await t.get(project(t, `functions/${slug}`)).has(200, described(slug))
  },
)

deploy.case(
  'body',
  'the files of a function are downloaded as a form',
  { source: 'https://supabase.com/docs/reference/cli/supabase-functions-download' },
  async (t) => {
    const main = responding('downloaded')
    const slug = await deployed(t, main)
    const response = await t
      .get(project(t, `functions/${slug}/body`), { accept: 'multipart/form-data' })
      .is(200)
      .header('content-type', /^multipart\/form-data;/)
    const headers = { 'content-type': response.headerValue('content-type') }
    const form = await new Response(new Uint8Array(response.exchange.body), { headers }).formData()
    const files = [...form.values()].filter((one) => one instanceof File)
    const texts = await Promise.all(files.map((file) => file.text()))
    t.equal(texts, including(main), response.exchange)
  },
)

deploy.case(
  'delete',
  'a function that is deleted is gone',
  { source: reference('v1-delete-a-function') },
  async (t) => {
    const slug = await deployed(t, responding('first'))
    await t.delete(project(t, `functions/${slug}`)).is(200)
    await t.get(project(t, `functions/${slug}`)).has(404, { message: some.string })
    await until(t, called(slug), (status) => status === 404)
    await t.get(called(slug), { as: 'nobody' }).is(404)
  },
)
