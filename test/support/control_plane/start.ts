import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { BinaryName, BinaryPaths } from '../../../scripts/control_plane.ts'
import { accountOf } from './account.ts'
import type { Account } from './account.ts'
import { certificateAuthority, signingKey } from './certificates.ts'
import type { CertificateAuthority } from './certificates.ts'
import { freePort, startChild, untilReady } from './child.ts'
import type { Child } from './child.ts'
import { startEtcd } from './etcd.ts'
import type { StoredObject } from './etcd.ts'
import { ROOT } from '../source_files.ts'

export interface ControlPlaneOptions {
  /** The version of the API server: the newest, or the oldest that the product supports. Default: newest. */
  kubernetes?: 'newest' | 'oldest'
  /** Starts the controller manager, for garbage collection and the deletion of namespaces. */
  controllers?: boolean
  /** Installs the CRDs of the product. Default: true. */
  crds?: boolean
}

/** An etcd and an API server for one test file. */
export interface ControlPlane {
  url: string
  authority: CertificateAuthority
  /** A member of `system:masters`: RBAC and admission policies do not restrict it. */
  admin: Account
  /** A user with a client certificate and without rights. */
  user(name: string, groups?: readonly string[]): Account
  /** A ServiceAccount with a token. Creates it when it is missing. */
  serviceAccount(namespace: string, name: string): Promise<Account>
  /** Runs kubectl; rejects with its standard error when it fails. */
  kubectl(args: string[], options?: { as?: Account; input?: string }): Promise<string>
  /** Runs kubectl; resolves with its exit code and output. */
  tryKubectl(args: string[], options?: { as?: Account; input?: string }): Promise<KubectlResult>
  /** SIGKILL to the API server; its port stays. */
  kill(): Promise<void>
  /** Starts the API server again after `kill`; resolves when it is ready. */
  start(): Promise<void>
  /** Stops the API server with SIGTERM, as an upgrade does, and starts it again. */
  restart(): Promise<void>
  /** Compacts etcd: earlier resource versions are too old (410) after the next start of the API server. */
  compact(): Promise<void>
  /** Copies the data of etcd as they are now, and returns the path of the copy. */
  backup(): string
  /**
   * Restores a copy of the data: the API server stops, etcd starts with the older data, and the API server starts again.
   */
  restore(copy: string, options?: RestoreOptions): Promise<void>
  /** The objects that etcd holds under a prefix, as `/registry/realmkeeper.io/users/`. */
  stored(prefix: string): Promise<StoredObject[]>
  stop(): Promise<void>
}

export interface RestoreOptions {
  /** Writes of others to the restored etcd before the API server starts: each raises the resource version. */
  writesOfOthers?: number
  /** Default: true, as the documentation of Kubernetes demands after a restore. */
  restartApiServer?: boolean
}

export interface KubectlResult {
  code: number
  stdout: string
  stderr: string
}

