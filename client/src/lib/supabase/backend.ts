import { readRuntimeConfig } from './runtime-config'

/** The backend that this page talks to. */
export const backend = readRuntimeConfig(globalThis.document, import.meta.env)
