import { ResourceConflict } from '../resource_source.ts'
import type { DesiredSecret, Secret, SecretAccess, SecretName, SecretVersion } from '../resource_source.ts'
import { API_VERSION } from './manifest.ts'
import type { SecretManifest } from './manifest.ts'
import { timeText } from './held_object.ts'
import type { HeldSecret } from './held_object.ts'
import type { StateSecrets } from './state_secrets.ts'

export interface SecretsDeps {
  stateSecrets: StateSecrets
  digest: (content: unknown) => string
  /** Identity of a Secret that lies in the directory. */
  held(name: SecretName): HeldSecret | undefined
  /** Its content; absent while its file does not parse and did not since the start. */
  content(name: SecretName): SecretManifest | undefined
  /** Called after a write, so that listeners hear of it at once. */
  changed(): void
  now(): Date
  randomUid(): string
}

/** What a Secret's version says changed. */
export function secretDigestOf(secret: SecretManifest, digest: SecretsDeps['digest']): string {
  const { namespace, name, labels, annotations, data, controllerUid } = secret
  return digest({ namespace, name, labels, annotations, data, controllerUid })
}

/** Secrets of the directory, which are the user's and read only, before those of the state directory. */
export function secretAccess(deps: SecretsDeps): SecretAccess {
  const { stateSecrets, digest } = deps
  const versionOf = (secret: SecretManifest): SecretVersion => ({
    uid: secret.uid ?? '',
    resourceVersion: secretDigestOf(secret, digest),
  })

  function write(desired: DesiredSecret, uid: string, creationTimestamp: string): SecretVersion {
    const { namespace, name, labels, annotations = {}, controller } = desired
    const data = Object.fromEntries(Object.entries(desired.data).map(([key, bytes]) => [key, bytes.toString('base64')]))
    const owner = controller && { controllerUid: controller.metadata.uid }
    const secret: SecretManifest = {
      type: 'secret',
      kind: 'Secret',
      namespace,
      name,
      labels,
      annotations,
      data,
      uid,
      ...owner,
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

  function refuseForeign(name: SecretName): void {
    if (!deps.held(name)) return
    throw new ResourceConflict(`Secret ${name.namespace}/${name.name} lies in the directory; it is changed there`)
  }

  return {
    version(name) {
      const held = deps.held(name)
      if (held) return { uid: held.uid, resourceVersion: held.digest }
      const secret = stateSecrets.find(name)
      return secret && versionOf(secret)
    },

    async read(name) {
      const held = deps.held(name)
      const content = held ? deps.content(name) : stateSecrets.read(name)
      if (!content) return undefined
      const { namespace, labels, annotations, controllerUid } = content
      const secret: Secret = {
        namespace,
        name: content.name,
        labels,
        annotations,
        version: held ? { uid: held.uid, resourceVersion: held.digest } : versionOf(content),
        foreignManagers: held ? ['file'] : [],
        data: Object.fromEntries(Object.entries(content.data).map(([key, text]) => [key, Buffer.from(text, 'base64')])),
      }
      // An owner reference written into a file of the directory would claim what the operator did not make.
      if (!held && controllerUid !== undefined) secret.controllerUid = controllerUid
      return secret
    },

    async create(desired) {
      refuseForeign(desired)
      if (stateSecrets.exists(desired)) {
        throw new ResourceConflict(`Secret ${desired.namespace}/${desired.name} is there already`)
      }
      return write(desired, deps.randomUid(), timeText(deps.now()))
    },

    async update(desired, version) {
      refuseForeign(desired)
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
