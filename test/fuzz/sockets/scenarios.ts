import { randomBytes } from 'node:crypto'
import { draftFor, randomRoute } from '../http/drafts.ts'
import type { Known } from '../http/drafts.ts'
import { mutate } from '../http/mutations.ts'
import { chunk, encode, writeContent } from '../http/request.ts'
import type { Draft } from '../http/request.ts'
import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'

/** What one connection sends. */
export interface Scenario {
  name: string
  bytes: Buffer
  /** The requests that must be answered, in this order, also when bytes follow that are no request. */
  answered: Draft[]
  /**
   * What follows them: nothing, or bytes that the server answers or for which it closes the connection. It does so at once,
   * or may wait for more.
   */
  rest: 'none' | 'refused' | 'may wait'
}

type MakeScenario = (known: Known, random: Random) => Scenario

/** A connection with more unanswered requests may be closed. */
const MOST_AHEAD = 16

export function randomScenario(known: Known, random: Random): Scenario {
  return pick(SCENARIOS, random)(known, random)
}

const SCENARIOS: MakeScenario[] = [
  one,
  one,
  chunked,
  chunked,
  brokenChunks,
  pipelined,
  pipelined,
  malformedBetween,
  tooManyAhead,
  disagreeingLengths,
  unfinished,
  otherProtocols,
]

const correct = (known: Known, random: Random): Draft => draftFor(randomRoute(random), known, random)

function one(known: Known, random: Random): Scenario {
  const draft = correct(known, random)
  if (random() < 0.5) mutate(draft, known, random)
  const { bytes, isValid } = encode(draft)
  return { name: 'one request', bytes, answered: isValid ? [draft] : [], rest: isValid ? 'none' : 'may wait' }
}

/** A correct request with a body. */
function withBody(known: Known, random: Random): Draft & { body: Buffer } {
  for (;;) {
    const draft = correct(known, random)
    writeContent(draft)
    if (draft.body) return { ...draft, body: draft.body }
  }
}

function headOf(draft: Draft, framing: string): Buffer {
  return encode({
    ...draft,
    form: [],
    json: undefined,
    body: Buffer.alloc(0),
    framing: 'own',
    headers: [...draft.headers, ['Transfer-Encoding', framing]],
  }).bytes
}

/** Cuts bytes into chunks of random sizes, often of one byte. */
function chunksOf(body: Buffer, random: Random): Buffer[] {
  const chunks: Buffer[] = []
  const most = pick([1, 1, 3, 100, 10_000], random)
  for (let at = 0; at < body.length;) {
    const end = at + 1 + below(most, random)
    const extension = pick(['', '', '', ';a=b', ';a="b;\\""', `;${'x'.repeat(100)}`], random)
    chunks.push(chunk(body.subarray(at, end), extension))
    at = end
  }
  return chunks
}

function chunked(known: Known, random: Random): Scenario {
  const draft = withBody(known, random)
  const trailers = pick(['', '', 'X-Trailer: x\r\n', 'Authorization: Bearer x\r\n', 'Content-Length: 1\r\n'], random)
  const end = Buffer.from(`${pick(['0', '00', '000000'], random)}\r\n${trailers}\r\n`)
  const head = headOf(draft, pick(['chunked', 'Chunked', 'CHUNKED'], random))
  return {
    name: 'chunks',
    bytes: Buffer.concat([head, ...chunksOf(draft.body, random), end]),
    answered: [draft],
    rest: 'none',
  }
}

const BROKEN_CHUNKS = [
  '-1\r\n',
  'g\r\n',
  '0x5\r\nhello\r\n',
  'fffffffffffffffff\r\n',
  '7fffffffffffffff\r\nx',
  '5\nhello\n0\n\n',
  '5\r\nhelloo\r\n',
  '5\r\nhell\r\n',
  '5 \r\nhello\r\n',
  '\r\n',
  ` 5\r\nhello\r\n`,
  `5;${'x'.repeat(20_000)}\r\nhello\r\n`,
  '5;\r\nhello\r\n',
  '5;a\0b\r\nhello\r\n',
  '0\r\nX\0: y\r\n\r\n',
  `0\r\n${'X: y\r\n'.repeat(4_000)}\r\n`,
  '0\r\n\r\ngarbage',
  '0\r\n',
]

