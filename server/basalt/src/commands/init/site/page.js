// Lists the notes, adds one, and calls the function hello.

const message = document.querySelector('#message')

function start() {
  const { url, key } = JSON.parse(document.querySelector('#basalt-config').textContent)
  const client = supabase.createClient(url, key)

  async function list() {
    const { data, error } = await client
      .from('notes')
      .select('id, body')
      .order('id', { ascending: false })
      .limit(50)
    if (error) throw error
    const items = data.map(({ body }) =>
      Object.assign(document.createElement('li'), { textContent: body }),
    )
    document.querySelector('#notes').replaceChildren(...items)
  }

  async function add({ body }) {
    const { error } = await client.from('notes').insert({ body })
    if (error) throw error
    await list()
    return 'Added.'
  }

  async function greet({ name }) {
    const { data, error } = await client.functions.invoke('hello', { body: { name: name || 'world' } })
    if (error) throw error
    return data.message
  }

  onSubmit('#add', add)
  onSubmit('#greet', greet)
  list().catch(report)
}

/** Calls `action` with the values of a form that is sent, and shows what it returns. */
function onSubmit(selector, action) {
  const form = document.querySelector(selector)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const values = Object.fromEntries(new FormData(form))
    action(values).then((text) => {
      message.textContent = text
      form.reset()
    }, report)
  })
}

function report(error) {
  message.textContent = error.message
}

if (globalThis.supabase) start()
else message.textContent = 'supabase.js is missing: run `npm install`, then load this page again.'
