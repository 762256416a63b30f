import { Component, type ReactNode } from 'react'

import { Failure } from '@/components/ui/failure'

interface ErrorBoundaryProps {
  children: ReactNode
  /** Stands in for what broke; by default it says so and offers to load the page again. */
  fallback?: ReactNode
}

/**
 * Keeps the rest usable when a page or a part of it breaks, most likely because one of its files is gone after a
 * new version of the site was put up: loading again brings the new one.
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