function brokenChunks(known: Known, random: Random): Scenario {
  const draft = withBody(known, random)
  const chunks = chunksOf(draft.body, random).slice(0, below(50, random))
  const broken = Buffer.from(pick(BROKEN_CHUNKS, random), 'latin1')
  return {
    name: 'broken chunks',
    bytes: Buffer.concat([headOf(draft, 'chunked'), ...chunks, broken]),
    answered: [],
    rest: 'may wait',
  }
}

function pipelined(known: Known, random: Random): Scenario {
  const answered = Array.from({ length: 1 + below(MOST_AHEAD, random) }, () => correct(known, random))
  const bytes = Buffer.concat(answered.map((draft) => encode(draft).bytes))
  return { name: 'pipelined requests', bytes, answered, rest: 'none' }
}

const MALFORMED = [
  'x',
  '\0',
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'FOO / HTTP/1.1\r\n\r\n',
  'GET / HTTP/1.1\r\nBad Name: x\r\n\r\n',
  ' GET / HTTP/1.1\r\n\r\n',
]

function malformedBetween(known: Known, random: Random): Scenario {
  const before = pipelined(known, random)
  const after = encode(correct(known, random)).bytes
  const malformed = Buffer.from(`${pick(MALFORMED, random)}\r\n\r\n`, 'latin1')
  return {
    ...before,
    name: 'a malformed request behind correct ones',
    bytes: Buffer.concat([before.bytes, malformed, after]),
    rest: 'refused',
  }
}

function tooManyAhead(known: Known, random: Random): Scenario {
  const requests = Array.from({ length: MOST_AHEAD + 1 + below(100, random) }, () => encode(correct(known, random)))
  return {
    name: 'too many pipelined requests',
    bytes: Buffer.concat(requests.map(({ bytes }) => bytes)),
    answered: [],
    rest: 'refused',
  }
}

/** Request smuggling: where the body ends depends on the header that a parser believes. */
function disagreeingLengths(known: Known, random: Random): Scenario {
  const draft = withBody(known, random)
  const hidden = encode(correct(known, random)).bytes
  const headers = pick(
    [
      [
        ['Content-Length', String(draft.body.length)],
        ['Transfer-Encoding', 'chunked'],
      ],
      [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '0'],
      ],
      [
        ['Transfer-Encoding', 'chunked'],
        ['Transfer-Encoding', 'identity'],
      ],
      [
        ['Content-Length', '0'],
        ['Content-Length', String(draft.body.length)],
      ],
      [['Content-Length', `0${draft.body.length}`]],
      [['Transfer-Encoding', ' chunked']],
      [['Transfer-Encoding', 'chunked\t']],
      [['Transfer-Encoding', 'xchunked']],
      [['Transfer-Encoding\t', 'chunked']],
      [['X', 'y\nTransfer-Encoding: chunked']],
    ] as [string, string][][],
    random,
  )
  const body = Buffer.concat([chunk(draft.body), chunk(Buffer.alloc(0)), hidden])
  const { bytes } = encode({ ...draft, headers: [...draft.headers, ...headers], body, framing: 'own' })
  return { name: 'lengths that disagree', bytes, answered: [], rest: 'may wait' }
}

function unfinished(known: Known, random: Random): Scenario {
  const { bytes } = encode(correct(known, random))
  return {
    name: 'an unfinished request',
    bytes: bytes.subarray(0, below(bytes.length, random)),
    answered: [],
    rest: 'may wait',
  }
}

const OTHERS = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0',
  '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\n\r\n',
  'SSH-2.0-x\r\n',
  'EHLO x\r\nMAIL FROM:<a@b>\r\n',
  '{"jsonrpc":"2.0"}\n',
  '\r\n\r\n\r\n',
  '\n'.repeat(20_000),
  'GET /\r\n',
]

function otherProtocols(_: Known, random: Random): Scenario {
  const bytes = random() < 0.3 ? randomBytes(1 + below(3_000, random)) : Buffer.from(pick(OTHERS, random), 'latin1')
  return { name: 'another protocol', bytes, answered: [], rest: 'may wait' }
}
