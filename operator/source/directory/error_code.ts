/** The code of a system error (`ENOENT`, `EACCES`, …), for choosing and for messages. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error'
}
