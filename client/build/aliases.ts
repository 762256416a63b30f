import path from 'node:path'

/** Prefixes of imports, and the folders that they stand for. */
export const aliases = {
  '@': path.resolve(import.meta.dirname, '../src'),
  // The validation rules that forms share with the functions that receive their data.
  '@shared': path.resolve(import.meta.dirname, '../../functions/_shared'),
}
