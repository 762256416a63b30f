/** The relation of a link to a script that is preloaded once the first screen is painted. */
export const MODULE_LATER = 'module-later'
