import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { mountProtocol } from '../../../src/api/mcp/mount.ts';
import { conformanceFixtures } from '../../support/mcp-fixtures.ts';
import { test } from '../../support/shared-souk-test.ts';
import { words } from '../../support/words.ts';

// Results of the public conformance suite of the protocol, by scenario.

/** Scenarios that need no special tools: run against a gateway. */
const OF_ANY_SERVER = [
  ...words('server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection'),
];

/** Scenarios that need tools and resources of the suite: run against a server that has them. */
const WITH_FIXTURES = words(`
  tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
  tools-call-mixed-content tools-call-error tools-call-with-progress json-schema-2020-12
  resources-read-text resources-read-binary resources-templates-read
`);

const NO_LOGGING = 'The protocol deprecates logging. Errors are in results.';
const NO_ASKING_BACK = 'No tool asks the client.';
const NO_PROMPTS = 'The prompts of the suite have texts and pictures that only its own server has.';
const NO_SUBSCRIPTIONS = 'Resources are results, which never change.';

const NOT_APPLICABLE: Record<string, string> = {
  'logging-set-level': NO_LOGGING,
  'tools-call-with-logging': NO_LOGGING,
  'completion-complete': 'Arguments of prompts are free text, and ids are in answers.',
  'tools-call-sampling': NO_ASKING_BACK,
  'tools-call-elicitation': NO_ASKING_BACK,
  'elicitation-sep1034-defaults': NO_ASKING_BACK,
  'elicitation-sep1330-enums': NO_ASKING_BACK,
  'server-sse-multiple-streams': 'It tests several streams of one session, and there are no sessions.',
  'server-sse-polling': 'Streams are not resumed: there are no sessions, and a job outlives every stream.',
  'resources-subscribe': NO_SUBSCRIPTIONS,
  'resources-unsubscribe': NO_SUBSCRIPTIONS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
};

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

/** The suite's command with these words. @returns what it has printed. */
async function suite(...words: string[]): Promise<string> {
  const program = resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const hooks = resolve('test/support/conformance-suite.mjs');
  const child = spawn(process.execPath, ['--import', hooks, program, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await new Promise((done) => child.once('close', done));
  return printed;
}

/** The checks of all scenarios, by scenario. */
async function checksOf(url: string): Promise<Map<string, Check[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-conformance-'));
  try {
    await suite('server', '--suite', 'all', '--url', url, '--output-dir', folder);
    const checks = new Map<string, Check[]>();
    for (const name of await readdir(folder)) {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      checks.set(scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')));
    }
    return checks;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function expectPassed(checks: readonly Check[] | undefined): void {
  const failed = checks?.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  expect(failed).toEqual([]);
  expect(checks?.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(0);
}

test('the lists here have every server scenario of the suite', async () => {
  const listed = (await suite('list')).split(/Client scenarios/)[0] ?? '';
  const scenarios = [...listed.matchAll(/^\s+- ([\w-]+)/gm)].map(([, name]) => name);
  expect(scenarios.length).toBeGreaterThan(20);
  const known = [...OF_ANY_SERVER, ...WITH_FIXTURES, ...Object.keys(NOT_APPLICABLE)];
  expect(new Set(known)).toEqual(new Set(scenarios));
  expect(known).toHaveLength(scenarios.length);
});

describe('a gateway passes', () => {
  let checks: Map<string, Check[]>;
  test.beforeAll(async ({ souk }) => {
    const { baseUrl, key } = await souk.client();
    checks = await checksOf(`${baseUrl}/mcp?key=${key}&toolsets=all`);
  });

  test.each(OF_ANY_SERVER)('%s', (scenario) => {
    expectPassed(checks.get(scenario));
  });

  test('answers "Method not found" to scenarios that do not apply', () => {
    for (const scenario of ['logging-set-level', 'resources-subscribe'])
      expect(JSON.stringify(checks.get(scenario))).toContain('Method not found');
  });
});

describe('with the tools and resources of the suite', () => {
  let app: FastifyInstance;
  let checks: Map<string, Check[]>;
  beforeAll(async () => {
    app = fastify();
    mountProtocol(app, {
      served: await conformanceFixtures(),
      allowedHosts: ['127.0.0.1'],
      identify: async () => null,
      onError: () => {},
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    checks = await checksOf(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`);
  });
  afterAll(() => app.close());

  test.each(WITH_FIXTURES)('the protocol passes %s', (scenario) => {
    expectPassed(checks.get(scenario));
  });
});
