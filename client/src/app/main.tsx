import '@fontsource-variable/bricolage-grotesque/wght.css'
import '@fontsource-variable/hanken-grotesk/wght.css'
import './theme.css'

import { firstPaint, firstPicture } from './first-paint'
import { MODULE_LATER } from './module-later'
import { recoverStart } from './recover-start'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element #root to show the site in')

const hasFirstScreen = root.childElementCount > 0 && !document.hidden
if (hasFirstScreen) await firstPaint()
// Only now, since they would share the connection with what the first screen is made of.
for (const link of document.querySelectorAll<HTMLLinkElement>(`link[rel="${MODULE_LATER}"]`))
  link.rel = 'modulepreload'
if (hasFirstScreen) await firstPicture(root)
try {
  const { start } = await import('./start')
  await start(root)
} catch (error) {
  console.error(error)
  await recoverStart()
}
