import type { Logger } from 'pino'
import type { OperatorConfig } from '../../process/settings.ts'
import { OperatorConfigError } from '../operator_config.ts'
import type { Origin } from './origin.ts'
import { directorySource } from './directory/directory_source.ts'
import { problemText } from './directory/manifests/problem.ts'
import { keyText } from './resource.ts'
import type { ResourceSource } from './resource_source.ts'
import { withoutElection } from '../leadership/leader_election.ts'

/** Manifests in a folder. One process works on it, so there is no election. */
export function onDirectory(
  { dir, stateDir }: Pick<OperatorConfig, 'dir' | 'stateDir'>,
  { log, now }: { log: Logger; now: () => Date },
): Origin {
  if (dir === undefined || stateDir === undefined) {
    throw new OperatorConfigError(
      '--dir and --state-dir are required together: manifests in a folder, and what is remembered of them',
    )
  }
  return onSource(
    directorySource({
      directory: dir,
      stateDir,
      now,
      report: (problem) => log.error({ file: problem.file, line: problem.line }, problemText(problem)),
      recordEvent: (key, { type, reason, message }) => {
        const about = { resource: keyText(key), reason }
        if (type === 'Warning') log.warn(about, message)
        else log.info(about, message)
      },
    }),
  )
}

/** A source that one process alone works on. */
export function onSource(source: ResourceSource): Origin {
  return {
    source,
    secrets: () => source.secrets,
    elect: withoutElection,
    mayBeAway: false,
    close: () => {},
  }
}
