import { baseUrl, namespaces, networks, number, oneOf, optional, optionalText } from './setting.ts'
import { port, postgresUrl, required, text, toggle, withDefault } from './setting.ts'
import type { Values } from './setting.ts'

const databaseUrl = required('--database-url <url>', 'PostgreSQL 14 or newer, as a URL with its password', postgresUrl)
const serverDatabaseRole = optionalText(
  '--server-database-role <name>',
  'role of PostgreSQL that servers log in with: a migration gives it the rights of a server and no others',
)
const operatorDatabaseRole = optionalText(
  '--operator-database-role <name>',
  'role of PostgreSQL that operators log in with, if it does not own the tables: a migration gives it its rights',
)
const publicUrl = required(
  '--base-url <url>',
  'URL that clients use; the issuer of every token begins with it',
  baseUrl,
)
const listenHost = (fallback: string) =>
  withDefault('--listen-host <address>', 'address to listen on; :: means all addresses', text, fallback)
const listenPort = port('--listen-port', 'port of the public endpoints', 8080)
const healthPort = (fallback: number) => port('--health-listen-port', 'port of /livez, /readyz and /metrics', fallback)
const severities = oneOf('debug', 'info', 'warn', 'error')
const logLevel = withDefault(
  '--log-level <debug|info|warn|error>',
  'lowest severity that is logged',
  severities,
  'info',
)
const shutdownSeconds = number(
  '--shutdown-seconds <number>',
  'seconds that requests in progress may take after SIGTERM',
  [0, 3600],
  20,
)
const keyringNamespace = withDefault(
  '--keyring-namespace <name>',
  'namespace of the keyring Secrets',
  text,
  'realmkeeper',
)
const devStateDir = optionalText(
  '--state-dir <dir>',
  'database, keyrings and status of "realmkeeper dev"; default: .realmkeeper/<name of DIR>/state',
)
/** @param order where the process looks when the flag is not given */
const kubeconfig = (order: string) => optionalText('--kubeconfig <file>', `cluster and credentials; default: ${order}`)
const watchStallSeconds = number(
  '--watch-stall-seconds <number>',
  'seconds without any event after which a watch of the API server is opened again',
  [10, 3600],
  150,
)
const leaseName = withDefault(
  '--lease-name <name>',
  'Lease that elects the operator that writes',
  text,
  'realmkeeper-operator',
)
const workers = (flag: string, kind: string, fallback: number) =>
  number(`${flag} <number>`, `${kind} that are reconciled at a time`, [1, 64], fallback)
const failures = (flag: string, who: string, fallback: number) =>
  number(`${flag} <number>`, `limit per minute ${who}; 0 disables it`, [0, 1_000_000], fallback)

/** Configuration of `realmkeeper server`. */
export const SERVER_SETTINGS = {
  databaseUrl,
  databaseConnections: number('--database-connections <number>', 'most connections to PostgreSQL', [2, 200], 10),
  baseUrl: publicUrl,
  listenHost: listenHost('::'),
  // Not REALMKEEPER_PORT: Kubernetes sets that to tcp://… for a Service named realmkeeper.
  listenPort,
  healthPort: healthPort(9000),
  trustedProxies: withDefault(
    '--trusted-proxies <cidr,…>',
    'addresses and networks of the proxies whose X-Forwarded-For names the caller',
    networks,
    [],
  ),
  failedLoginsPerAddress: failures('--failed-logins-per-address', 'for one address', 300),
  failedLoginsPerClient: failures('--failed-logins-per-client', 'for one confidential client', 3000),
  failedDecryptsPerSubject: failures('--failed-decrypts-per-subject', 'for one subject', 60),
  keyringNamespace,
  keyringDir: optionalText(
    '--keyring-dir <dir>',
    'keyring Secrets as <dir>/<namespace>/<name>.json, instead of a cluster',
  ),
  // The server reads no file of a home folder.
  kubeconfig: kubeconfig('the ServiceAccount of the pod'),
  watchStallSeconds,
  shutdownSeconds,
  logLevel,
}

