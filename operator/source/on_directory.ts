import type { Logger } from 'pino'
import type { OperatorConfig } from '../../process/settings.ts'
import { PlainError } from '../../process/plain_error.ts'
import type { Origin } from './origin.ts'
import { directorySource } from './directory/directory_source.ts'
import { problemText } from './directory/manifests/problem.ts'
import { keyText } from './resource.ts'
import type { ResourceSource } from './resource_source.ts'
import { withoutElection } from '../leadership/leader_election.ts'

/** The manifests of a directory. Only one process uses it, so there is no election. */
export function onDirectory(
  { dir, stateDir }: Pick<OperatorConfig, 'dir' | 'stateDir'>,
  { log, now }: { log: Logger; now: () => Date },
): Origin {
  if (dir === undefined || stateDir === undefined) {
    throw new PlainError(
      '--dir and --state-dir are required together: the manifests, and the directory for their status and generated Secrets',
    )
  }
  return onSource(
    directorySource({
      directory: dir,
      stateDir,
      now,
      report: (problem) => log.error({ file: problem.file, line: problem.line }, problemText(problem)),
      recordEvent: (key, { type, reason, message }) => {
        // The operator logs each signature of the audit itself.
        if (key.kind === 'Secret') return
        const about = { resource: keyText(key), reason }
        if (type === 'Warning') log.warn(about, message)
        else log.info(about, message)
      },
    }),
  )
}

/** A source that only one process uses. */
export function onSource(source: ResourceSource): Origin {
  return {
    source,
    secrets: () => source.secrets,
    elect: withoutElection,
    mayBeAway: false,
    close: () => {},
  }
}