/** Starts a control plane from these binaries, with the CRDs of this checkout. Takes about three seconds. */
export async function startWithBinaries(
  binaries: Partial<BinaryPaths>,
  options: ControlPlaneOptions = {},
): Promise<ControlPlane> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(binaries, options)
    } catch (error) {
      // Another process took a port that was free.
      if (tries === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function startOnce(binaries: Partial<BinaryPaths>, options: ControlPlaneOptions): Promise<ControlPlane> {
  const pathOf = (name: BinaryName): string => {
    const path = binaries[name]
    if (path === undefined) throw new Error(`no ${name}: \`npm run control-plane\` builds it`)
    return path
  }
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-control-plane-'))
  const authority = certificateAuthority('realmkeeper-test')
  const apiPort = await freePort()
  const url = `https://127.0.0.1:${apiPort}`
  const file = (name: string): string => join(folder, name)

  const serving = authority.issueServer(['127.0.0.1', 'localhost', 'kubernetes.default.svc'])
  const tokens = signingKey()
  writeFileSync(file('ca.crt'), authority.certificate)
  writeFileSync(file('serving.crt'), serving.certificate)
  writeFileSync(file('serving.key'), serving.key, { mode: 0o600 })
  writeFileSync(file('tokens.key'), tokens.privateKey, { mode: 0o600 })
  writeFileSync(file('tokens.pub'), tokens.publicKey)

  function user(name: string, groups: readonly string[] = []): Account {
    const { certificate, key } = authority.issueClient(name, groups)
    return accountOf(name, { server: url, ca: authority.certificate, certificate, key }, file('accounts'))
  }
  const admin = user('admin', ['system:masters'])

  const etcd = await startEtcd(pathOf('etcd'), folder)

  function startApiServer(): Child {
    return startChild(
      pathOf(options.kubernetes === 'oldest' ? 'kube-apiserver-oldest' : 'kube-apiserver'),
      [
        `--etcd-servers=${etcd.url}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${apiPort}`,
        '--endpoint-reconciler-type=none',
        `--cert-dir=${folder}`,
        `--tls-cert-file=${file('serving.crt')}`,
        `--tls-private-key-file=${file('serving.key')}`,
        `--client-ca-file=${file('ca.crt')}`,
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.0.0.0/24',
        // There are no pods.
        '--disable-admission-plugins=ServiceAccount',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${file('tokens.pub')}`,
        `--service-account-signing-key-file=${file('tokens.key')}`,
        '--profiling=false',
      ],
      file('kube-apiserver.log'),
    )
  }
  let apiServer = startApiServer()
  let controllers: Child | undefined

  const untilServing = (): Promise<void> =>
    untilReady('kube-apiserver', apiServer, async () => (await admin.call('GET', '/readyz')).status === 200)

  async function start(): Promise<void> {
    apiServer = startApiServer()
    await untilServing()
  }

  async function stop(): Promise<void> {
    await controllers?.stop()
    await apiServer.stop()
    await etcd.stop()
    rmSync(folder, { recursive: true, force: true })
  }

  function tryKubectl(args: string[], { as = admin, input = '' }: { as?: Account; input?: string } = {}) {
    return new Promise<KubectlResult>((resolve) => {
      const environment = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: as.kubeconfig }
      const child = execFile(
        pathOf('kubectl'),
        args,
        { env: environment, cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          const code = error ? (typeof error.code === 'number' ? error.code : 1) : 0
          resolve({ code, stdout, stderr })
        },
      )
      child.stdin?.end(input)
    })
  }

  try {
    await untilServing()
    if (options.crds !== false) await installCrds(admin)
    // Its garbage collector reads the kinds when it starts, and then only every half minute.
    if (options.controllers) {
      controllers = startChild(pathOf('kube-controller-manager'), controllerArguments(admin), file('controllers.log'))
    }
  } catch (error) {
    await stop()
    throw error
  }

  return {
    url,
    authority,
    admin,
    user,
    async serviceAccount(namespace, name) {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
      await admin.call('POST', path, { metadata: { name } })
      const { status } = await admin.do('POST', `${path}/${name}/token`, { spec: {} })
      const identity = { server: url, ca: authority.certificate, token: status.token }
      return accountOf(`system:serviceaccount:${namespace}:${name}`, identity, file('accounts'))
    },
    tryKubectl,
    async kubectl(args, options) {
      const { code, stdout, stderr } = await tryKubectl(args, options)
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
      return stdout
    },
    kill: () => apiServer.kill(),
    start,
    async restart() {
      await apiServer.stop()
      await start()
    },
    compact: () => etcd.compact(),
    backup: () => etcd.backup(),
    async restore(copy, { writesOfOthers = 0, restartApiServer = true } = {}) {
      if (restartApiServer) await apiServer.stop()
      await etcd.restore(copy)
      await etcd.write(writesOfOthers)
      if (restartApiServer) await start()
    },
    stored: (prefix) => etcd.stored(prefix),
    stop,
  }
}

function controllerArguments({ kubeconfig }: Account): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--controllers=garbage-collector-controller,namespace-controller,clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller',
  ]
}

/** Creates the CRDs of this checkout; resolves when all their kinds are served. */
export async function installCrds(admin: Account): Promise<void> {
  const crds = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => parse(readFileSync(join(ROOT, path), 'utf8')))
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await Promise.all(crds.map((crd) => admin.do('POST', path, crd)))
  for (const { spec } of crds) await untilServed(admin, `/apis/realmkeeper.io/v1alpha1/${spec.names.plural}`)
}

/** Resolves when the API server serves a path. */
export async function untilServed(admin: Account, path: string): Promise<void> {
  for (let tries = 0; tries < 2_400; tries++) {
    if ((await admin.call('GET', path)).status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error(`${path} is not served`)
}
