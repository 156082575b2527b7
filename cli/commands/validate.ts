import { Option } from 'commander'
import type { Command } from 'commander'

/** `realmkeeper validate`: checks manifests before they are applied, for example in a pipeline. */
export function addValidateCommand(program: Command): void {
  program
    .command('validate')
    .description(
      'check the schema, rules and references of manifests without a cluster; exits with 1 when one is wrong',
    )
    .argument('<path...>', 'files and directories')
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .action(async (paths: string[], { output }: { output: 'text' | 'json' }) => {
      const { hasErrors, renderFindings } = await import('../validate/finding.ts')
      const { validatePaths } = await import('../validate/validate.ts')
      const findings = await validatePaths(paths)
      process.stdout.write(renderFindings(findings, output))
      if (hasErrors(findings)) process.exitCode = 1
    })
}
