import { generateKeyPairSync, randomUUID } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { PlainError } from '../../process/plain_error.ts'

const LONGEST_DAYS = 3650

interface IssueOptions {
  realm: string
  key: string
  issuer: string
  days: number
}

/** `realmkeeper license`: an owner of an installation can issue licenses for it. */
export function addLicenseCommand(program: Command): void {
  const license = program.command('license').description('licenses, which field encryption needs')

  license
    .command('issue')
    .description(
      'print a license for a realm, signed with a private Ed25519 key; put it into the Secret that the Realm names',
    )
    .requiredOption('--realm <name>', 'the realm, as in URLs')
    .requiredOption('--key <file>', 'private key: a JWK, as "license new-key" makes it')
    .option('--issuer <name>', 'who issues it', 'realmkeeper license issue')
    .option('--days <number>', `days until it expires, 1 to ${LONGEST_DAYS}`, days, 365)
    .action(async (options: IssueOptions) => {
      const { FIELD_ENCRYPTION_FEATURE, issueLicense } = await import('../../keyring/license.ts')
      const claims = {
        issuer: options.issuer,
        realm: options.realm,
        features: [FIELD_ENCRYPTION_FEATURE],
        expiresAt: new Date(Date.now() + options.days * 86_400_000),
        jti: randomUUID(),
      }
      console.log(issueLicense(claims, await readJwk(options.key)))
    })

  license
    .command('new-key')
    .description(
      'make a key to issue licenses with; prints its public half, a JWK Set for --license-keys of the operator',
    )
    .argument('<file>', 'where to put the private key; must not be there yet')
    .action(async (file: string) => {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519')
      await writeNew(file, `${JSON.stringify(privateKey.export({ format: 'jwk' }))}\n`)
      console.log(JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }, undefined, 2))
    })
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new PlainError(`${file} cannot be made (${codeOf(error)}); an existing key is never overwritten`)
  }
}

async function readJwk(file: string): Promise<JsonWebKey> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PlainError(`${file} cannot be read (${codeOf(error)}): --key names a private Ed25519 JWK`)
  })
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message would quote the key.
    throw new PlainError(`${file} is not JSON: --key names a private Ed25519 JWK`)
  }
}

function days(text: string): number {
  const given = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (given >= 1 && given <= LONGEST_DAYS) return given
  throw new InvalidArgumentError(`must be a whole number from 1 to ${LONGEST_DAYS}`)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
