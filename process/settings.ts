import {
  baseUrl,
  flag,
  integer,
  namespaces,
  networks,
  oneOf,
  optional,
  optionalText,
  port,
  postgresUrl,
  text,
} from './setting.ts'
import type { Setting, Settings, Values } from './setting.ts'

const databaseUrl = postgresUrl({
  flag: 'database-url',
  description: 'PostgreSQL 14 or newer, as a URL with its password',
})
const publicUrl = baseUrl({
  flag: 'base-url',
  description: 'where clients reach the server; issuers of tokens begin with it',
})
const listenHost = text({
  flag: 'listen-host',
  placeholder: 'address',
  description: 'address to listen on; :: is every address of the machine',
  fallback: '::',
})
const logLevel = oneOf({ flag: 'log-level', description: 'least severity that is logged', fallback: 'info' }, [
  'debug',
  'info',
  'warn',
  'error',
])
const shutdownSeconds = integer(
  { flag: 'shutdown-seconds', description: 'time for requests in flight after SIGTERM', fallback: '20' },
  [0, 3600],
)
const keyringNamespace = text({
  flag: 'keyring-namespace',
  placeholder: 'name',
  description: 'namespace of the keyring Secrets',
  fallback: 'realmkeeper',
})
const stateDir = optionalText({
  flag: 'state-dir',
  placeholder: 'dir',
  description: 'what the API server would remember of the manifests in --dir, and the keyrings',
})
/** @param otherwise where a process looks when it is not given */
const kubeconfig = (otherwise: string) =>
  optionalText({
    flag: 'kubeconfig',
    placeholder: 'file',
    description: `where the cluster is and as whom to go there (default: ${otherwise})`,
  })
const licenseKeys = optionalText({
  flag: 'license-keys',
  placeholder: 'file',
  description: 'JWK Set of the Ed25519 public keys that licenses may be signed with',
})

/** Configuration of `realmkeeper server`. */
export const SERVER_SETTINGS = {
  databaseUrl,
  databaseConnections: integer(
    { flag: 'database-connections', description: 'most connections to PostgreSQL at a time', fallback: '10' },
    [2, 200],
  ),
  baseUrl: publicUrl,
  listenHost,
  // Not REALMKEEPER_PORT: Kubernetes sets that one to tcp://… beside a Service named realmkeeper.
  listenPort: port({ flag: 'listen-port', description: 'port of the public endpoints', fallback: '8080' }),
  healthPort: port({ flag: 'health-listen-port', description: 'port of /livez, /readyz, /metrics', fallback: '9000' }),
  trustedProxies: networks({
    flag: 'trusted-proxies',
    description: 'peers whose X-Forwarded-For names the caller',
  }),
  failedLoginsPerAddress: integer(
    {
      flag: 'failed-logins-per-address',
      description: 'failed logins a minute from one address; 0 is off',
      fallback: '300',
    },
    [0, 1_000_000],
  ),
  failedLoginsPerClient: integer(
    {
      flag: 'failed-logins-per-client',
      description: 'failed logins a minute through one authenticated confidential client; 0 is off',
      fallback: '3000',
    },
    [0, 1_000_000],
  ),
  failedDecryptsPerSubject: integer(
    {
      flag: 'failed-decrypts-per-subject',
      description: 'failed decrypts a minute of one subject; 0 is off',
      fallback: '60',
    },
    [0, 1_000_000],
  ),
  keyringNamespace,
  keyringDir: optionalText({
    flag: 'keyring-dir',
    placeholder: 'dir',
    description: 'keyring Secrets as <dir>/<namespace>/<name>.json, in place of a cluster',
  }),
  // It loads no Kubernetes client, and looks in no home folder.
  kubeconfig: kubeconfig('the ServiceAccount of the pod'),
  shutdownSeconds,
  logLevel,
} satisfies Settings

