import { describe, expect, it, vi } from 'vitest'

import { stubBackend } from '@/testing/backend'

// The schema is no part of the client, but its defaults have to be the client's.
// eslint-disable-next-line no-restricted-imports
import migration from '../../../../schema/site/migrations/20261120090100_settings.sql?raw'
import { DEFAULT_SETTINGS } from './default-settings'
import { DEFAULT_SITE_SETTINGS, loadSiteSettings } from './site-settings'

describe('loadSiteSettings', () => {
  it('strips the quotes that values may be wrapped in', async () => {
    stubBackend({ settings: [{ value: '"Terrace"' }] })
    expect((await loadSiteSettings()).siteName).toBe('Terrace')
  })

  it('keeps the default of every title that is not stored', async () => {
    stubBackend({ settings: [{ value: '{"home":"Matchday","about":7}' }] })
    const { pageTitles } = await loadSiteSettings()
    expect(pageTitles.home).toBe('Matchday')
    expect(pageTitles.about).toBe('About Us')
  })

  it('creates each missing setting with its default', async () => {
    const requests = stubBackend()
    expect(await loadSiteSettings()).toEqual(DEFAULT_SITE_SETTINGS)
    const created = requests.filter(({ method }) => method === 'POST').map(({ body }) => body)
    expect(created).toHaveLength(Object.keys(DEFAULT_SETTINGS).length)
    expect(created).toContainEqual({
      key: 'password_protection',
      ...DEFAULT_SETTINGS.password_protection,
    })
  })

  it('shows the defaults and creates nothing where the backend fails', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    const requests = stubBackend({ settings: 'failure' })
    expect(await loadSiteSettings()).toEqual(DEFAULT_SITE_SETTINGS)
    expect(requests.every(({ method }) => method === 'GET')).toBe(true)
  })
})

describe('the defaults', () => {
  it.each(Object.entries(DEFAULT_SETTINGS))(
    'of %s are those that the database takes',
    (key, setting) => {
      const [value, category, description] = [
        setting.value,
        setting.category,
        setting.description,
      ].map((text) => text.replaceAll("'", "''"))
      const row = `('${key}', '${value}', '${category}', '${description}')`
      expect(migration.replace(/,\s+'/g, ", '")).toContain(row)
    },
  )
})
