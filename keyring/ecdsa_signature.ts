// JWS carries an ECDSA signature as r and s of fixed length one after the other (RFC 7518 section 3.4), OpenSSL makes
// DER: SEQUENCE { INTEGER r, INTEGER s } (RFC 3279 section 2.2.3). Node converts too, but asking it to (`dsaEncoding`)
// makes a signature take twice as long, so that is done here. Both numbers are under 128 bytes, so lengths are one byte.

const SEQUENCE = 0x30
const INTEGER = 0x02

/** DER, as OpenSSL just made it, to r | s, each of `size` bytes. @throws RangeError for anything else */
export function derToRaw(der: Uint8Array, size: number): Buffer {
  const raw = Buffer.alloc(2 * size)
  const afterR = readInteger(der, 2, raw, size)
  const afterS = readInteger(der, afterR, raw, 2 * size)
  if (der[0] !== SEQUENCE || der[1] !== der.length - 2 || afterS !== der.length) throw notDer()
  return raw
}

/** r | s, as somebody sent it, to DER. Undefined unless it is exactly 2 × `size` bytes; OpenSSL judges the numbers. */
export function rawToDer(raw: Uint8Array, size: number): Buffer | undefined {
  if (raw.length !== 2 * size) return undefined
  const r = derInteger(raw.subarray(0, size))
  const s = derInteger(raw.subarray(size))
  return Buffer.concat([Buffer.of(SEQUENCE, r.length + s.length), r, s])
}

/** Copies the number at `at` so that it ends at `end` of `into`; returns where the next one begins. */
function readInteger(der: Uint8Array, at: number, into: Buffer, end: number): number {
  const length = der[at + 1] ?? 0
  const next = at + 2 + length
  if (der[at] !== INTEGER || length < 1 || next > der.length) throw notDer()
  const number = withoutLeadingZeros(der.subarray(at + 2, next))
  if (number.length > into.length / 2) throw notDer()
  into.set(number, end - number.length)
  return next
}

/** The shortest form, with a zero before a set high bit, which would otherwise mean a negative number. */
function derInteger(fixed: Uint8Array): Buffer {
  const number = withoutLeadingZeros(fixed)
  const sign = (number[0] ?? 0) >= 0x80 ? [0] : []
  return Buffer.concat([Buffer.of(INTEGER, sign.length + number.length, ...sign), number])
}

function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.subarray(first < 0 ? bytes.length - 1 : first)
}

function notDer(): RangeError {
  return new RangeError('not an ECDSA signature in DER')
}
