import { isServerReachable, reloadForNewVersion, reloadPage } from '@/lib/loading/reload'

/** Says that the first screen is all there is for now. Nothing else of the site runs yet. */
function say(text: string) {
  const notice = document.createElement('p')
  notice.role = 'alert'
  notice.className =
    'fixed inset-x-4 bottom-4 z-70 rounded-md bg-ink px-4 py-3 text-small font-semibold text-chalk shadow-float ring-1 ring-flare ring-inset'
  notice.textContent = text
  document.body.append(notice)
}

/** Loads the page again if its scripts could not be loaded: at once, or as soon as there is a connection. */
export async function recoverStart() {
  const isReachable = await isServerReachable()
  if (isReachable && reloadForNewVersion()) return
  window.addEventListener('online', reloadPage, { once: true })
  say(
    isReachable
      ? 'This page could not be loaded completely. Please reload it in a minute.'
      : 'No connection. This page continues once you are online.',
  )
}
