import { lstat, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { PlainError } from '../../process/plain_error.ts'

/** Raised when a state directory of an older or newer realmkeeper cannot be used. */
const VERSION = '1'

/**
 * The state directory of a directory of manifests: `--state-dir` if given; `state` next to a working copy
 * `.realmkeeper/<name>/manifests`; else `.realmkeeper/<name of the directory>/state` in the current folder. Throws
 * PlainError when it would lie inside the manifests, which are watched.
 */
export function stateDirectoryOf(directory: string, given?: string): string {
  const manifests = resolve(directory)
  const state = given === undefined ? defaultStateDirectory(manifests) : resolve(given)
  if (!/^\.\.(?:\/|$)/.test(relative(manifests, state))) {
    throw new PlainError(`the state directory ${state} lies inside ${manifests}: choose another with --state-dir`)
  }
  return state
}

/**
 * As root, throws PlainError when another user can change a folder of this path: by the time of a write, it could lead
 * elsewhere. Folders with the sticky bit (/tmp) are safe, since only root can replace what root made there.
 */
export async function refuseForeignFolders(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  for (const folder of [...ancestors(path), ...ancestors(await deepestReal(path))]) {
    const found = await lstat(folder).catch(() => undefined)
    if (!found || found.isSymbolicLink()) continue
    const isShared = (found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0
    if (found.uid === 0 && !isShared) continue
    const why = found.uid === 0 ? 'other users can write in it' : `it belongs to the user ${found.uid}`
    throw new PlainError(
      `root does not write below ${folder}, because ${why}: run the command as the owner of the files, or choose a ` +
        'folder of root with --state-dir',
    )
  }
}

/** The path itself and every folder above it. */
function ancestors(path: string): string[] {
  const all = [path]
  for (let at = path; dirname(at) !== at; at = dirname(at)) all.push(dirname(at))
  return all
}

async function deepestReal(path: string): Promise<string> {
  return realpath(path).catch(() => deepestReal(dirname(path)))
}

/**
 * Creates a state directory, or checks that this version of realmkeeper created it.
 * @throws PlainError for another version, and when another user can change the directory
 */
export async function openStateDirectory(path: string): Promise<void> {
  const file = join(path, 'version')
  await refuseForeignFolders(path)
  // It holds keys and licenses. For root it must be passable: another account runs PostgreSQL below it.
  await mkdir(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  const found = (await readFile(file, 'utf8').catch(() => undefined))?.trim()
  if (found === undefined) await writeFile(file, `${VERSION}\n`)
  else if (found !== VERSION) {
    throw new PlainError(
      `the state directory ${path} has version ${found.slice(0, 20) || '(empty)'}, and this realmkeeper reads version ` +
        `${VERSION}: move it away to begin with a new one (users get new subjects), or run the realmkeeper that created it`,
    )
  }
}

function defaultStateDirectory(manifests: string): string {
  const copy = dirname(manifests)
  if (basename(manifests) === 'manifests' && basename(dirname(copy)) === '.realmkeeper') return join(copy, 'state')
  return resolve('.realmkeeper', basename(manifests), 'state')
}
