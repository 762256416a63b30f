import { QueryClientProvider } from '@tanstack/react-query'
import { render } from '@testing-library/react'
import type { ReactNode } from 'react'
import { MemoryRouter } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import '@/lib/forms/form-control'
import '@/lib/supabase/client'
import { createQueryClient } from '@/lib/content/query-client'

/** Renders one feature inside the site's providers. */
export function renderFeature(feature: ReactNode, at = '/') {
  return render(
    <QueryClientProvider client={createQueryClient()}>
      <MemoryRouter initialEntries={[at]}>{feature}</MemoryRouter>
      <Toaster />
    </QueryClientProvider>,
  )
}
