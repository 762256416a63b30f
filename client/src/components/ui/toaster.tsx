import { Toaster as Sonner } from 'sonner'

/** Where toasts appear; features raise them with sonner's `toast`. */
export function Toaster() {
  return <Sonner position="bottom-right" richColors closeButton />
}
