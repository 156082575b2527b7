import { Option } from 'commander'
import type { Command } from 'commander'
import { readConfig } from '../process/config.ts'
import type { Settings, Values } from '../process/setting.ts'

/** Gives a command an option for each setting; help shows its default and the name of its variable. */
export function addSettings(command: Command, table: Settings): Command {
  for (const setting of Object.values(table)) {
    const about = [setting.fallback ? `default: ${setting.fallback}` : '', `env: ${setting.env}`].filter(Boolean)
    if (setting.placeholder === undefined) about.splice(0, about.length, `env: ${setting.env}`)
    const flags = setting.placeholder === undefined ? `--${setting.flag}` : `--${setting.flag} <${setting.placeholder}>`
    command.addOption(new Option(flags, `${setting.description} (${about.join(', ')})`))
  }
  return command
}

/** The configuration of a command from its options and the environment. Throws ConfigError. */
export function configOf<Table extends Settings>(command: Command, table: Table): Values<Table> {
  const given: Record<string, string | boolean | undefined> = command.opts()
  const flags = Object.entries(table).map(([name, { flag }]) => [name, given[camelCase(flag)]])
  return readConfig(table, Object.fromEntries(flags))
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
