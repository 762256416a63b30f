import { render } from '@testing-library/react'
import { MemoryRouter } from 'react-router-dom'

// What the site loads when it is needed is there from the start: how long that takes is not what tests are about.
import '@/app/pages/about'
import '@/app/pages/article'
import '@/app/pages/auth'
import '@/app/pages/careers'
import '@/app/pages/home'
import '@/app/pages/legal'
import '@/app/pages/not-found'
import '@/app/pages/password'
import '@/app/widgets'
import '@/components/ui/sonner'
import '@/features/application/application-form'
import '@/features/contact/contact-form'
import '@/features/newsletter/footer-form'
import '@/features/newsletter/popup-dialog'
import '@/features/session/session-watch'
import '@/lib/supabase/client'
import { App } from '@/app/app'

/** Opens the whole site at a path, as a browser does. */
export function visit(path: string) {
  return render(
    <MemoryRouter initialEntries={[path]}>
      <App />
    </MemoryRouter>,
  )
}
