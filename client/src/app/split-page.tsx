import { createElement, lazy, type ComponentType } from 'react'

type Load<Props> = () => Promise<{ default: ComponentType<Props> }>

/** A page in a file of its own. */
export interface SplitPage<Props> {
  (props: Props): React.ReactNode
  /** Brings the file, so that the page shows at once when it is rendered for the first time. */
  load: () => Promise<void>
}

/** The page that `load` imports, in a file that comes when it is first shown. */
export function splitPage<Props extends object = object>(load: Load<Props>): SplitPage<Props> {
  const Lazy = lazy(load) as unknown as ComponentType<Props>
  let loaded: ComponentType<Props> | undefined
  const Page = (props: Props) => createElement(loaded ?? Lazy, props)
  Page.load = async () => {
    loaded = (await load()).default
  }
  return Page
}
