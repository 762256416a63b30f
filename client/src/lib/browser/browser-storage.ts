/**
 * Local and session storage that never throw: browsers refuse both in some private modes, and when they are
 * full.
 */

function read(open: () => Storage, key: string) {
  try {
    return open().getItem(key)
  } catch {
    return null
  }
}

function write(open: () => Storage, key: string, value: string) {
  try {
    open().setItem(key, value)
    return true
  } catch {
    return false
  }
}

function remove(open: () => Storage, key: string) {
  try {
    open().removeItem(key)
  } catch {
    // Storage that cannot be accessed counts as empty.
  }
}

const local = () => window.localStorage
const session = () => window.sessionStorage

/** Returns the value in local storage; null without a value or without storage. */
export function readLocal(key: string) {
  return read(local, key)
}

/** Stores the value in local storage; returns false if that fails. */
export function writeLocal(key: string, value: string) {
  return write(local, key, value)
}

export function removeLocal(key: string) {
  remove(local, key)
}

/** Returns the value in session storage; null without a value or without storage. */
export function readSession(key: string) {
  return read(session, key)
}

export function removeSession(key: string) {
  remove(session, key)
}

/** Stores the value in session storage; returns false if that fails. */
export function writeSession(key: string, value: string) {
  return write(session, key, value)
}
