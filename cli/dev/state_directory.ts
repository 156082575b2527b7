import { basename, dirname, join, relative, resolve } from 'node:path'
import { PlainError } from '../../process/plain_error.ts'

/**
 * The state directory that belongs to a directory of manifests: `--state-dir` if given, `state` beside a working copy
 * `.realmkeeper/<name>/manifests`, else `.realmkeeper/<name of the directory>/state` under the current folder. Every
 * command finds it by this rule. Throws PlainError when it would lie among the manifests, which are watched.
 */
export function stateDirectoryOf(directory: string, given?: string): string {
  const manifests = resolve(directory)
  const state = given === undefined ? usualStateDirectory(manifests) : resolve(given)
  const within = relative(manifests, state)
  if (!/^\.\.(?:\/|$)/.test(within)) {
    throw new PlainError(`the state directory ${state} lies inside ${manifests}: choose another with --state-dir`)
  }
  return state
}

function usualStateDirectory(manifests: string): string {
  const copy = dirname(manifests)
  if (basename(manifests) === 'manifests' && basename(dirname(copy)) === '.realmkeeper') return join(copy, 'state')
  return resolve('.realmkeeper', basename(manifests), 'state')
}
