/** The part of `pg` that the kit uses; the package brings no types of its own. */
declare module 'pg' {
  export class Client {
    constructor(config: {
      connectionString: string
      application_name?: string
      connectionTimeoutMillis?: number
      query_timeout?: number
    })
    connect(): Promise<void>
    query(
      statement: string | { name: string; text: string },
      values?: unknown[],
    ): Promise<{ rows: Record<string, unknown>[] }>
    end(): Promise<void>
    on(event: 'error', listener: (error: Error) => void): this
  }
}
