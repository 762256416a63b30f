import { Component, type ReactNode } from 'react'

import { Failure } from '@/components/ui/failure'

interface ErrorBoundaryProps {
  children: ReactNode
}

/**
 * Keeps header and footer usable when a page breaks, most likely because one of its files is gone after a
 * new version of the site was put up: loading again brings the new one.
 */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children
    return (
      <div className="container-page min-h-dvh bg-paper pt-36">
        <Failure message="This page could not be shown. Please try again." retryLabel="Try Again" />
      </div>
    )
  }
}
