import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../../crds/validation/defaulting.ts'
import { replaceFile, syncFolder } from './atomic_file.ts'
import { readText } from '../manifests/manifest_files.ts'
import { isLabel, isSubdomain, readManifest } from '../manifests/manifest.ts'
import type { SecretManifest } from '../manifests/manifest.ts'
import type { SecretName } from '../../resource_source.ts'

/**
 * The Secrets that the operator creates, as Kubernetes manifests: `<stateDir>/secrets/<namespace>/<name>.json`, mode
 * 0600. The layout is a contract: the server reads its keyrings from there.
 */
export interface StateSecrets {
  /** Scans the folder and returns the Secrets that were added, changed or removed since the last scan, and problems. */
  scan(): { changed: SecretName[]; problems: { path: string; message: string }[] }
  find(name: SecretName): SecretManifest | undefined
  /** Reads the file, not the last scan. */
  read(name: SecretName): SecretManifest | undefined
  /** True when there is a file, readable or not. */
  exists(name: SecretName): boolean
  write(secret: SecretManifest, metadata: Record<string, unknown>): void
  remove(name: SecretName): void
  all(): SecretManifest[]
}

interface ScannedSecret {
  stamp: string
  secret?: SecretManifest
  problem?: string
}

// A file name has at most 255 bytes, and `replaceFile` uses a longer temporary name.
const MAX_NAME = 220

/** The file of a Secret. Throws when the name is not valid. */
function secretPath(stateDir: string, { namespace, name }: SecretName): string {
  if (!isLabel(namespace) || !isSubdomain(name)) throw new Error(`not a name of a Secret: ${namespace}/${name}`)
  if (name.length > MAX_NAME)
    throw new Error(`the Secret name ${namespace}/${name} is longer than ${MAX_NAME} characters`)
  return join(stateDir, 'secrets', namespace, `${name}.json`)
}

/** The folder is created with the first Secret. */
export function stateSecrets(stateDir: string): StateSecrets {
  const root = join(stateDir, 'secrets')
  let known = new Map<string, ScannedSecret>()

  function readFile(path: string): { secret?: SecretManifest; problem?: string } {
    const content = readText(path)
    if (content.problem !== undefined) return { problem: content.problem }
    try {
      const value: unknown = JSON.parse(content.text)
      const manifest = readManifest(isObject(value) ? value : {})
      if (manifest.type === 'secret' && manifest.uid !== undefined) return { secret: manifest }
      if (manifest.type === 'unusable') return { problem: manifest.problems[0]?.message ?? 'not a Secret' }
    } catch {
      // The parser's message quotes the file, which is secret.
    }
    return { problem: 'not a Secret with a metadata.uid in JSON; restore it, or remove it to have it generated again' }
  }

  return {
    scan() {
      const present = new Map<string, ScannedSecret>()
      const changed: SecretName[] = []
      const problems: { path: string; message: string }[] = []
      for (const { namespace, name } of listSecrets(root)) {
        const text = `${namespace}/${name}`
        const path = join(root, namespace, `${name}.json`)
        const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
        if (!stat?.isFile()) continue
        const stamp = [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
        let entry = known.get(text)
        if (entry?.stamp !== stamp) {
          const read = readFile(path)
          // A file that cannot be read keeps its last good content.
          entry = { stamp, ...(entry?.secret && { secret: entry.secret }), ...read }
          changed.push({ namespace, name })
        }
        if (entry.problem !== undefined) problems.push({ path, message: entry.problem })
        present.set(text, entry)
      }
      for (const text of known.keys()) {
        const [namespace = '', name = ''] = text.split('/')
        if (!present.has(text)) changed.push({ namespace, name })
      }
      known = present
      return { changed, problems }
    },
    find: ({ namespace, name }) => known.get(`${namespace}/${name}`)?.secret,
    read: (name) => readFile(secretPath(stateDir, name)).secret,
    exists: (name) => statSync(secretPath(stateDir, name), { throwIfNoEntry: false }) !== undefined,
    write(secret, metadata) {
      const path = secretPath(stateDir, secret)
      mkdirSync(join(root, secret.namespace), { recursive: true, mode: 0o700 })
      const { namespace, name, labels, annotations, data } = secret
      const manifest = {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, namespace, labels, annotations, ...metadata },
        data,
      }
      replaceFile(path, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
    },
    remove(name) {
      const path = secretPath(stateDir, name)
      rmSync(path, { force: true })
      if (statSync(join(root, name.namespace), { throwIfNoEntry: false })) syncFolder(join(root, name.namespace))
    },
    all: () => [...known.values()].flatMap(({ secret }) => (secret ? [secret] : [])),
  }
}

function listSecrets(root: string): SecretName[] {
  return entriesOf(root).flatMap((namespace) =>
    entriesOf(join(root, namespace))
      .filter((file) => file.endsWith('.json') && !file.startsWith('.'))
      .map((file) => ({ namespace, name: file.slice(0, -'.json'.length) })),
  )
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}
