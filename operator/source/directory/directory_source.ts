import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { lockDirectory } from '../../../process/lock_file.ts'
import { KINDS, keyText } from '../resource.ts'
import type { ResourceKey } from '../resource.ts'
import type { EventObject, ResourceEvent, ResourceSource, SecretName } from '../resource_source.ts'
import { directoryScanner } from './directory_scan.ts'
import { watchFolders } from './folder_watch.ts'
import type { FolderWatch } from './folder_watch.ts'
import { problemReports } from './manifests/problem.ts'
import type { Problem } from './manifests/problem.ts'
import { secretAccess, secretDigest } from './secrets.ts'
import { objectStore } from './state/object_store.ts'
import { openState, StateError } from './state/state_file.ts'
import { stateSecrets } from './state/state_secrets.ts'
import { isStoredResource } from './state/stored_object.ts'
import type { StoredObject } from './state/stored_object.ts'

export interface DirectoryOptions {
  /** The folder with the manifests. The source only reads it. */
  directory: string
  /** The folder for uids, generations, status and generated Secrets. One source at a time uses it. */
  stateDir: string
  now: () => Date
  randomUid?: () => string
  /** The time between two polls. An object that is absent in two polls in a row is deleted. */
  pollMilliseconds?: number
  /** Called once for each problem, and again when it returns after it was gone. */
  report: (problem: Problem) => void
  /** Called for each Kubernetes Event, which has no API server to go to. */
  recordEvent: (key: EventObject, event: ResourceEvent) => void
}

export interface DirectorySource extends ResourceSource {
  /** The problems that the last scan found. */
  problems(): Problem[]
}

/**
 * A folder of YAML files that behaves like an API server. A file has any number of documents, Secrets and Namespaces
 * included; other kinds are ignored. `start` rejects with StateError when the directory or the state cannot be used,
 * and with PlainError while another process uses the state.
 */
export function directorySource(options: DirectoryOptions): DirectorySource {
  const { directory, stateDir, now, randomUid = randomUUID, pollMilliseconds = 500 } = options
  const resourceListeners: ((key: ResourceKey) => void)[] = []
  const secretListeners: ((secret: SecretName) => void)[] = []
  const reports = problemReports(options.report)
  let opened: ReturnType<typeof open> | undefined
  let watch: FolderWatch | undefined
  let notifying = false
  let release = async (): Promise<void> => {}

  function open() {
    const state = openState(stateDir, randomUid)
    const digest = secretDigest(stateDir)
    const generated = stateSecrets(stateDir)
    const store = objectStore(state, now, changed)
    const scanner = directoryScanner(directory, store, { now, randomUid, secretDigest: digest })
    const secrets = secretAccess({
      stateSecrets: generated,
      digest,
      stored(name) {
        const stored = store.objects.get(keyText({ kind: 'Secret', ...name }))
        return stored?.kind === 'Secret' ? stored : undefined
      },
      content: (name) => scanner.secretContent(name),
      changed: scanSecrets,
      now,
      randomUid,
    })
    return { state, generated, store, scanner, secrets }
  }

  function parts() {
    if (!opened) throw new Error('the directory source is not started')
    return opened
  }

  function changed(before: StoredObject | undefined, after: StoredObject | undefined): void {
    if (!after && before && isStoredResource(before)) {
      removeOwned((uid) => uid === before.uid)
      // A manifest of that name may have waited for this deletion.
      parts().scanner.reapply(keyText(before))
      watch?.scanSoon()
    }
    const object = after ?? before
    if (object) notify(object)
  }

  function notify(object: StoredObject): void {
    if (!notifying) return
    if (object.kind === 'Secret') notifySecret(object)
    else if (object.kind !== 'Namespace') notifyResource(object)
    // Realms select namespaces by label.
    else for (const { metadata } of parts().store.list('Realm')) notifyResource({ kind: 'Realm', ...metadata })
  }

  function notifyResource({ kind, namespace, name }: ResourceKey): void {
    for (const listener of resourceListeners) listener({ kind, namespace, name })
  }

  function notifySecret({ namespace, name }: SecretName): void {
    for (const listener of secretListeners) listener({ namespace, name })
  }

  /** Removes generated Secrets whose controller is gone, as the garbage collector of a cluster does. */
  function removeOwned(isGone: (uid: string) => boolean): void {
    const { generated } = parts()
    const orphans = generated.all().filter(({ controllerUid }) => controllerUid !== undefined && isGone(controllerUid))
    for (const orphan of orphans) generated.remove(orphan)
    if (orphans.length > 0) scanSecrets()
  }

  function scanSecrets(): Problem[] {
    const { changed, problems } = parts().generated.scan()
    if (notifying) changed.forEach(notifySecret)
    return problems.map(({ path, message }) => ({ file: path, message, blocksDeletion: false }))
  }

  async function scan(poll: boolean): Promise<void> {
    const { scanner } = parts()
    const secretProblems = scanSecrets()
    await scanner.scan(poll)
    reports.update([...scanner.problems(), ...secretProblems])
    watch?.setFolders(scanner.folders())
    if (scanner.unsettled()) watch?.scanSoon()
  }

  async function startScanning(): Promise<void> {
    opened = open()
    const { store, scanner, generated } = opened
    await scan(false)
    const uids = new Set([...store.objects.values()].filter(isStoredResource).map(({ uid }) => uid))
    removeOwned((uid) => !uids.has(uid))

    notifying = true
    for (const kind of KINDS) for (const { metadata } of store.list(kind)) notifyResource({ kind, ...metadata })
    for (const object of store.objects.values()) if (object.kind === 'Secret') notifySecret(object)
    generated.all().forEach(notifySecret)

    watch = watchFolders({
      pollMilliseconds,
      scan: (poll) => scan(poll).catch((error: unknown) => reports.add(scanProblem(stateDir, error))),
    })
    watch.setFolders(scanner.folders())
  }

  return {
    async start() {
      if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
        throw new StateError(`${directory} is no folder; give the folder that holds the manifests`)
      }
      release = await lockDirectory(stateDir, { file: 'operator.lock', holder: '"realmkeeper operator" or "dev"' })
      await startScanning().catch(async (error: unknown) => {
        await release()
        throw error
      })
    },

    async stop() {
      notifying = false
      await watch?.stop()
      opened?.state.close()
      await release()
    },

    onResource: (listener) => void resourceListeners.push(listener),
    onSecret: (listener) => void secretListeners.push(listener),
    list: (kind) => parts().store.list(kind),
    get: (key) => parts().store.get(key),
    completeList: (kind) => (parts().scanner.isComplete(kind) ? { identity: parts().state.identity } : undefined),
    namespaceLabels: (namespace) => parts().store.namespaceLabels(namespace),
    writeStatus: async (key, uid, patch) => parts().store.writeStatus(key, uid, patch),
    setFinalizer: async (key, uid, present) => parts().store.setFinalizer(key, uid, present),
    recordEvent(key, event) {
      try {
        options.recordEvent(key, event)
      } catch {
        // An Event that cannot be logged must not stop the reconciler.
      }
    },
    get secrets() {
      return parts().secrets
    },
    problems: () => reports.current(),
  }
}

function scanProblem(stateDir: string, error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error)
  return { file: stateDir, message: `${message}; the next scan tries again`, blocksDeletion: true }
}
