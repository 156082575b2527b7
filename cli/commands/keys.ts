import type { Command } from 'commander'
import { PlainError } from '../plain_error.ts'

/** `realmkeeper keys rotate`: has the operator rotate a realm's keys ahead of time. */
export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description("a realm's keys")
  keys
    .command('rotate')
    .description('set the annotation that has the operator rotate once')
    .requiredOption('--realm <name>', 'name of the Realm resource')
    .requiredOption('--kind <signing|refresh>', 'which keys')
    .action(() => {
      throw new PlainError(
        'keys rotate needs a cluster, which this version does not read yet. In a directory that "realmkeeper dev" ' +
          'serves, set the annotation realmkeeper.io/rotate-<kind>: "<time>" on the Realm yourself',
      )
    })
}
