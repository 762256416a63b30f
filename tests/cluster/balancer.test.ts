import { expect, inject, test } from 'vitest'

test('plain HTTP leads to where TLS is, whatever ports there are', async () => {
  const { http, https } = inject('cluster').balancer
  const response = await fetch(`http://127.0.0.1:${String(http)}/rest/v1/notes?select=id`, {
    redirect: 'manual',
  })
  const location = response.headers.get('location')
  expect([response.status, location]).toEqual([
    308,
    `https://127.0.0.1:${String(https)}/rest/v1/notes?select=id`,
  ])
})
