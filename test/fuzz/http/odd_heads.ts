import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'
import type { Known } from './drafts.ts'
import { setHeader } from './request.ts'
import type { Draft } from './request.ts'

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY']
/** Not known to the parser of Node, or not answered by it. */
const UNKNOWN_METHODS = ['FOO', 'get', 'CONNECT', 'POST ', '', 'G\0T', 'PRI', 'X'.repeat(300)]
const VERSIONS = [' HTTP/1.0', ' HTTP/1.1 ', ' HTTP/2.0', ' HTTP/0.9', ' HTTP/9.9', ' http/1.1', '', ' HTP/1.1']

const REALMS = ['other', 'closed', 'keyless', 'nowhere', '', '.', '..', '%2e%2e', '%2E%2e%2f', '%00', 'ACME', '%61cme']
const MORE_REALMS = ['acme%20', 'acme.', 'acme;x=y', '%', '%zz', '%c0%af', '%F0%9F%8E%82', '__proto__', "acme'--", '*']

type TargetChange = (target: string, random: Random) => string

const TARGETS: TargetChange[] = [
  (target, random) => target.replace('/acme', `/${pick([...REALMS, ...MORE_REALMS], random)}`),
  (target, random) => target.replace('/acme', `/${'r'.repeat(below(12_000, random))}`),
  (target) => `${target}/`,
  (target) => `/${target}`,
  (target) => target.toUpperCase(),
  (target) => target.replaceAll('/', '//'),
  (target, random) =>
    insert(target, pick(['/.', '/..', '/./', '/%2e%2e/', ';', '%', '%00', '%0d%0a', '\\'], random), random),
  (target, random) => encodeCharacter(target, random),
  (target, random) => target.slice(0, 1 + below(target.length, random)),
  (target) => target.replace('/auth/', '/auth/auth/'),
  (target, random) =>
    `${target}?${pick(['', 'a=b', 'access_token=x', 'a=%zz', '%00', '__proto__=1', '?', '/..'], random)}`,
  (target, random) => `${target}?${'a=b&'.repeat(below(3_000, random))}`,
  (target, random) =>
    `${pick(['http://localhost', 'https://u:p@h:99999', 'HTTP://x', 'http://[::1]:1', 'http://'], random)}${target}`,
  (target) => `http://x?${target}`,
  () => 'http://x',
  () => '/',
]

/** Targets that the parser of Node may refuse. */
const BAD_TARGETS: TargetChange[] = [
  () => '*',
  () => '',
  () => 'localhost:443',
  (target) => target.slice(1),
  (target) => `${target}#x`,
  (target, random) =>
    insert(target, pick([' ', '\t', '\0', '\x7f', '\xff', '\r', '"', '<', '{', '\u00e9'], random), random),
  (target, random) => `${target}?${'x'.repeat(10_000 + below(10_000, random))}`,
  (target) => `ftp://x${target}`,
]

function insert(text: string, inserted: string, random: Random): string {
  const at = below(text.length + 1, random)
  return text.slice(0, at) + inserted + text.slice(at)
}

function encodeCharacter(text: string, random: Random): string {
  const at = below(text.length, random)
  return `${text.slice(0, at)}%${text.charCodeAt(at).toString(16)}${text.slice(at + 1)}`
}

const CONTENT_TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'Application/JSON; charset=UTF-8',
  'application/x-www-form-urlencoded;charset="utf-8"',
  'application/x-www-form-urlencoded; charset=utf-7',
  'application/json; charset=utf-16',
  'application/json;charset',
  'application/jsonp',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'text/plain',
  'text',
  ';',
  '',
  `application/json; ${'a=b;'.repeat(500)}`,
]

