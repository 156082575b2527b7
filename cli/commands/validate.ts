import { Option } from 'commander'
import type { Command } from 'commander'

/** `realmkeeper validate`: for a pipeline, before anything is applied. */
export function addValidateCommand(program: Command): void {
  program
    .command('validate')
    .description('check manifests without a cluster: schema, rules, references; exits 1 when something is wrong')
    .argument('<path...>', 'files and directories')
    .addOption(new Option('--output <format>', 'how findings are printed').choices(['text', 'json']).default('text'))
    .action(async (paths: string[], { output }: { output: 'text' | 'json' }) => {
      const { hasErrors } = await import('../validate/finding.ts')
      const { renderFindings } = await import('../validate/render_findings.ts')
      const { validatePaths } = await import('../validate/validate.ts')
      const findings = await validatePaths(paths)
      const text = renderFindings(findings, output)
      process.stdout.write(text)
      if (hasErrors(findings)) process.exitCode = 1
    })
}