/** Configuration of `realmkeeper operator`. */
export const OPERATOR_SETTINGS = {
  databaseUrl,
  migrateDatabaseUrl: optional(
    required(
      '--migrate-database-url <url>',
      'the same database as the role that owns the tables, for migrations; default: --database-url',
      postgresUrl,
    ),
  ),
  serverDatabaseRole,
  operatorDatabaseRole,
  baseUrl: publicUrl,
  dir: optionalText('--dir <dir>', 'manifests to read, instead of a cluster'),
  stateDir: optionalText('--state-dir <dir>', 'with --dir: the keyrings, and the status that a cluster would store'),
  listenHost: listenHost('::'),
  healthPort: healthPort(9001),
  kubeconfig: kubeconfig('KUBECONFIG, ~/.kube/config, then the ServiceAccount of the pod'),
  watchStallSeconds,
  watchNamespaces: withDefault(
    '--watch-namespaces <name,…>',
    'namespaces whose resources are reconciled; default: all',
    namespaces,
    [],
  ),
  keyringNamespace,
  leaseName,
  leaseNamespace: optionalText(
    '--lease-namespace <name>',
    'namespace of the Lease; default: the value of --keyring-namespace',
  ),
  licenseKeys: optionalText('--license-keys <file>', 'JWK Set of the Ed25519 public keys that may sign licenses'),
  requireApprovalEnforcement: toggle(
    '--require-approval-enforcement',
    'grant no further roles until the approval admission policies are proven to work',
  ),
  trustExistingDecisions: toggle(
    '--trust-existing-decisions',
    'when nothing is recorded about the admission policies yet: count requests and decisions made before that record',
  ),
  resyncSeconds: number(
    '--resync-seconds <number>',
    'seconds between comparisons of every row with its resource',
    [10, 86_400],
    600,
  ),
  realmWorkers: workers('--realm-workers', 'Realms', 2),
  clientWorkers: workers('--client-workers', 'Clients', 4),
  // More than cores, because most of them wait for password hashes.
  userWorkers: workers('--user-workers', 'Users', 8),
  roleAssignmentWorkers: workers('--role-assignment-workers', 'RoleAssignments', 4),
  apiRequestsPerSecond: number(
    '--api-requests-per-second <number>',
    'calls of the API server in a second, without those for the Lease; 0 sets no limit',
    [0, 10_000],
    0,
  ),
  acceptEmpty: optionalText(
    '--accept-empty <kind,…>',
    'kinds whose definition was deleted and created again, or whose namespaces are not watched any more: their former rows may be deleted',
  ),
  acceptAuditBreak: optionalText(
    '--accept-audit-break <name>',
    'audit chains that do not continue what was signed, as the log names them: sign them as they are now',
  ),
  shutdownSeconds,
  logLevel,
}

/** Configuration of `realmkeeper migrate`. */
export const MIGRATE_SETTINGS = { databaseUrl, serverDatabaseRole, operatorDatabaseRole, logLevel }

/** Configuration of `realmkeeper dev`. */
export const DEV_SETTINGS = {
  stateDir: devStateDir,
  listenHost: listenHost('127.0.0.1'),
  listenPort,
  healthPort: healthPort(9000),
  operatorHealthPort: port(
    '--operator-health-listen-port',
    "port of the operator's /livez, /readyz and /metrics",
    9001,
  ),
  logLevel,
}

/** Configuration of `realmkeeper audit`: a database, or the one of a running `dev`. */
export const AUDIT_SETTINGS = {
  databaseUrl: optional(databaseUrl),
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves, instead of --database-url'),
  stateDir: devStateDir,
}

/** Configuration of the commands that decide on RoleAssignments, in a cluster or in a directory that `dev` serves. */
export const DECISION_SETTINGS = {
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves, instead of a cluster'),
  stateDir: devStateDir,
  as: optionalText('--as <name>', 'user to act as; default: the user of the kubeconfig, with --dir the login name'),
}

const kubeconfigUser = optionalText('--as <name>', 'user to act as; default: the user of the kubeconfig')

/** Configuration of `realmkeeper keys rotate`. */
export const KEYS_SETTINGS = {
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves: print what to write there'),
  as: kubeconfigUser,
}

/** Configuration of `realmkeeper release`. The options that select a cluster are kubectl's. */
export const RELEASE_SETTINGS = {
  leaseName,
  leaseNamespace: withDefault('--lease-namespace <name>', 'namespace of the Lease', text, 'realmkeeper'),
  stopDeployment: optionalText(
    '--stop-deployment <name>',
    'operator Deployment in the namespace of the Lease: set its replicas to 0 first',
  ),
  waitSeconds: number('--wait-seconds <number>', 'seconds to wait for an operator to stop', [0, 3600], 60),
  as: kubeconfigUser,
}

/** Configuration of `realmkeeper migrate-resources`. */
export const MIGRATE_RESOURCES_SETTINGS = {
  as: kubeconfigUser,
}

export type ServerConfig = Values<typeof SERVER_SETTINGS>
export type OperatorConfig = Values<typeof OPERATOR_SETTINGS>
export type DevConfig = Values<typeof DEV_SETTINGS>
