import path from 'node:path'

/** What imports begin with, and the folders that it stands for. */
export const aliases = {
  '@': path.resolve(import.meta.dirname, '../src'),
  // The rules that forms have in common with the functions that take what they send.
  '@shared': path.resolve(import.meta.dirname, '../../functions/_shared'),
}
