import { Environment } from '@marcbachmann/cel-js'

/**
 * The CEL environment of Kubernetes: adds the functions of its list, regex and URL libraries that cel-js lacks
 * (https://kubernetes.io/docs/reference/using-api/cel/). Variables are dynamic, because the schema checks types first.
 */
export function kubernetesEnvironment(): Environment {
  return new Environment({ unlistedVariablesAreDyn: true })
    .registerFunction('string.find(string): string', (text: string, pattern: string) => {
      return new RegExp(pattern, 'u').exec(text)?.[0] ?? ''
    })
    .registerFunction('list.indexOf(dyn): int', (list: unknown[], item: unknown) => BigInt(list.indexOf(item)))
    .registerFunction('list.isSorted(): bool', (list: (string | bigint)[]) => {
      return list.every((item, index) => index === 0 || list[index - 1]! <= item)
    })
    .registerFunction('list.sum(): int', (list: bigint[]) => list.reduce((sum, item) => sum + item, 0n))
    .registerFunction('isURL(string): bool', isAbsoluteUrl)
    .registerType('URL', { ctor: URL })
    .registerFunction('url(string): URL', (text: string) => {
      if (!isAbsoluteUrl(text)) throw new Error('url() needs an absolute URL')
      return new URL(text)
    })
    .registerFunction('URL.getScheme(): string', (url: URL) => url.protocol.slice(0, -1))
    .registerFunction('URL.getHost(): string', (url: URL) => url.host)
    .registerFunction('URL.getHostname(): string', (url: URL) => url.hostname)
    .registerFunction('URL.getPort(): string', (url: URL) => url.port)
    .registerFunction('URL.getEscapedPath(): string', (url: URL) => url.pathname)
}

function isAbsoluteUrl(text: string): boolean {
  return URL.canParse(text)
}
