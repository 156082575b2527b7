import { readFile } from 'node:fs/promises'
import { PlainError } from '../../process/plain_error.ts'

/**
 * The database of a running `realmkeeper dev`, by what it keeps in its state directory. The URL holds the password: not
 * for a log. Throws PlainError when none is running there.
 */
export async function devDatabaseUrl(stateDir: string): Promise<string> {
  const directory = `${stateDir}/postgres`
  const location = (await textOf(`${directory}/location`)) ?? `${directory}/cluster`
  const password = await textOf(`${directory}/password`)
  // Its fourth line is the port (PostgreSQL, storage-file-layout).
  const port = Number((await textOf(`${location}/data/postmaster.pid`))?.split('\n')[3])
  if (password === undefined || !Number.isInteger(port)) {
    throw new PlainError(`no database is running for ${stateDir}: start "realmkeeper dev", or give --database-url`)
  }
  return `postgres://realmkeeper:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`
}

async function textOf(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim() || undefined
}
