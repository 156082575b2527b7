// The floor of a login: argon2id only, with the parameters of the benchmark's realms.
// Usage: hash.ts SECONDS CONCURRENCY; prints hashes per second.
import { verify } from 'argon2'
import { hashPassword } from '../../test/support/world.ts'
import { HASHING, PASSWORD } from '../world.ts'

const [seconds = 1, concurrency = 1] = process.argv.slice(2).map(Number)
const hash = await hashPassword(PASSWORD, HASHING)
const started = performance.now()
const deadline = started + seconds * 1000
let hashes = 0
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (performance.now() < deadline) {
      await verify(hash, PASSWORD)
      hashes += 1
    }
  }),
)
console.log((hashes * 1000) / (performance.now() - started))
