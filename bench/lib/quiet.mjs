/**
 * The environment of a Basalt that is measured: free ports, and no line for each request, which would keep this process
 * busy with reading it.
 */
export const quiet = { BASALT_ADMIN_PORT: '0', BASALT_DATABASE_PORT: '0', BASALT_LOG: 'warn' }
