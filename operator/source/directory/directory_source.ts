import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { evaluateRules } from '../../../crds/validation/cel.ts'
import { defaultAndValidate } from '../../../crds/validation/validation.ts'
import { lockDirectory } from '../../../process/directory_lock.ts'
import { KINDS } from '../resource.ts'
import type { ResourceKey } from '../resource.ts'
import type { ResourceEvent, ResourceSource, SecretName } from '../resource_source.ts'
import { directoryLooks } from './directory_looks.ts'
import { heldKey, isHeldObject, withPresentDefaults } from './held_object.ts'
import type { Held } from './held_object.ts'
import { keepLooking } from './looking.ts'
import type { Looking } from './looking.ts'
import { objectWrites } from './object_writes.ts'
import { heldObjects } from './objects.ts'
import { problemReports } from './problem_reports.ts'
import type { Problem } from './problem.ts'
import { secretAccess, secretDigestOf } from './secrets.ts'
import { secretDigests } from './secret_digest.ts'
import { StateError, openState } from './state_file.ts'
import { stateSecrets } from './state_secrets.ts'

export interface DirectoryOptions {
  /** The folder with the manifests. It is only read. */
  directory: string
  /** Where uids, generations, status and generated Secrets are kept. One source at a time uses it. */
  stateDir: string
  now: () => Date
  randomUid?: () => string
  /** How often the directory is looked at without being told to; an object absent in two polls is deleted. */
  pollMilliseconds?: number
  /** Called once for each problem, and again when it comes back after it was gone. */
  report: (problem: Problem) => void
  /** A Kubernetes Event; there is no API server to keep it, so it is for the log. */
  recordEvent: (key: ResourceKey, event: ResourceEvent) => void
}

export interface DirectorySource extends ResourceSource {
  /** What could not be taken over, as of the last look. */
  problems(): Problem[]
}

const schemaChecks = { defaultAndValidate, evaluateRules }

/**
 * A folder of YAML files that behaves like an API server: several documents a file, Secrets and Namespaces included,
 * files of other kinds ignored. `start` rejects with StateError when the directory or the state cannot be used, with
 * DirectoryLocked while another process uses that state.
 */