const HEADERS: [name: string, values: string[]][] = [
  ['Origin', ['null', '*', 'https://page.test', 'https://page.test/', 'HTTPS://PAGE.TEST', 'x'.repeat(2_000), '']],
  ['Accept', ['text/html', '*/*;q=x', 'application/jwt']],
  ['Accept-Encoding', ['gzip, br', '*']],
  ['Content-Encoding', ['gzip', 'br', 'identity', 'IDENTITY', 'gzip, gzip', '', 'x']],
  ['Connection', ['close', 'keep-alive', 'Upgrade', 'close, keep-alive', 'Content-Length', 'Authorization']],
  ['Upgrade', ['websocket', 'h2c', 'TLS/1.0', '']],
  ['Expect', ['100-continue', '200-maybe', '100-CONTINUE', '']],
  ['X-Forwarded-For', ['1.2.3.4', '::1, x, "', '1.1.1.1, '.repeat(500), '']],
  ['X-Forwarded-Host', ['evil.example']],
  ['X-Forwarded-Proto', ['https']],
  ['Forwarded', ['for=1.2.3.4;host=x']],
  ['X-HTTP-Method-Override', ['DELETE']],
  ['X-Request-Id', ['x'.repeat(500), '\xff']],
  ['Cookie', ['a=b', 'x'.repeat(3_000), '__proto__=1']],
  ['Range', ['bytes=0-1', 'bytes=-1']],
  ['If-None-Match', ['*']],
  ['If-Modified-Since', ['x']],
  ['TE', ['trailers', 'gzip']],
  ['Trailer', ['Authorization']],
  ['Keep-Alive', ['timeout=99999999']],
  ['HTTP2-Settings', ['AAMAAABkAAQAAP__']],
  ['DPoP', ['x.y.z']],
  ['Host', ['', 'x:99999', 'evil.example', '[::1', 'a, b', 'x'.repeat(4_000)]],
  ['__proto__', ['x']],
  ['constructor', ['x']],
  ["!#$%&'*+-.^_`|~", ['x']],
  ['X-Text', ['\x80\xff', '\t', 'a \t b']],
]

/** Headers that announce a body in a way that parsers read differently, and lines that are no headers. */
const BAD_LINES: [name: string, value: string][] = [
  ['Content-Length', '5'],
  ['Content-Length', '0'],
  ['Content-Length', '+5'],
  ['Content-Length', '-1'],
  ['Content-Length', '5, 5'],
  ['Content-Length', '0x5'],
  ['Content-Length', '4294967296'],
  ['Content-Length', '9'.repeat(30)],
  ['Content-Length', ''],
  ['Transfer-Encoding', 'chunked'],
  ['Transfer-Encoding', 'Chunked'],
  ['Transfer-Encoding', 'gzip, chunked'],
  ['Transfer-Encoding', 'chunked, chunked'],
  ['Transfer-Encoding', 'chunked, identity'],
  ['Transfer-Encoding', 'identity'],
  ['Transfer-Encoding', '\x0bchunked'],
  ['Transfer-Encoding ', 'chunked'],
  ['Transfer-Encoding', 'x'],
  ['Bad Name', 'x'],
  ['', 'x'],
  ['X:Y', 'x'],
  ['X\0', 'x'],
  ['X', 'a\0b'],
  ['X', 'a\rb'],
  ['X', 'a\n b'],
  ['X', 'a\r\n folded'],
  ['\xff', 'x'],
  ['X'.repeat(20_000), 'x'],
  ['X', 'x'.repeat(20_000)],
  ['Upgrade', 'h2c\r\nConnection: Upgrade'],
]

/** Changes the first line or the headers. `isValid` becomes false where a server need not answer. */
export function oddHead(draft: Draft, _: Known, random: Random): void {
  pick(CHANGES, random)(draft, random)
}

const CHANGES: ((draft: Draft, random: Random) => void)[] = [
  (draft, random) => {
    draft.method = pick(METHODS, random)
  },
  (draft, random) => {
    draft.method = pick(UNKNOWN_METHODS, random)
    draft.isValid = false
  },
  (draft, random) => {
    draft.version = pick(VERSIONS, random)
    draft.isValid = false
  },
  (draft, random) => {
    draft.target = pick(TARGETS, random)(draft.target, random)
  },
  (draft, random) => {
    draft.target = pick(TARGETS, random)(draft.target, random)
  },
  (draft, random) => {
    draft.target = pick(BAD_TARGETS, random)(draft.target, random)
    draft.isValid = false
  },
  (draft, random) => setHeader(draft, 'Content-Type', random() < 0.2 ? undefined : pick(CONTENT_TYPES, random)),
  (draft, random) => {
    const [name, values] = pick(HEADERS, random)
    setHeader(draft, name, pick(values, random))
  },
  (draft, random) => {
    // Twice: the server refuses some of these.
    const [name, value] = pick(draft.headers.length > 0 ? draft.headers : [['Host', 'x'] as const], random)
    draft.headers.push([pick([name, name.toUpperCase(), name.toLowerCase()], random), value])
  },
  (draft) => setHeader(draft, 'Host', undefined),
  (draft, random) => {
    const count = pick([90, 101, 1_000], random)
    for (let added = 0; added < count; added++) draft.headers.push([`X-${added}`, 'x'])
  },
  (draft, random) => {
    const [name, value] = pick(BAD_LINES, random)
    if (/^(?:content-length|transfer-encoding)/i.test(name) && random() < 0.7) draft.framing = 'own'
    draft.headers.splice(below(draft.headers.length + 1, random), 0, [name, value])
    draft.isValid = false
  },
]
