import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PlainError } from '../../process/plain_error.ts'

/** Raised when what `dev` keeps in a state directory changes so that an older or newer one cannot be used. */
const VERSION = '1'

/** Makes a state directory, or checks that this version of realmkeeper made it. Throws PlainError. */
export async function openStateDirectory(path: string): Promise<void> {
  const file = join(path, 'version')
  // Keys and licenses lie here; each file is closed by itself where another account's PostgreSQL has to pass through.
  await mkdir(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  const found = (await readFile(file, 'utf8').catch(() => undefined))?.trim()
  if (found === undefined) await writeFile(file, `${VERSION}\n`)
  else if (found !== VERSION) {
    throw new PlainError(
      `the state directory ${path} is of version ${found.slice(0, 20) || '(empty)'}, and this realmkeeper reads version ` +
        `${VERSION}: move it away to begin anew (users get new subjects), or run the realmkeeper that made it`,
    )
  }
}
