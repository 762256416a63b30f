/** Found by its path and by the name that deno.json gives it. */
export const word = 'imported'
