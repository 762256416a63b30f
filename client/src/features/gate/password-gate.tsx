import Lock from 'lucide-react/icons/lock'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useNavigate } from 'react-router-dom'

import { PasswordField } from '@/components/ui/password-field'
import { Button } from '@/components/ui/button'
import { Spinner } from '@/components/ui/spinner'
import { GATE } from '@/lib/constants'
import { isSiteAuthenticated, markSiteAuthenticated } from '@/lib/session/gate'
import { accountMessages } from '@/lib/notices/account-messages'
import { notify } from '@/lib/notices/notify'
import { usePasswordProtection } from '@/lib/content/password-protection'

import { copy } from './copy'
import { isSitePassword } from './sign-in'

interface PasswordGateProps {
  /** Where to go once the visitor is let in. */
  destination: string
}

/** Redirects visitors to the site if it is open or they have passed the gate, and asks others for the password. */
export function PasswordGate({ destination }: PasswordGateProps) {
  const navigate = useNavigate()
  const protection = usePasswordProtection()
  const [hasPassed, setHasPassed] = useState(false)
  const isLetIn = protection === 'off' || (protection !== 'checking' && isSiteAuthenticated())

  useEffect(() => {
    if (!isLetIn || hasPassed) return
    markSiteAuthenticated()
    void navigate(destination, { replace: true })
  }, [isLetIn, hasPassed, navigate, destination])

  useEffect(() => {
    if (!hasPassed) return
    const timer = setTimeout(
      () => void navigate(destination, { replace: true }),
      GATE.redirectDelayMs,
    )
    return () => clearTimeout(timer)
  }, [hasPassed, navigate, destination])

  const pass = () => {
    markSiteAuthenticated()
    setHasPassed(true)
  }
  return (
    <div className="grid min-h-dvh place-items-center bg-mist px-5 pt-28 pb-20">
      {protection === 'checking' && <Waiting text={copy.checking} />}
      {(isLetIn || hasPassed) && <Waiting text={copy.redirecting} />}
      {protection !== 'checking' && !isLetIn && !hasPassed && <PasswordForm onPass={pass} />}
    </div>
  )
}

function Waiting({ text }: { text: string }) {
  return (
    <div className="flex flex-col items-center">
      <Spinner label={text} className="min-h-0" />
      <p aria-hidden className="mt-5 font-semibold">
        {text}
      </p>
    </div>
  )
}

function PasswordForm({ onPass }: { onPass: () => void }) {
  const [password, setPassword] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<string>()

  const submit = async () => {
    setIsBusy(true)
    try {
      if (await isSitePassword(password)) {
        for (const { title } of [accountMessages.gate.denied, accountMessages.gate.failed])
          notify.withdraw(title)
        onPass()
        return
      }
      setPassword('')
      setError(accountMessages.gate.denied.description)
      notify.error(accountMessages.gate.denied.title, accountMessages.gate.denied.description)
    } catch (failure) {
      console.error('The password could not be checked:', failure)
      notify.error(accountMessages.gate.failed.title, accountMessages.gate.failed.description)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <form
      noValidate
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault()
        if (password !== '' && !isBusy) void submit()
      }}
      className="w-full max-w-md rounded-lg bg-chalk p-7 shadow-float sm:p-10"
    >
      <span className="grid size-14 place-items-center rounded-md bg-pitch-deep text-floodlight">
        <Lock aria-hidden className="size-7" />
      </span>
      <h1 className="mt-6 text-heading">{copy.title}</h1>
      <p className="mt-2 text-stone">{copy.lead}</p>
      <div className="mt-7 flex flex-col gap-5">
        <PasswordField
          label={copy.password}
          showLabel={copy.show}
          hideLabel={copy.hide}
          error={error}
          autoComplete="current-password"
          value={password}
          onChange={({ target }) => {
            setPassword(target.value)
            setError(undefined)
          }}
          readOnly={isBusy}
        />
        <Button type="submit" size="large" disabled={isBusy || password === ''}>
          {copy.submit}
        </Button>
      </div>
    </form>
  )
}
