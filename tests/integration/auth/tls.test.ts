import { beforeAll, expect, test } from 'vitest'

import { everyWayIn } from '../../support/auth.mjs'
import { certificate } from '../../support/certificate.ts'
import { connect } from '../../support/client.ts'
import { idTokenOf, Provider, signInAt } from '../../support/provider.ts'
import { Server } from '../../support/server.mjs'
import { MailServer } from '../../support/smtp.ts'
import { describeOwnServer, newAddress, ok, open, PASSWORD, there, WELCOME } from './users.ts'

describeOwnServer(
  'servers with certificates of an authority that the machine is told to trust',
  () => {
    let server: Server
    let mails: MailServer
    let provider: Provider

    beforeAll(async () => {
      mails = await MailServer.start()
      provider = await Provider.start(certificate)
      const env = {
        ...everyWayIn(provider.url, 'http://localhost:5173'),
        ...mails.settings,
      }
      server = await Server.start({ only: ['auth'], env })
    })

    const client = (flowType: 'implicit' | 'pkce' = 'implicit') =>
      connect(server.access.url, server.access.anonKey, { flowType })

    test('a mail goes out encrypted, and its code signs in', async () => {
      const email = newAddress()
      await ok(client().auth.signUp({ email, password: PASSWORD }))
      const mail = there(mails.deliveries.find(({ to }) => to === email))
      expect(mail).toMatchObject({ encrypted: true, login: '\0club\0a-password' })
      const [, token = ''] = /^(\d{6})\r$/m.exec(mail.text) ?? []
      const { user } = await ok(client().auth.verifyOtp({ email, token, type: 'email' }))
      expect(user?.email).toBe(email)
    })

    test('a provider is asked over TLS', async () => {
      const email = newAddress()
      const visitor = client('pkce')
      const options = { redirectTo: WELCOME }
      const { url } = await ok(visitor.auth.signInWithOAuth({ provider: 'keycloak', options }))
      const landing = await open(await signInAt((await open(there(url))).href, email))
      const code = there(landing.searchParams.get('code'))
      const { session } = await ok(visitor.auth.exchangeCodeForSession(code))
      expect(session.user.email).toBe(email)
    })

    test('its keys are fetched over TLS', async () => {
      const token = await idTokenOf(provider.url, newAddress())
      await ok(client().auth.signInWithIdToken({ provider: 'keycloak', token }))
    })
  },
)