export function directorySource(options: DirectoryOptions): DirectorySource {
  const { directory, stateDir, now, randomUid = randomUUID, pollMilliseconds = 500 } = options
  const admission = { ...schemaChecks, now, randomUid }
  const resourceListeners: ((key: ResourceKey) => void)[] = []
  const secretListeners: ((secret: SecretName) => void)[] = []
  const reports = problemReports(options.report)
  let opened: ReturnType<typeof open> | undefined
  let looking: Looking | undefined
  let announced = false
  let release = async (): Promise<void> => {}

  function open() {
    const state = openState(stateDir, randomUid, withPresentDefaults)
    const digest = secretDigests(stateDir)
    const generated = stateSecrets(stateDir)
    const objects = heldObjects(state, changed)
    const looks = directoryLooks({
      directory,
      objects,
      admission,
      secretDigest: (secret) => secretDigestOf(secret, digest),
    })
    const secrets = secretAccess({
      stateSecrets: generated,
      digest,
      held(name) {
        const held = objects.held.get(heldKey({ kind: 'Secret', ...name }))
        return held?.kind === 'Secret' ? held : undefined
      },
      content: (name) => looks.secretContent(name),
      changed: lookAtSecrets,
      now,
      randomUid,
    })
    return { state, generated, objects, looks, secrets, writes: objectWrites({ objects, admission }) }
  }

  function parts() {
    if (!opened) throw new Error('the directory source is not started')
    return opened
  }

  function changed(before: Held | undefined, after: Held | undefined): void {
    if (!after && before && isHeldObject(before)) {
      removeOwned((secret) => secret === before.uid)
      // An object of that name may be waiting in a file.
      parts().looks.lookAgain(heldKey(before))
      looking?.lookSoon()
    }
    const held = after ?? before
    if (held) announce(held)
  }

  function announce(held: Held): void {
    if (!announced) return
    if (held.kind === 'Secret') tellSecret(held)
    else if (held.kind !== 'Namespace') tellResource({ kind: held.kind, namespace: held.namespace, name: held.name })
    // Realms select namespaces by their labels.
    else
      for (const { metadata } of parts().objects.list('Realm'))
        tellResource({ kind: 'Realm', namespace: metadata.namespace, name: metadata.name })
  }

  function tellResource(key: ResourceKey): void {
    for (const listener of resourceListeners) listener(key)
  }

  function tellSecret({ namespace, name }: SecretName): void {
    for (const listener of secretListeners) listener({ namespace, name })
  }

  /** What the garbage collector of a cluster does: a Secret goes with the object that controls it. */
  function removeOwned(ownerGone: (uid: string) => boolean): void {
    const { generated } = parts()
    const orphans = generated
      .all()
      .filter(({ controllerUid }) => controllerUid !== undefined && ownerGone(controllerUid))
    for (const orphan of orphans) generated.remove(orphan)
    if (orphans.length > 0) lookAtSecrets()
  }

  function lookAtSecrets(): Problem[] {
    const { changed, problems } = parts().generated.look()
    if (announced) changed.forEach(tellSecret)
    return problems.map(({ path, message }) => ({ file: path, message, holdsDeletions: false }))
  }

  async function look(poll: boolean): Promise<void> {
    const { looks } = parts()
    const secretProblems = lookAtSecrets()
    await looks.look(poll)
    reports.update([...looks.problems(), ...secretProblems])
    looking?.watchFolders(looks.folders())
    if (looks.unsettled()) looking?.lookSoon()
  }

  async function begin(): Promise<void> {
    opened = open()
    await look(false)
    const uids = new Set([...opened.objects.held.values()].flatMap((held) => (isHeldObject(held) ? [held.uid] : [])))
    removeOwned((uid) => !uids.has(uid))

    announced = true
    for (const kind of KINDS) {
      for (const { metadata } of opened.objects.list(kind))
        tellResource({ kind, namespace: metadata.namespace, name: metadata.name })
    }
    for (const held of opened.objects.held.values()) if (held.kind === 'Secret') tellSecret(held)
    opened.generated.all().forEach(tellSecret)

    looking = keepLooking({
      pollMilliseconds,
      look: (poll) => look(poll).catch((error: unknown) => reports.add(failure(stateDir, error))),
    })
    looking.watchFolders(opened.looks.folders())
  }

  return {
    async start() {
      if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
        throw new StateError(`${directory} is no folder; give the folder that holds the manifests`)
      }
      release = await lockDirectory(stateDir, { file: 'operator.lock', holder: '"realmkeeper operator" or "dev"' })
      await begin().catch(async (error: unknown) => {
        await release()
        throw error
      })
    },

    async stop() {
      announced = false
      await looking?.stop()
      opened?.state.close()
      await release()
    },

    onResource: (listener) => void resourceListeners.push(listener),
    onSecret: (listener) => void secretListeners.push(listener),
    list: (kind) => parts().objects.list(kind),
    get: (key) => parts().objects.get(key),
    completeList: (kind) => (parts().looks.complete(kind) ? { identity: parts().objects.identity } : undefined),
    namespaceLabels: (namespace) => parts().objects.namespaceLabels(namespace),
    async writeStatus(key, uid, patch) {
      parts().writes.writeStatus(key, uid, patch)
    },
    async setFinalizer(key, uid, present) {
      parts().writes.setFinalizer(key, uid, present)
    },
    recordEvent(key, event) {
      try {
        options.recordEvent(key, event)
      } catch {
        // The log has its own ways to tell that it fails.
      }
    },
    get secrets() {
      return parts().secrets
    },
    problems: () => reports.present(),
  }
}

function failure(stateDir: string, error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error)
  return { file: stateDir, message: `${message}; tried again at the next look`, holdsDeletions: true }
}
