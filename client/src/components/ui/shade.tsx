/**
 * Darkens the page behind a dialog, intercepts pointer events, and prevents scrolling.
 *
 * Radix's own overlay locks scrolling with an injected `<style>`, which a strict Content-Security-Policy refuses;
 * `data-scroll-lock` does the same from the style sheet.
 */
export function Shade() {
  return (
    <div
      data-scroll-lock
      className="pointer-events-auto fixed inset-0 z-50 animate-fade-in bg-ink/60"
    />
  )
}
