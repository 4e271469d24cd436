import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';

// The public conformance suite of the Model Context Protocol.

/** The newest revision of the protocol, and the one before, which has a handshake. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

export type Revision = (typeof REVISIONS)[number];

export interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

/** A part of the suite, by the heading of its list. */
export type Part = 'Server' | 'Client' | 'Authorization server';

/** Runs the suite's command with these words. @param onText is called with what it has printed so far. @returns what it has printed. */
export async function suite(words: readonly string[], onText?: (printed: string) => void): Promise<string> {
  const program = resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const hooks = resolve('test/support/conformance-suite.mjs');
  const child = spawn(process.execPath, ['--import', hooks, program, ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    onText?.(printed);
  });
  await new Promise((done) => child.once('close', done));
  return printed;
}

/** Returns the scenarios of a part, with the revisions in which each exists; none: an extension of the protocol. */
export async function scenariosOf(part: Part): Promise<Map<string, Revision[]>> {
  const sections = (await suite(['list'])).split(/\n(?=\S.* scenarios \()/);
  const section = sections.find((one) => one.trimStart().startsWith(`${part} scenarios`)) ?? '';
  return new Map(
    [...section.matchAll(/^\s+- (\S+) \[(.*)\]$/gm)].map(([, name = '', revisions = '']) => [
      name,
      REVISIONS.filter((revision) => revisions.split(',').includes(revision)),
    ]),
  );
}

/** Runs the suite, and returns the checks by scenario. */
export async function checksOf(
  words: readonly string[],
  onText?: (printed: string) => void,
): Promise<Map<string, Check[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-conformance-'));
  try {
    await suite([...words, '--output-dir', folder], onText);
    const checks = new Map<string, Check[]>();
    for (const name of await readdir(folder)) {
      const scenario = name
        .replace(/^(?:server-(?=.*-\d{4}-\d\d-\d\dT)|authorization-server-(?=auth))/, '')
        .replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      checks.set(scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')));
    }
    return checks;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param except checks that do not apply. */
export function expectPassed(checks: readonly Check[] | undefined, except: readonly string[] = []): void {
  const failed = checks?.filter(
    ({ id, status }) => (status === 'FAILURE' || status === 'WARNING') && !except.includes(id),
  );
  expect(failed).toEqual([]);
  // Every scenario also checks the form of the messages.
  const succeeded = checks?.filter(({ id, status }) => status === 'SUCCESS' && !id.startsWith('wire-schema'));
  expect(succeeded?.length).toBeGreaterThan(0);
}

/** Expects that lists name each scenario of a part once. */
export async function expectComplete(part: Part, known: readonly string[]): Promise<void> {
  const scenarios = await scenariosOf(part);
  expect(scenarios.size).toBeGreaterThan(1);
  expect(new Set(known)).toEqual(new Set(scenarios.keys()));
  expect(known).toHaveLength(scenarios.size);
}
