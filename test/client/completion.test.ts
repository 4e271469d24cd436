import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completion, SHELLS, type Shell } from '../../clients/typescript/src/command/completion.ts';
import { createProgram } from '../../clients/typescript/src/command/program.ts';

// Tests of the completion scripts in the shells that this machine has.

const { signal } = new AbortController();
const program = createProgram({ env: {}, write: () => {}, signal });

/** Lines of a user, and the word that completes the last one. */
const LINES: readonly (readonly [line: string, word: string])[] = [
  ['ba', 'batch'],
  ['call market.productF', 'market.productFinder'],
  ['call market.productFinder --m', '--max-units'],
  ['quota --output j', 'json'],
  ['quota -o c', 'csv'],
  ['batch items.csv --operation trends.interest-o', 'trends.interest-over-time'],
  ['jobs --state c', 'cancelled'],
  ['completion f', 'fish'],
  ['batch it', 'items.csv'],
];

const LIMIT_MS = 30_000;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'souk-completion-'));
  for (const shell of SHELLS) writeFileSync(join(folder, `script.${shell}`), completion(shell, program));
  writeFileSync(join(folder, 'items.csv'), 'asin\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads lines, and prints the words that complete each. Without any, bash completes names of files, as `-o default` says. */
const BASH = `source ./script.bash
while IFS= read -r line; do
  COMP_WORDS=(souk-client $line) COMPREPLY=()
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _souk_client
  echo "\${COMPREPLY[*]}"
done
complete -p souk-client`;

const FISH = `source ./script.fish
while read line
  complete -C "souk-client $line" | string split --fields 1 \\t | string join ' '
end
true`;

/** Types each line into a zsh with a terminal, and a tab after it; prints the arguments that the command gets. */
const ZSH = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; source ./script.zsh; souk-client() { print -r -- "<$*>" }; print -r -- "<rea""dy>"'
zpty -r -m shell output '*<ready>*'
while IFS= read -r line; do
  zpty -n -w shell "souk-client $line"$'\\t\\r'
  zpty -r -m shell output '*<*>*'
  print -r -- \${\${output##*<}%%>*}
done
zpty -d shell`;

/** Runs a program of a shell. @returns the lines that it prints. */
function linesOf(shell: Shell, args: readonly string[]): string[] {
  const input = `${LINES.map(([line]) => line).join('\n')}\n`;
  const options = { cwd: folder, input, encoding: 'utf8', timeout: LIMIT_MS } as const;
  const { status, stdout, stderr } = spawnSync(shell, args, options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

function testIn(shell: Shell) {
  const isHere = spawnSync(shell, ['--version']).status === 0;
  if (!isHere) process.stderr.write(`Skipping the completions of ${shell}: it is not installed.\n`);
  return test.runIf(isHere);
}

testIn('bash')('bash completes commands, operations, options and their values', () => {
  const words = LINES.map(([, word]) => (word === 'items.csv' ? '' : word));
  expect(linesOf('bash', ['--norc', '-c', BASH])).toEqual([
    ...words,
    'complete -o default -F _souk_client souk-client',
  ]);
});

testIn('fish')('fish completes commands, operations, options, their values and files', () => {
  expect(linesOf('fish', ['--no-config', '-c', FISH])).toEqual(LINES.map(([, word]) => word));
});

testIn('zsh')('zsh completes commands, operations, options, their values and files', () => {
  const commands = LINES.map(([line, word]) => [...line.split(' ').slice(0, -1), word].join(' '));
  expect(linesOf('zsh', ['-f', '-c', ZSH])).toEqual(commands);
});
