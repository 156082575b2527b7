import argon2 from 'argon2'
import type { Logger } from 'pino'
import type { PasswordHashing } from '../../store/realms.ts'
import { hashParameters } from '../../store/stored_hash.ts'
import { createHashQueue } from './hash_queue.ts'
import { nobodysHash, sameParameters } from './stored_hash.ts'

/** One login's check of one password. */
export interface PasswordCheck {
  /**
   * Whether the password has this hash. Without one, or with one that is not fit to be computed, a hash is computed all
   * the same and the answer is no: it takes as long as a wrong password.
   */
  verify(stored: string | null | undefined, password: string): Promise<boolean>
  /** Gives the place in the queue up unless `verify` was called. */
  leave(): void
}

export interface Passwords {
  /** Reserves a place in the queue. @throws OAuthError 503 when too much waits */
  enter(parameters: PasswordHashing): PasswordCheck
  /** The password's hash with these parameters when `stored` has others; undefined when it has not or too much waits. */
  renew(stored: string, password: string, parameters: PasswordHashing): Promise<string | undefined>
  /** How many checks wait or run. */
  length: () => number
}

const MAX_WAIT_SECONDS = 5

/** Passwords of logins: argon2id, compared in NFC, a bounded number at a time. */
export function createPasswords({ concurrency, log }: { concurrency: number; log: Logger }): Passwords {
  const queue = createHashQueue({ concurrency, maxSeconds: MAX_WAIT_SECONDS })

  async function compute(stored: string, password: string): Promise<boolean> {
    try {
      return await argon2.verify(stored, password.normalize('NFC'))
    } catch (error) {
      log.error({ err: error }, 'a password hash could not be computed')
      return false
    }
  }

  return {
    length: () => queue.length(),
    enter(parameters) {
      const place = queue.enter(parameters)
      return {
        leave: () => place.leave(),
        async verify(stored, password) {
          const isFit = typeof stored === 'string' && hashParameters(stored) !== undefined
          if (typeof stored === 'string' && !isFit) {
            log.error('a stored password hash is damaged or asks for more than is allowed: that user cannot log in')
          }
          const isRight = await place.run(() => compute(isFit ? stored : nobodysHash(parameters), password))
          return isFit && isRight
        },
      }
    },
    async renew(stored, password, parameters) {
      const present = hashParameters(stored)
      if (!present || sameParameters(present, parameters)) return undefined
      try {
        const { memoryKiB, iterations, parallelism } = parameters
        return await queue.enter(parameters).run(() =>
          argon2.hash(password.normalize('NFC'), {
            type: argon2.argon2id,
            memoryCost: memoryKiB,
            timeCost: iterations,
            parallelism,
            hashLength: 32,
          }),
        )
      } catch {
        // The next login tries again.
        return undefined
      }
    },
  }
}
