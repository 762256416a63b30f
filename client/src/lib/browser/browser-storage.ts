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

const local = () => window.localStorage
const session = () => window.sessionStorage

/** The value in local storage; null where there is none, or no storage. */
export function readLocal(key: string) {
  return read(local, key)
}

/** Keeps the value in local storage; false where that is impossible. */
export function writeLocal(key: string, value: string) {
  return write(local, key, value)
}

export function removeLocal(key: string) {
  try {
    window.localStorage.removeItem(key)
  } catch {
    // What cannot be reached holds nothing either.
  }
}

/** The value in session storage; null where there is none, or no storage. */
export function readSession(key: string) {
  return read(session, key)
}

/** Keeps the value in session storage; false where that is impossible. */
export function writeSession(key: string, value: string) {
  return write(session, key, value)
}

export function removeSession(key: string) {
  try {
    window.sessionStorage.removeItem(key)
  } catch {
    // What cannot be reached holds nothing either.
  }
}
