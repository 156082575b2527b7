import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { JWK } from 'jose'
import { PlainError } from '../../process/plain_error.ts'
import { errorCode } from '../../process/loggable.ts'

const MAX_DAYS = 3650

interface IssueOptions {
  realm: string
  key: string
  issuer: string
  days: number
}

/** `realmkeeper license`: issues licenses for an installation. */
export function addLicenseCommand(program: Command): void {
  const license = program.command('license').description('issue the licenses that field encryption requires')

  license
    .command('issue')
    .description('print a license for a realm; store it in the Secret that the Realm refers to')
    .requiredOption('--realm <name>', 'name of the realm in URLs')
    .requiredOption('--key <file>', 'private Ed25519 key (JWK), as created by "license new-key"')
    .option('--issuer <name>', 'issuer in the license', 'realmkeeper license issue')
    .option('--days <number>', `days until it expires, 1 to ${MAX_DAYS}`, days, 365)
    .action(async (options: IssueOptions) => {
      const { FIELD_ENCRYPTION_FEATURE, issueLicense } = await import('../../keyring/license.ts')
      const claims = {
        issuer: options.issuer,
        realm: options.realm,
        features: [FIELD_ENCRYPTION_FEATURE],
        expiresAt: new Date(Date.now() + options.days * 86_400_000),
        jti: randomUUID(),
      }
      console.log(await issueLicense(claims, await readJwk(options.key)))
    })

  license
    .command('new-key')
    .description(
      'create a key that signs licenses; print its public half, a JWK Set for --license-keys of the operator',
    )
    .argument('<file>', 'file for the private key; must not exist')
    .action(async (file: string) => {
      const { generateLicenseKey } = await import('../../keyring/license.ts')
      const { privateJwk, publicJwk } = await generateLicenseKey()
      await createFile(file, `${JSON.stringify(privateJwk)}\n`)
      console.log(JSON.stringify({ keys: [publicJwk] }, undefined, 2))
    })
}

async function createFile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new PlainError(`${file} cannot be created (${errorCode(error)}); an existing key is never overwritten`)
  }
}

async function readJwk(file: string): Promise<JWK> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PlainError(`${file} cannot be read (${errorCode(error)}): --key names a private Ed25519 JWK`)
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
  if (given >= 1 && given <= MAX_DAYS) return given
  throw new InvalidArgumentError(`must be a whole number from 1 to ${MAX_DAYS}`)
}
