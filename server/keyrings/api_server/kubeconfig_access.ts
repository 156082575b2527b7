import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { ApiAccessError, readText } from './api_access.ts'
import type { ApiAccess, ReadAccess } from './api_access.ts'

type Section = Record<string, unknown>

/**
 * The current context of a kubeconfig file. A server that runs by itself can start no program to log in with, and does
 * not go anywhere without checking the certificate: such a file is refused.
 */
export function kubeconfigAccess(file: string): ReadAccess {
  return async () => {
    const config = parsed(file, await readText(file))
    const context = named(config, 'contexts', config['current-context'])?.context
    const cluster = isSection(context) ? named(config, 'clusters', context.cluster)?.cluster : undefined
    const user = isSection(context) ? named(config, 'users', context.user)?.user : undefined
    if (!isSection(cluster) || !isSection(user)) {
      throw new ApiAccessError(`${file}: its current context names no cluster and user of the file`)
    }
    return accessOf(file, cluster, user)
  }
}

async function accessOf(file: string, cluster: Section, user: Section): Promise<ApiAccess> {
  const url = cluster.server
  if (typeof url !== 'string' || !/^https:\/\/[^/]/.test(url)) {
    throw new ApiAccessError(`${file}: its cluster has no server that begins with https://`)
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw new ApiAccessError(`${file}: insecure-skip-tls-verify: keys are not fetched from just anybody`)
  }
  if (cluster['proxy-url'] !== undefined) throw new ApiAccessError(`${file}: proxy-url is not supported here`)
  const unknown = ['exec', 'auth-provider', 'username'].find((name) => user[name] !== undefined)
  if (unknown !== undefined) {
    throw new ApiAccessError(`${file}: ${unknown} is not supported here; use a token, a token file or a certificate`)
  }
  const tokenFile = textOf(user.tokenFile)
  const token = tokenFile === undefined ? textOf(user.token) : await readText(beside(file, tokenFile))
  return {
    url: url.replace(/\/+$/, ''),
    ca: await pem(file, cluster, 'certificate-authority'),
    servername: textOf(cluster['tls-server-name']),
    token: token?.trim(),
    cert: await pem(file, user, 'client-certificate'),
    key: await pem(file, user, 'client-key'),
  }
}

/** What is given in the file, in base64, wins over what it names another file for. */
async function pem(file: string, section: Section, name: string): Promise<string | undefined> {
  const data = textOf(section[`${name}-data`])
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
  const path = textOf(section[name])
  return path === undefined ? undefined : readText(beside(file, path))
}

function beside(file: string, path: string): string {
  return resolve(dirname(file), path)
}

function parsed(file: string, text: string): Section {
  try {
    const config: unknown = parse(text)
    if (isSection(config)) return config
  } catch {
    // The parser's message would quote the file.
  }
  throw new ApiAccessError(`${file} is not a kubeconfig`)
}

function named(config: Section, list: string, name: unknown): Section | undefined {
  const members: unknown = config[list]
  return Array.isArray(members) ? members.filter(isSection).find((each) => each.name === name) : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
