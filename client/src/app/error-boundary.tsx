import { Component, type ReactNode } from 'react'

import { Failure } from '@/components/ui/failure'

interface ErrorBoundaryProps {
  children: ReactNode
  /** Is shown instead of the broken part; by default a message and a button that reloads the page. */
  fallback?: ReactNode
}

/**
 * Keeps the rest usable if a page or a part of it fails. The most likely reason is that one of its files no longer exists
 * since a new version of the site was deployed; a reload then loads the new version.
 */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override render() {
    const { children, fallback } = this.props
    if (!this.state.hasFailed) return children
    if (fallback !== undefined) return fallback
    return (
      <div className="container-page min-h-dvh bg-paper pt-36">
        <Failure message="This page could not be shown. Please try again." retryLabel="Try Again" />
      </div>
    )
  }
}
