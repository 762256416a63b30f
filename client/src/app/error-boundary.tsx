import { Component, type ReactNode } from 'react'

import { Failure } from '@/components/ui/failure'
import { LoadError, recover } from '@/lib/loading/load-part'

interface ErrorBoundaryProps {
  children: ReactNode
  /** Is shown instead of the broken part; by default a message and a button that tries again. */
  fallback?: ReactNode
}

interface State {
  error?: unknown
}

/**
 * Keeps the rest usable if a page or a part of it fails. A part whose file could not be loaded is tried again as soon as
 * the browser is online.
 */
export class ErrorBoundary extends Component<ErrorBoundaryProps, State> {
  override state: State = {}

  static getDerivedStateFromError(error: unknown): State {
    return { error: error ?? new Error('unknown') }
  }

  override componentDidCatch(error: unknown) {
    if (!(error instanceof LoadError)) return
    window.addEventListener('online', this.retry, { once: true })
    // Nobody has asked for a part that may be left out, so the page is not loaded again for it.
    if (this.props.fallback === undefined) void recover(error, { isQuiet: true })
  }

  override componentWillUnmount() {
    window.removeEventListener('online', this.retry)
    this.forget()
  }

  retry = () => {
    this.forget()
    this.setState({ error: undefined })
  }

  forget() {
    if (this.state.error instanceof LoadError) this.state.error.forget()
  }

  override render() {
    const { children, fallback } = this.props
    const { error } = this.state
    if (error === undefined) return children
    if (fallback !== undefined) return fallback
    const isUnloaded = error instanceof LoadError
    return (
      <div className="container-page min-h-dvh bg-paper pt-36">
        <Failure
          message={
            isUnloaded
              ? 'This page could not be loaded. Please check your connection and try again.'
              : 'This page could not be shown. Please try again.'
          }
          retryLabel="Try Again"
          {...(isUnloaded && { onRetry: this.retry })}
        />
      </div>
    )
  }
}
