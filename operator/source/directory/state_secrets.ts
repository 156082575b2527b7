import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../crds/validation/defaulting.ts'
import { replaceFile, syncFolder } from './atomic_file.ts'
import { readText } from './folder.ts'
import { isLabel, isSubdomain, manifestOf } from './manifest.ts'
import type { SecretManifest } from './manifest.ts'
import type { SecretName } from '../resource_source.ts'

/**
 * The Secrets that the operator makes, as Kubernetes manifests: `<stateDir>/secrets/<namespace>/<name>.json`, mode 0600.
 * The layout is a contract: a server beside the operator reads its keyrings from there.
 */
export interface StateSecrets {
  /** Looks at the folder again and tells what appeared, changed or went, by hand or by `write` and `remove`. */
  look(): { changed: SecretName[]; problems: { path: string; message: string }[] }
  find(name: SecretName): SecretManifest | undefined
  /** Reads the file now. */
  read(name: SecretName): SecretManifest | undefined
  /** Whether something lies there, readable or not. */
  exists(name: SecretName): boolean
  write(secret: SecretManifest, metadata: Record<string, unknown>): void
  remove(name: SecretName): void
  all(): SecretManifest[]
}

interface Known {
  stamp: string
  secret?: SecretManifest
  problem?: string
}

// A file name holds 255 bytes, and a temporary name is longer than the name.
const MAX_NAME = 220

/** Where the Secret of a name lies below a state directory. Throws on what is not a name. */
export function secretPath(stateDir: string, { namespace, name }: SecretName): string {
  if (!isLabel(namespace) || !isSubdomain(name)) throw new Error(`not a name of a Secret: ${namespace}/${name}`)
  if (name.length > MAX_NAME)
    throw new Error(`the Secret name ${namespace}/${name} is longer than ${MAX_NAME} characters`)
  return join(stateDir, 'secrets', namespace, `${name}.json`)
}

/** Opens the folder; it is made when the first Secret is. */
export function stateSecrets(stateDir: string): StateSecrets {
  const root = join(stateDir, 'secrets')
  let known = new Map<string, Known>()

  function readFile(path: string): { secret?: SecretManifest; problem?: string } {
    const content = readText(path)
    if (content.problem !== undefined) return { problem: content.problem }
    try {
      const value: unknown = JSON.parse(content.text)
      const manifest = manifestOf(isObject(value) ? value : {})
      if (manifest.type === 'secret' && manifest.uid !== undefined) return { secret: manifest }
      if (manifest.type === 'unusable') return { problem: manifest.problems[0]?.message ?? 'not a Secret' }
    } catch {
      // The parser's message would quote the file.
    }
    return { problem: 'not a Secret with a metadata.uid in JSON; restore it, or remove it to have it made anew' }
  }

  return {
    look() {
      const present = new Map<string, Known>()
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
          // What cannot be read now is not gone: the last good one stays.
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
