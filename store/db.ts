import pg from 'pg'
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg'

/** Anything that runs a query: the pool, or one client inside a transaction. */
export interface Db {
  query<Row extends QueryResultRow>(text: string | NamedQuery, values?: unknown[]): Promise<QueryResult<Row>>
}

/** A statement that is prepared once a connection and afterwards called by its name. */
export interface NamedQuery {
  name: string
  text: string
  values: unknown[]
}

export interface PoolOptions {
  connectionString: string
  /** Shown in pg_stat_activity. */
  applicationName: string
  maxConnections?: number
  /** Milliseconds until a query fails on this side, also with a frozen backend. */
  queryTimeoutMillis?: number
  /** Called with errors of idle connections, which the pool replaces. */
  onError?: (error: Error) => void
}

/** A pool that replaces broken connections: a lost backend does not end the process. */
export function createPool(options: PoolOptions): Pool {
  const queryTimeout = options.queryTimeoutMillis ?? 5_000
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    application_name: options.applicationName,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 30_000,
    query_timeout: queryTimeout,
    // Postgres times out first, which guarantees that the statement had no effect.
    statement_timeout: Math.max(1, queryTimeout - 500),
    // A process that is suspended inside a transaction must not hold its locks without end.
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
  })
  const report = (error: Error): void => options.onError?.(error)
  pool.on('error', report)
  // The pool listens only while a client is idle: without this, a backend that dies under a checked-out client
  // is an unhandled 'error' event, which ends the process.
  pool.on('connect', (client) => void client.on('error', report))
  return pool
}

/**
 * Runs `work` in one transaction. After an error that means that Postgres is unavailable, or a failed rollback, the
 * connection is destroyed, which rolls back as well: after a failover it leads to a former primary, and a rollback on a
 * frozen connection would only wait. (`pool.query` destroys such connections itself.)
 */
export async function inTransaction<Result>(
  pool: Pool,
  work: (db: Db, begun: QueryResult | QueryResult[]) => Promise<Result>,
  begin = 'begin',
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const begun = await client.query(begin)
    const result = await work(client, begun)
    await client.query('commit')
    return result
  } catch (error) {
    broken = isUnavailable(error) && error instanceof Error ? error : await rollback(client)
    throw error
  } finally {
    client.release(broken)
  }
}

async function rollback(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback')
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** True when `error` is a unique violation (SQLSTATE 23505) of the named constraint. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint
}

// SQLSTATE classes and codes that mean "not now" rather than "never": connection exceptions (08), insufficient
// resources (53), operator intervention (57), system errors (58), read-only after a failover (25006),
// serialization failure and deadlock (40001, 40P01), lock not available (55P03), idle-in-transaction (25P03).
const UNAVAILABLE = /^(?:08|53|57|58)|^(?:25006|25P03|40001|40P01|55P03)$/

/**
 * True when a query failed because Postgres is unreachable, overloaded or failing over: the caller may try again, and a
 * client gets 503. Every other error is a fault of this program.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code !== undefined && UNAVAILABLE.test(error.code)
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && BROKEN.test(error.code)) return true
  // node-postgres has no codes for its own errors.
  return /\b(?:timeout|terminated|not queryable|ended|connection error|establishing an SSL connection)\b/i.test(
    error.message,
  )
}

/** True when no connection was free: of the pool in time, or of Postgres (SQLSTATE 53300). */
export function isExhausted(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '53300'
  // node-postgres has no code for it.
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

// Codes of the system for sockets (ECONNRESET, EPIPE) and of Node for streams; Node's other codes are faults of this
// program.
const BROKEN = /^E(?!RR_)[A-Z_]+$|^ERR_(?:STREAM|SOCKET|SSL|TLS)_/

/**
 * True when Postgres refuses the connection (SQLSTATE class 28, 3D), or is not the server that the URL demands: the
 * configuration is wrong, not the request.
 */
export function isTurnedAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code !== undefined && /^(?:28|3D)/.test(error.code)
  return isUntrusted(error)
}

// Codes of OpenSSL and Node for certificates (X509_V_ERR_…, ERR_TLS_…).
const UNTRUSTED =
  /^(?:CERT|CRL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|INVALID_|PATH_LENGTH|HOSTNAME|ERROR_IN_C|ERR_TLS_|ERR_SSL_)/

/** True when the server's TLS is not what the URL demands, or its authority (`sslrootcert`) cannot be read. */
export function isUntrusted(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  if (error.message === 'The server does not support SSL connections') return true
  if (!('code' in error) || typeof error.code !== 'string') return false
  return UNTRUSTED.test(error.code) || ('syscall' in error && error.syscall === 'open')
}
