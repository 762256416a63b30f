/** A service that measures visits. The default measures nothing; a site may replace it. */
interface Analytics {
  /** Called once the visitor has agreed, on each page load. */
  start: () => void
  /** Called when the visitor withdraws consent: deletes everything. */
  stop: () => void
}

/** The cookies of the cookie policy that need consent. */
const CONSENTED_COOKIES = ['terrace_visitor', 'terrace_visit', 'terrace_campaign']

export const analytics: Analytics = {
  start: () => undefined,
  stop: () => {
    for (const name of CONSENTED_COOKIES) document.cookie = `${name}=; path=/; max-age=0`
  },
}
