// The page of the inbox: a list that looks for new mails every second, and the mail that was chosen.
'use strict'

const element = (id) => document.getElementById(id)
const seen = new Set(JSON.parse(localStorage.getItem('seen') ?? '[]'))
let mails = []
let shown = ''
let chosen = null
let form = 'html'

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })

function when(date) {
  return date.toDateString() === new Date().toDateString() ? time.format(date) : day.format(date)
}

function addresses(list) {
  return list.map(({ Name, Address }) => (Name ? `${Name} <${Address}>` : Address)).join(', ')
}

function part(name, className, text) {
  const made = document.createElement(name)
  if (className) made.className = className
  made.textContent = text
  return made
}

function row(mail) {
  const item = document.createElement('li')
  if (!seen.has(mail.ID)) item.className = 'new'
  const button = document.createElement('button')
  button.type = 'button'
  button.setAttribute('aria-current', String(mail.ID === chosen))
  const date = new Date(mail.Created)
  const stamp = part('time', '', when(date))
  stamp.dateTime = mail.Created
  button.append(
    part('strong', '', addresses(mail.To)), stamp,
    part('span', 'subject', mail.Subject), part('span', 'snippet', mail.Snippet),
  )
  button.addEventListener('click', () => choose(mail.ID))
  item.append(button)
  return item
}

function draw() {
  element('list').replaceChildren(...mails.map(row))
  if (mails.length === 0 && element('query').value) {
    element('list').replaceChildren(part('li', 'none', 'No mail fits this search.'))
  }
  const mail = mails.find(({ ID }) => ID === chosen)
  element('mail').hidden = !mail
  element('empty').hidden = Boolean(mail)
  element('empty').style.visibility = mails.length > 0 ? 'hidden' : 'visible'
}

async function choose(id) {
  chosen = id
  seen.add(id)
  localStorage.setItem('seen', JSON.stringify([...seen].slice(-400)))
  draw()
  const mail = mails.find(({ ID }) => ID === id)
  if (!mail) return
  element('subject').textContent = mail.Subject
  element('from').textContent = addresses([mail.From])
  element('to').textContent = addresses(mail.To)
  element('date').textContent = moment.format(new Date(mail.Created))
  await show()
}

async function show() {
  for (const tab of document.querySelectorAll('[role=tab]')) {
    tab.setAttribute('aria-selected', String(tab.dataset.form === form))
  }
  element('frame').hidden = form !== 'html'
  element('text').hidden = form === 'html'
  if (form === 'html') {
    element('frame').src = `/view/${chosen}.html`
    return
  }
  const path = form === 'txt' ? `/view/${chosen}.txt` : `/api/v1/message/${chosen}/raw`
  element('text').textContent = await (await fetch(path)).text()
}

async function look() {
  const query = element('query').value.trim()
  const path = query ? `search?limit=200&query=${encodeURIComponent(query)}` : 'messages?limit=200'
  try {
    const response = await fetch(`/api/v1/${path}`)
    if (!response.ok) throw new Error(String(response.status))
    const list = await response.json()
    const state = JSON.stringify([query, list.messages.map(({ ID }) => ID)])
    element('count').textContent = list.total === 1 ? '1 mail' : `${list.total} mails`
    element('clear').disabled = list.total === 0
    if (state === shown) return
    shown = state
    mails = list.messages
    draw()
    if (!mails.some(({ ID }) => ID === chosen) && mails.length > 0) await choose(mails[0].ID)
  } catch {
    element('count').textContent = 'Basalt does not answer'
  }
}

element('query').addEventListener('input', look)
element('clear').addEventListener('click', async () => {
  await fetch('/api/v1/messages', { method: 'DELETE' })
  chosen = null
  await look()
})
for (const tab of document.querySelectorAll('[role=tab]')) {
  tab.addEventListener('click', () => {
    form = tab.dataset.form
    show()
  })
}
document.addEventListener('visibilitychange', () => document.hidden || look())
setInterval(() => document.hidden || look(), 1000)
look()
