import type { User } from '@supabase/supabase-js'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import ShieldAlert from 'lucide-react/icons/shield-alert'
import ShieldCheck from 'lucide-react/icons/shield-check'
import ShieldX from 'lucide-react/icons/shield-x'
import { useEffect, useState } from 'react'

import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { usePicture } from '@/lib/browser/use-picture'
import { cn } from '@/lib/cn'
import { LOGOUT_DELAY_MS } from '@/lib/constants'
import { initials } from '@/lib/initials'
import { accountMessages } from '@/lib/notices/account-messages'
import { notify } from '@/lib/notices/notify'
import { isIntactSession } from '@/lib/session/session-integrity'
import { getSupabase } from '@/lib/supabase/get-supabase'
import { storedSquare } from '@/lib/supabase/storage-url'

import { copy } from './copy'
import { loadProfile, securityLevel, type LoadedProfile, type SecurityLevel } from './profile'

const PROFILE_KEY = 'profile'

/** Shows who is signed in, with a way out. */
export function ProfileCard({ user }: { user: User }) {
  const { data: loaded } = useQuery({
    queryKey: [PROFILE_KEY, user.id],
    queryFn: () => loadProfile(user.id),
    refetchOnWindowFocus: false,
  })
  const { data: isIntact } = useQuery({
    queryKey: ['session-integrity', user.id],
    queryFn: () => isIntactSession(user.id).catch(() => false),
    refetchOnWindowFocus: false,
  })

  useEffect(() => {
    for (const problem of loaded?.problems ?? []) notify.error(problem)
  }, [loaded])

  return (
    <section
      aria-labelledby="profile-heading"
      className="w-full max-w-md overflow-hidden rounded-lg bg-chalk shadow-float"
    >
      <h1 id="profile-heading" className="sr-only">
        {copy.profileTitle}
      </h1>
      {isIntact !== undefined && <SecurityBanner {...securityLevel(user, isIntact)} />}
      <div className="p-7 sm:p-10">
        {loaded ? <Person loaded={loaded} user={user} /> : <PersonSkeleton />}
        <div className="mt-8 flex flex-col gap-3">
          <Button variant="outline" disabled>
            {copy.settings}
          </Button>
          <LogoutButton />
        </div>
      </div>
    </section>
  )
}

const BANNERS = {
  good: { Icon: ShieldCheck, className: 'bg-mist text-pitch-deep' },
  warning: { Icon: ShieldAlert, className: 'bg-floodlight text-ink' },
  error: { Icon: ShieldX, className: 'bg-flare-text text-chalk' },
}

function SecurityBanner({ level, text }: SecurityLevel) {
  const { Icon, className } = BANNERS[level]
  return (
    <p
      role={level === 'good' ? 'status' : 'alert'}
      data-level={level}
      className={cn('flex items-center gap-3 px-7 py-3.5 text-small font-semibold', className)}
    >
      <Icon aria-hidden className="size-5 shrink-0" />
      {text ?? copy.secure}
    </p>
  )
}

function PersonSkeleton() {
  return (
    <div role="status" aria-label={copy.loading} className="flex items-center gap-5">
      <Skeleton className="size-20 shrink-0 rounded-full" />
      <div className="flex flex-1 flex-col gap-2">
        <Skeleton className="h-6 w-3/4" />
        <Skeleton className="h-4 w-full" />
      </div>
    </div>
  )
}

function Person({ loaded: { profile, roles }, user }: { loaded: LoadedProfile; user: User }) {
  const email = profile?.email ?? user.email ?? ''
  const name = profile?.fullName ?? null
  return (
    <>
      <div className="flex items-center gap-5">
        <Avatar name={name ?? email} path={profile?.avatarPath ?? null} />
        <div className="min-w-0">
          <p className="font-display text-subheading font-semibold">{name ?? copy.nameless}</p>
          <p className="text-small wrap-anywhere text-stone">{email}</p>
        </div>
      </div>
      {roles.length > 0 ? (
        <ul aria-label={copy.roles} className="mt-5 flex flex-wrap gap-2">
          {roles.map((role) => (
            <li
              key={role}
              className="rounded-sm bg-pitch px-3 py-1 text-label font-semibold text-chalk"
            >
              {role}
            </li>
          ))}
        </ul>
      ) : (
        <p className="mt-5 text-small text-stone">{copy.noRoles}</p>
      )}
    </>
  )
}

/** The side of the user's picture, in CSS pixels. */
const AVATAR = 80

function Avatar({ name, path }: { name: string; path: string | null }) {
  const picture = usePicture(path ? storedSquare(path, 'other', AVATAR) : {})
  const shape = 'size-20 shrink-0 rounded-full bg-mist'
  if (!path || picture.isFailed) {
    return (
      <span
        aria-hidden
        className={cn(
          shape,
          'grid place-items-center font-display text-subheading font-bold text-pitch',
        )}
      >
        {initials(name)}
      </span>
    )
  }
  return (
    <img
      {...picture.attributes}
      alt=""
      className={cn(shape, 'object-cover')}
      onError={picture.onError}
    />
  )
}

function LogoutButton() {
  const [isBusy, setIsBusy] = useState(false)
  const queryClient = useQueryClient()

  const logout = async () => {
    setIsBusy(true)
    await new Promise((resolve) => setTimeout(resolve, LOGOUT_DELAY_MS))
    try {
      const { auth } = await getSupabase()
      const { error } = await auth.signOut()
      if (error) throw error
      queryClient.removeQueries({ queryKey: [PROFILE_KEY] })
      notify.success(accountMessages.logout.succeeded)
    } catch (error) {
      console.error('Signing out failed:', error)
      notify.error(accountMessages.logout.failed)
      setIsBusy(false)
    }
  }
  return (
    <Button variant="ink" disabled={isBusy} onClick={() => void logout()}>
      {isBusy ? copy.loggingOut : copy.logout}
    </Button>
  )
}
