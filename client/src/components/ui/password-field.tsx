import Eye from 'lucide-react/icons/eye'
import EyeOff from 'lucide-react/icons/eye-off'
import { useState, type ComponentProps } from 'react'

import { TextField } from './field'

type PasswordFieldProps = Omit<ComponentProps<typeof TextField>, 'type' | 'children'> & {
  showLabel: string
  hideLabel: string
}

/** Shows a password with a button that shows what was typed. */
export function PasswordField({ showLabel, hideLabel, ...props }: PasswordFieldProps) {
  const [isShown, setIsShown] = useState(false)
  const Icon = isShown ? EyeOff : Eye
  return (
    <TextField {...props} type={isShown ? 'text' : 'password'}>
      <button
        type="button"
        aria-label={isShown ? hideLabel : showLabel}
        aria-pressed={isShown}
        onClick={() => setIsShown(!isShown)}
        className="absolute inset-y-0 right-0.5 grid w-11 place-items-center rounded-md text-stone focus-inside hover:text-ink"
      >
        <Icon aria-hidden className="size-5" />
      </button>
    </TextField>
  )
}