/** Configuration of `realmkeeper operator`. */
export const OPERATOR_SETTINGS = {
  databaseUrl,
  baseUrl: publicUrl,
  dir: optionalText({ flag: 'dir', placeholder: 'dir', description: 'manifests to read, in place of a cluster' }),
  stateDir,
  listenHost,
  healthPort: port({ flag: 'health-listen-port', description: 'port of /livez, /readyz, /metrics', fallback: '9001' }),
  kubeconfig: kubeconfig('KUBECONFIG, ~/.kube/config, then the ServiceAccount of the pod'),
  watchNamespaces: namespaces({
    flag: 'watch-namespaces',
    description: 'namespaces whose resources are reconciled (default: all)',
  }),
  keyringNamespace,
  leaseName: text({
    flag: 'lease-name',
    placeholder: 'name',
    description: 'Lease of the one operator that writes',
    fallback: 'realmkeeper-operator',
  }),
  leaseNamespace: optionalText({
    flag: 'lease-namespace',
    placeholder: 'name',
    description: 'namespace of that Lease (default: that of the keyrings)',
  }),
  licenseKeys,
  requireApprovalEnforcement: flag({
    flag: 'require-approval-enforcement',
    description: 'grant nothing new while the admission policies on approvals are not proven to act',
  }),
  trustExistingDecisions: flag({
    flag: 'trust-existing-decisions',
    description: 'with an empty record of the admission policies: count decisions that were there before it',
  }),
  resyncSeconds: integer(
    {
      flag: 'resync-seconds',
      description: 'how often every row is compared with its resource, without a cause',
      fallback: '600',
    },
    [10, 86_400],
  ),
  acceptEmpty: optionalText({
    flag: 'accept-empty',
    placeholder: 'kind,…',
    description: 'kinds whose definition was made anew, and whose former rows may go all the same',
  }),
  shutdownSeconds,
  logLevel,
} satisfies Settings

/** Configuration of `realmkeeper migrate`. */
export const MIGRATE_SETTINGS = { databaseUrl, logLevel } satisfies Settings

/** Configuration of `realmkeeper dev`. */
export const DEV_SETTINGS = {
  stateDir: optionalText({
    flag: 'state-dir',
    placeholder: 'dir',
    description: 'database, keyrings and status (default: .realmkeeper/<name of DIR>/state)',
  }),
  listenHost: text({ ...aboutOf(listenHost), fallback: '127.0.0.1' }),
  listenPort: SERVER_SETTINGS.listenPort,
  healthPort: SERVER_SETTINGS.healthPort,
  operatorHealthPort: port({
    flag: 'operator-health-listen-port',
    description: "port of the operator's /livez, /readyz, /metrics",
    fallback: '9001',
  }),
  logLevel,
} satisfies Settings

/** Configuration of the commands that decide on RoleAssignments in a directory that `dev` serves. */
export const APPROVER_SETTINGS = {
  dir: optionalText({ flag: 'dir', placeholder: 'dir', description: 'manifests that "realmkeeper dev" serves' }),
  stateDir: DEV_SETTINGS.stateDir,
  as: optionalText({ flag: 'as', placeholder: 'name', description: 'who decides (default: the login name)' }),
} satisfies Settings

/** Configuration of `realmkeeper audit`: a database, or the one of a running `dev`. */
export const AUDIT_SETTINGS = {
  databaseUrl: optional(databaseUrl),
  dir: APPROVER_SETTINGS.dir,
  stateDir: DEV_SETTINGS.stateDir,
} satisfies Settings

export type ServerConfig = Values<typeof SERVER_SETTINGS>
export type OperatorConfig = Values<typeof OPERATOR_SETTINGS>
export type MigrateConfig = Values<typeof MIGRATE_SETTINGS>
export type DevConfig = Values<typeof DEV_SETTINGS>
export type ApproverConfig = Values<typeof APPROVER_SETTINGS>

/** Every table: a variable is known when one of them has it. */
export const ALL_SETTINGS: Settings[] = [
  SERVER_SETTINGS,
  OPERATOR_SETTINGS,
  MIGRATE_SETTINGS,
  DEV_SETTINGS,
  APPROVER_SETTINGS,
  AUDIT_SETTINGS,
]

function aboutOf({ flag: name, description, placeholder }: Setting<unknown>) {
  return { flag: name, description, ...(placeholder === undefined ? {} : { placeholder }) }
}
