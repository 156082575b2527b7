import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { API_VERSION } from '../../../crds/group.ts'
import { canonicalText } from '../../../process/canonical_json.ts'
import { errorCode } from '../../../process/loggable.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { DesiredSecret, Secret, SecretAccess, SecretName, SecretVersion } from '../resource_source.ts'
import type { SecretManifest } from './manifests/manifest.ts'
import { replaceFile } from './state/atomic_file.ts'
import { StateError } from './state/state_file.ts'
import type { StateSecrets } from './state/state_secrets.ts'
import { timeText } from './state/stored_object.ts'
import type { StoredSecret } from './state/stored_object.ts'

export type SecretDigest = (secret: SecretManifest) => string

const KEY_BYTES = 32

/**
 * A digest that changes with any member that reconcilers read. Its key is in the state directory: without the key, a
 * digest reveals nothing about the Secret. Throws StateError when the key file is not a key.
 */
export function secretDigest(stateDir: string): SecretDigest {
  const key = createSecretKey(readOrCreateKey(stateDir))
  return ({ namespace, name, labels, annotations, data, controllerUid }) => {
    const content = canonicalText({ namespace, name, labels, annotations, data, controllerUid })
    return createHmac('sha256', key).update(content).digest('hex').slice(0, 40)
  }
}

function readOrCreateKey(stateDir: string): Buffer {
  const path = join(stateDir, 'secret_digest.key')
  try {
    const key = readFileSync(path)
    if (key.length === KEY_BYTES) return key
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ENOENT') throw new StateError(`${path} cannot be read (${code})`, { cause: error })
    const key = randomBytes(KEY_BYTES)
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    replaceFile(path, key, { mode: 0o600 })
    return key
  }
  throw new StateError(`${path} is damaged: remove it; every password is then hashed again and every session ends`)
}

export interface SecretAccessDeps {
  stateSecrets: StateSecrets
  digest: SecretDigest
  /** The stored identity of a Secret of the directory. */
  stored(name: SecretName): StoredSecret | undefined
  /** Its content; undefined until its file is read. */
  content(name: SecretName): SecretManifest | undefined
  /** Called after each write: listeners learn of it without waiting for a scan. */
  changed(): void
  now(): Date
  randomUid(): string
}

/** Secrets of the directory, which are read-only and take precedence, and Secrets of the state directory. */
export function secretAccess({ stateSecrets, digest, ...deps }: SecretAccessDeps): SecretAccess {
  const versionOf = (secret: SecretManifest): SecretVersion => ({
    uid: secret.uid ?? '',
    resourceVersion: digest(secret),
  })

  function write(desired: DesiredSecret, uid: string, creationTimestamp: string): SecretVersion {
    const { namespace, name, labels, annotations = {}, controller } = desired
    const data = Object.fromEntries(Object.entries(desired.data).map(([key, bytes]) => [key, bytes.toString('base64')]))
    const secret: SecretManifest = {
      type: 'secret',
      kind: 'Secret',
      namespace,
      name,
      labels,
      annotations,
      data,
      uid,
      ...(controller && { controllerUid: controller.metadata.uid }),
    }
    const version = versionOf(secret)
    const ownerReferences = controller && [
      {
        apiVersion: API_VERSION,
        kind: controller.kind,
        name: controller.metadata.name,
        uid: controller.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]
    stateSecrets.write(secret, { ...version, creationTimestamp, ...(ownerReferences && { ownerReferences }) })
    deps.changed()
    return version
  }

  function refuseDirectorySecret(name: SecretName): void {
    if (!deps.stored(name)) return
    throw new ResourceConflict(`Secret ${name.namespace}/${name.name} lies in the directory; it is changed there`)
  }

  return {
    version(name) {
      const stored = deps.stored(name)
      if (stored) return { uid: stored.uid, resourceVersion: stored.digest }
      const secret = stateSecrets.find(name)
      return secret && versionOf(secret)
    },

    async read(name) {
      const stored = deps.stored(name)
      const content = stored ? deps.content(name) : stateSecrets.read(name)
      if (!content) return undefined
      const { namespace, labels, annotations, controllerUid } = content
      const secret: Secret = {
        namespace,
        name: content.name,
        labels,
        annotations,
        version: stored ? { uid: stored.uid, resourceVersion: stored.digest } : versionOf(content),
        foreignManagers: stored ? ['file'] : [],
        data: Object.fromEntries(Object.entries(content.data).map(([key, text]) => [key, Buffer.from(text, 'base64')])),
      }
      // An owner reference in a file of the directory does not prove that the operator created the Secret.
      if (!stored && controllerUid !== undefined) secret.controllerUid = controllerUid
      return secret
    },

    async create(desired) {
      refuseDirectorySecret(desired)
      if (stateSecrets.exists(desired)) {
        throw new ResourceConflict(`Secret ${desired.namespace}/${desired.name} is there already`)
      }
      return write(desired, deps.randomUid(), timeText(deps.now()))
    },

    async update(desired, version) {
      refuseDirectorySecret(desired)
      const present = stateSecrets.read(desired)
      const found = present && versionOf(present)
      if (!present || !found || found.uid !== version.uid || found.resourceVersion !== version.resourceVersion) {
        throw new ResourceConflict(`Secret ${desired.namespace}/${desired.name} is not the one that was read`)
      }
      return write(desired, found.uid, present.creationTimestamp ?? timeText(deps.now()))
    },

    async delete(name) {
      stateSecrets.remove(name)
      deps.changed()
    },
  }
}
