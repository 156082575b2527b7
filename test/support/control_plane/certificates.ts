import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate and its private key, in PEM. */
export interface Issued {
  certificate: string
  key: string
}

export interface CertificateAuthority {
  certificate: string
  /** A client certificate: `name` becomes the user name, `groups` the groups (RFC 5280 CN and O, as Kubernetes reads them). */
  issueClient(name: string, groups?: readonly string[]): Issued
  /** A server certificate for these addresses and names. */
  issueServer(hosts: readonly string[]): Issued
}

/** A new certificate authority, valid for a day. */
export function certificateAuthority(name: string): CertificateAuthority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = nameOf(name, [])
  const certificate = certify(privateKey, subject, subject, publicKey, [
    extension(OID.basicConstraints, sequence(BOOLEAN_TRUE), true),
    // keyCertSign and cRLSign (RFC 5280 section 4.2.1.3).
    extension(OID.keyUsage, tlv(0x03, Buffer.from([1, 0b00000110])), true),
  ])

  function issue(forWhom: Buffer, extensions: Buffer[]): Issued {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return {
      certificate: certify(privateKey, subject, forWhom, pair.publicKey, extensions),
      key: pemOf(pair.privateKey),
    }
  }

  return {
    certificate,
    issueClient: (user, groups = []) =>
      issue(nameOf(user, groups), [extension(OID.extendedKeyUsage, sequence(oid(OID.clientAuth)))]),
    issueServer: (hosts) =>
      issue(nameOf(hosts[0] ?? 'localhost', []), [
        extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
        extension(OID.subjectAltName, sequence(...hosts.map(alternativeName))),
      ]),
  }
}

/** A key pair that signs ServiceAccount tokens, in PEM. */
export function signingKey(): { privateKey: string; publicKey: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    privateKey: pemOf(privateKey),
    publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
  }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
}
const DAY_MILLIS = 86_400_000

function certify(key: KeyObject, issuer: Buffer, subject: Buffer, subjectKey: KeyObject, extensions: Buffer[]): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const now = Date.now()
  const signed = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    sequence(utcTime(now - DAY_MILLIS), utcTime(now + DAY_MILLIS)),
    subject,
    subjectKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(...extensions)),
  )
  const certificate = sequence(signed, algorithm, bitString(sign('sha256', signed, key)))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

/** DER (X.690): a tag, a length, a content. */
function tlv(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const digits = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | digits.length]), digits, content])
}

const BOOLEAN_TRUE = tlv(0x01, Buffer.from([0xff]))

function sequence(...members: Buffer[]): Buffer {
  return tlv(0x30, ...members)
}

function bitString(bytes: Buffer): Buffer {
  return tlv(0x03, Buffer.from([0]), bytes)
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const digits = [arc & 0x7f]
    for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tlv(0x06, Buffer.from(bytes))
}

function utcTime(millis: number): Buffer {
  const digits = new Date(millis).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)
  return tlv(0x17, Buffer.from(`${digits}Z`))
}

function nameOf(common: string, organizations: readonly string[]): Buffer {
  const attribute = (type: string, value: string): Buffer =>
    tlv(0x31, sequence(oid(type), tlv(0x0c, Buffer.from(value, 'utf8'))))
  return sequence(...organizations.map((each) => attribute(OID.organization, each)), attribute(OID.commonName, common))
}

function extension(type: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(type), ...(critical ? [BOOLEAN_TRUE] : []), tlv(0x04, value))
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 4 ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : tlv(0x82, Buffer.from(host))
}
