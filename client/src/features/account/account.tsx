import { Spinner } from '@/components/ui/spinner'
import { useSession } from '@/lib/session/session'

import { copy } from './copy'
import { LoginForm } from './login-form'
import { ProfileCard } from './profile-card'

interface AccountProps {
  /** Whether the visitor comes from the link in a confirmation mail. */
  isVerified: boolean
  /** Called once somebody has signed in with the form. */
  onSignedIn: () => void
}

const PAGE = 'grid min-h-dvh place-items-center bg-mist px-5 pt-28 pb-20'

/** Shows the login as it is before the page's scripts run: its fields can be filled, but not sent. */
export function AccountFirstScreen() {
  return (
    <div className={PAGE}>
      <LoginForm isVerified={false} onSignedIn={() => undefined} />
    </div>
  )
}

/** Shows the login, or the profile of the signed-in user. */
export function Account({ isVerified, onSignedIn }: AccountProps) {
  const session = useSession()
  return (
    <div className={PAGE}>
      {session === undefined && <Spinner label={copy.loading} />}
      {session === null && <LoginForm isVerified={isVerified} onSignedIn={onSignedIn} />}
      {session && <ProfileCard user={session.user} />}
    </div>
  )
}
