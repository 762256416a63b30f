import { render } from '@testing-library/react'
import { MemoryRouter } from 'react-router-dom'

// Lazily loaded chunks are loaded beforehand, so that tests do not depend on how long that takes.
import '@/features/application/schema'
import '@/features/contact/schema'
import '@/features/newsletter/popup-dialog'
import '@/features/newsletter/schema'
import '@/features/session/session-watch'
import '@/lib/forms/form-control'
import '@/lib/supabase/client'
import { App, loadApp } from '@/app/app'
import { ROUTES } from '@/app/routes'

await Promise.all(ROUTES.map(({ path }) => loadApp(path)))

/** Opens the whole site at a path, as a browser does. */
export function visit(path: string) {
  return render(
    <MemoryRouter initialEntries={[path]}>
      <App />
    </MemoryRouter>,
  )
}
