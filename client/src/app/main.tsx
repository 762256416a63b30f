import '@fontsource-variable/bricolage-grotesque/wght.css'
import '@fontsource-variable/hanken-grotesk/wght.css'
import './theme.css'

import { firstScreenShown } from './first-paint'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element #root to show the site in')

await firstScreenShown(root)
const { start } = await import('./start')
await start(root)
