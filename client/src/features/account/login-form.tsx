import { zodResolver } from '@hookform/resolvers/zod'
import ArrowLeft from 'lucide-react/icons/arrow-left'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useForm } from 'react-hook-form'
import * as z from 'zod/mini'

import { Link } from '@/components/layout/link'
import { Button } from '@/components/ui/button'
import { TextField } from '@/components/ui/field'
import { PasswordField } from '@/components/ui/password-field'
import { draftOf, forgetDraft } from '@/lib/forms/drafts'
import { takeServedField } from '@/lib/loading/served-fields'
import { useIsLive } from '@/lib/loading/use-is-live'
import { accountMessages } from '@/lib/notices/account-messages'
import { notify } from '@/lib/notices/notify'
import { getSupabase } from '@/lib/supabase/get-supabase'

import { copy } from './copy'

const required = z.string().check(z.trim(), z.minLength(1, copy.required))
const loginSchema = z.object({
  email: required,
  password: z.string().check(z.minLength(1, copy.required)),
})

type LoginValues = z.infer<typeof loginSchema>

/** Returns the message for a refused sign-in. */
export function loginError(message: string) {
  if (message.includes('Invalid login credentials')) return accountMessages.login.invalidCredentials
  if (message.includes('Email not confirmed')) return accountMessages.login.unconfirmed
  return message || accountMessages.login.failed
}

/** The name of supabase-js's error for requests that were not answered, or by a gateway only. */
const NO_ANSWER = 'AuthRetryableFetchError'

async function signIn({ email, password }: LoginValues) {
  try {
    const { auth } = await getSupabase()
    const { error } = await auth.signInWithPassword({ email, password })
    if (!error) return null
    // Its message is the browser's: no server has answered.
    return error.name === NO_ANSWER ? accountMessages.login.failed : loginError(error.message)
  } catch (error) {
    console.error('Signing in failed:', error)
    return accountMessages.login.failed
  }
}

interface LoginFormProps {
  /** Whether the visitor comes from the link in a confirmation mail. */
  isVerified: boolean
  onSignedIn: () => void
}

/** The form's name among all forms of the site. */
const DRAFT = 'login'

/** Shows the form that asks for an e-mail address and a password. */
export function LoginForm({ isVerified, onSignedIn }: LoginFormProps) {
  const [failure, setFailure] = useState<string>()
  const form = useForm({
    resolver: zodResolver(loginSchema),
    defaultValues: { email: String(draftOf(DRAFT)?.email ?? ''), password: '' },
  })
  const { errors, isSubmitting } = form.formState
  const { setValue } = form
  const isLive = useIsLive()
  const formRef = useRef<HTMLFormElement>(null)
  useEffect(() => forgetDraft(DRAFT), [])

  useLayoutEffect(() => {
    for (const name of ['email', 'password'] as const) {
      const served = takeServedField(name)
      if (served?.value) setValue(name, served.value)
      // At once, and not as the form's library does it, so that no key is lost.
      const field = formRef.current?.elements.namedItem(name)
      if (served?.hadFocus && field instanceof HTMLElement) field.focus({ preventScroll: true })
    }
  }, [setValue])

  const submit = form.handleSubmit(async (values) => {
    setFailure(undefined)
    const problem = await signIn(values)
    if (problem) {
      setFailure(problem)
      notify.error(problem)
      return
    }
    notify.success(accountMessages.login.succeeded)
    onSignedIn()
  })

  return (
    <form
      ref={formRef}
      noValidate
      data-draft={DRAFT}
      aria-labelledby="login-heading"
      onSubmit={(event) => void submit(event)}
      className="w-full max-w-md rounded-lg bg-chalk p-7 shadow-float sm:p-10"
    >
      <h1 id="login-heading" className="text-title">
        {copy.title}
      </h1>
      <p className="mt-2 text-stone">{copy.lead}</p>
      {isVerified && (
        <p role="status" className="mt-5 rounded-md bg-mist px-4 py-3 text-small font-semibold">
          {copy.verified}
        </p>
      )}
      <fieldset disabled={isSubmitting} className="mt-7 flex flex-col gap-5">
        <TextField
          {...form.register('email')}
          label={copy.email}
          type="email"
          autoComplete="username"
          error={errors.email?.message}
        />
        <PasswordField
          {...form.register('password')}
          label={copy.password}
          showLabel={copy.show}
          hideLabel={copy.hide}
          autoComplete="current-password"
          error={errors.password?.message}
        />
        {failure && <p className="text-small font-medium text-(--field-error)">{failure}</p>}
        {/* Until the scripts run, the browser itself would send the form, with the password in the address. */}
        <Button type="submit" size="large" disabled={!isLive}>
          {isSubmitting ? copy.submitting : copy.submit}
        </Button>
      </fieldset>
      <Link
        to="/"
        className="mt-6 inline-flex min-h-11 items-center gap-2 text-small font-semibold text-pitch underline-offset-4 hover:underline"
      >
        <ArrowLeft aria-hidden className="size-4" />
        {copy.backHome}
      </Link>
    </form>
  )
}
