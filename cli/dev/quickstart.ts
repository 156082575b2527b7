import { existsSync } from 'node:fs'
import { cp, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const EXAMPLE = fileURLToPath(new URL('../../examples/quickstart', import.meta.url))

/** As the tour's commands name it. */
export const QUICKSTART_DIRECTORY = '.realmkeeper/quickstart/manifests'

/** The working copy of the quickstart's manifests, made if it is not there yet; edits in it stay. True when made. */
export async function prepareQuickstart(): Promise<boolean> {
  const copy = resolve(QUICKSTART_DIRECTORY)
  if (existsSync(copy)) return false
  const unfinished = `${copy}.new`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(dirname(copy), { recursive: true })
  await cp(EXAMPLE, unfinished, { recursive: true })
  await rename(unfinished, copy)
  return true
}
