import {
  baseUrl,
  namespaces,
  networks,
  oneOf,
  optional,
  optionalText,
  port,
  postgresUrl,
  required,
  text,
  trueOrFalse,
  wholeNumber,
  withDefault,
} from './setting.ts'
import type { Values } from './setting.ts'

const databaseUrl = required(
  '--database-url <url>',
  'URL of the PostgreSQL database (14 or newer) with its password',
  postgresUrl,
)
const publicUrl = required(
  '--base-url <url>',
  'URL that clients use; the issuer of every token begins with it',
  baseUrl,
)
const listenHost = (fallback: string) =>
  withDefault('--listen-host <address>', 'address to listen on; :: means all addresses', text, fallback)
const listenPort = withDefault('--listen-port <port>', 'port of the public endpoints', port, 8080)
const healthPort = (fallback: number) =>
  withDefault('--health-listen-port <port>', 'port of /livez, /readyz and /metrics', port, fallback)
const logLevel = withDefault(
  '--log-level <debug|info|warn|error>',
  'lowest severity that is logged',
  oneOf('debug', 'info', 'warn', 'error'),
  'info',
)
const shutdownSeconds = withDefault(
  '--shutdown-seconds <number>',
  'seconds that requests in progress may take after SIGTERM',
  wholeNumber(0, 3600),
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
  'database, keyrings and status of "realmkeeper dev"; without it .realmkeeper/<name of DIR>/state',
)
/** @param order where the process looks when the flag is not given */
const kubeconfig = (order: string) =>
  optionalText('--kubeconfig <file>', `cluster and credentials; without it ${order}`)
const failuresPerMinute = (flag: string, what: string, fallback: number) =>
  withDefault(`${flag} <number>`, `failed ${what}; 0 means no limit`, wholeNumber(0, 1_000_000), fallback)

/** Configuration of `realmkeeper server`. */
export const SERVER_SETTINGS = {
  databaseUrl,
  databaseConnections: withDefault(
    '--database-connections <number>',
    'maximum number of connections to PostgreSQL',
    wholeNumber(2, 200),
    10,
  ),
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
  failedLoginsPerAddress: failuresPerMinute(
    '--failed-logins-per-address',
    'logins per minute that one address may cause',
    300,
  ),
  failedLoginsPerClient: failuresPerMinute(
    '--failed-logins-per-client',
    'logins per minute that one authenticated confidential client may cause',
    3000,
  ),
  failedDecryptsPerSubject: failuresPerMinute(
    '--failed-decrypts-per-subject',
    'decrypts per minute that one subject may cause',
    60,
  ),
  keyringNamespace,
  keyringDir: optionalText(
    '--keyring-dir <dir>',
    'keyring Secrets as <dir>/<namespace>/<name>.json, instead of a cluster',
  ),
  // The server loads no Kubernetes client and reads no file of a home folder.
  kubeconfig: kubeconfig('the ServiceAccount of the pod'),
  shutdownSeconds,
  logLevel,
}

/** Configuration of `realmkeeper operator`. */
export const OPERATOR_SETTINGS = {
  databaseUrl,
  baseUrl: publicUrl,
  dir: optionalText('--dir <dir>', 'manifests to read, instead of a cluster'),
  stateDir: optionalText(
    '--state-dir <dir>',
    'with --dir: the keyrings, and the status that an API server would store',
  ),
  listenHost: listenHost('::'),
  healthPort: healthPort(9001),
  kubeconfig: kubeconfig('KUBECONFIG, ~/.kube/config, then the ServiceAccount of the pod'),
  watchNamespaces: withDefault(
    '--watch-namespaces <name,…>',
    'namespaces whose resources are reconciled; without it all',
    namespaces,
    [],
  ),
  keyringNamespace,
  leaseName: withDefault(
    '--lease-name <name>',
    'Lease that elects the operator that writes',
    text,
    'realmkeeper-operator',
  ),
  leaseNamespace: optionalText('--lease-namespace <name>', 'namespace of the Lease; without it --keyring-namespace'),
  licenseKeys: optionalText('--license-keys <file>', 'JWK Set of the Ed25519 public keys that may sign licenses'),
  requireApprovalEnforcement: withDefault(
    '--require-approval-enforcement [bool]',
    'grant no further roles until the approval admission policies are proven to work',
    trueOrFalse,
    false,
  ),
  trustExistingDecisions: withDefault(
    '--trust-existing-decisions [bool]',
    'when nothing is recorded about the admission policies yet: count decisions made before that record',
    trueOrFalse,
    false,
  ),
  resyncSeconds: withDefault(
    '--resync-seconds <number>',
    'seconds between comparisons of every row with its resource',
    wholeNumber(10, 86_400),
    600,
  ),
  acceptEmpty: optionalText(
    '--accept-empty <kind,…>',
    'kinds whose definition was deleted and created again: their former rows may be deleted',
  ),
  shutdownSeconds,
  logLevel,
}

/** Configuration of `realmkeeper migrate`. */
export const MIGRATE_SETTINGS = { databaseUrl, logLevel }

/** Configuration of `realmkeeper dev`. */
export const DEV_SETTINGS = {
  stateDir: devStateDir,
  listenHost: listenHost('127.0.0.1'),
  listenPort,
  healthPort: healthPort(9000),
  operatorHealthPort: withDefault(
    '--operator-health-listen-port <port>',
    'port of /livez, /readyz and /metrics of the operator',
    port,
    9001,
  ),
  logLevel,
}

/** Configuration of `realmkeeper audit`: a database, or the one of a running `dev`. */
export const AUDIT_SETTINGS = {
  databaseUrl: optional(databaseUrl.option.flags, databaseUrl.option.description, databaseUrl.parse),
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves, instead of --database-url'),
  stateDir: devStateDir,
}

/** Configuration of the commands that decide on RoleAssignments, in a cluster or in a directory that `dev` serves. */
export const DECISION_SETTINGS = {
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves, instead of a cluster'),
  stateDir: devStateDir,
  as: optionalText(
    '--as <name>',
    'user to act as; without it the user of the kubeconfig, or with --dir the login name',
  ),
}

/** Configuration of `realmkeeper keys rotate`. */
export const KEYS_SETTINGS = {
  dir: optionalText('--dir <dir>', 'manifests that "realmkeeper dev" serves: print what to write there'),
  as: optionalText('--as <name>', 'user to act as; without it the user of the kubeconfig'),
}

export type ServerConfig = Values<typeof SERVER_SETTINGS>
export type OperatorConfig = Values<typeof OPERATOR_SETTINGS>
export type DevConfig = Values<typeof DEV_SETTINGS>
