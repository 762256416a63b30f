import { render } from '@testing-library/react'
import { MemoryRouter } from 'react-router-dom'

import { App } from '@/app/app'

/** Opens the whole site at a path, as a browser does. */
export function visit(path: string) {
  return render(
    <MemoryRouter initialEntries={[path]}>
      <App />
    </MemoryRouter>,
  )
}
