import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { registerCommands } from '../../src/cli/program.ts';

const page = readFileSync(new URL('../../docs/operating/command.md', import.meta.url), 'utf8');
const [, table = ''] = /\| Command \| What it does \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(page) ?? [];

/** Each command with its arguments and sorted options, such as `account disable ID` or `key list --account`. */
function signatures(command: Command, path: readonly string[] = []): string[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((sub) => signatures(sub, [...path, sub.name()]));
  const bare = command.registeredArguments.map((argument) => argument.name());
  const options = command.options.map(({ long }) => long ?? '').filter((long) => long !== '--json');
  return [[...path, ...bare, ...options.sort()].join(' ')];
}

test('docs/operating/command.md lists exactly the commands and options of the program', () => {
  const listed = table
    .trim()
    .split('\n')
    .flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
    .map(([, text = '']) => {
      const options = [...text.matchAll(/--[a-z-]+/g)].map(([name]) => name).sort();
      const words = text.split(/ --| \[/, 1).join('');
      return [words, ...options].join(' ');
    });
  const program = new Command('souk');
  registerCommands(program);
  expect(listed.sort()).toEqual(signatures(program).sort());
});
