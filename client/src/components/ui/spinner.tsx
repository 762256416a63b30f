/** Says `label` to screen readers and turns until what is loading has come. */
export function Spinner({ label }: { label: string }) {
  return (
    <div role="status" className="grid min-h-80 place-items-center">
      <span
        aria-hidden
        className="size-10 animate-spin rounded-full border-4 border-ink/15 border-t-pitch"
      />
      <span className="sr-only">{label}</span>
    </div>
  )
}
