import type { AddressInfo } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { mountProtocol } from '../../../src/api/mcp/mount.ts';
import { conformanceFixtures } from '../../support/mcp-fixtures.ts';
import {
  type Check,
  checksOf,
  expectComplete,
  expectPassed,
  REVISIONS,
  type Revision,
  scenariosOf,
} from '../../support/protocol-suite.ts';
import { test } from '../../support/shared-souk-test.ts';
import { words } from '../../support/words.ts';

// Results of the server scenarios of the public conformance suite of the protocol, in its newest revision and the one before.

/** Scenarios that need no special tools: run against a gateway. */
const OF_ANY_SERVER = words(`
  server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection caching
  sep-2164-resource-not-found input-required-result-unsupported-methods
`);

/** Scenarios that need tools and resources of the suite: run against a server that has them. */
const WITH_FIXTURES = words(`
  tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
  tools-call-mixed-content tools-call-error tools-call-with-progress json-schema-2020-12
  resources-read-text resources-read-binary resources-templates-read http-header-validation server-stateless
`);

const NO_LOGGING = 'The protocol deprecates logging. Errors are in results.';
const NO_ASKING_BACK = 'No tool asks the client.';
const NO_PROMPTS = 'The prompts of the suite have texts and pictures that only its own server has.';
const NO_SUBSCRIPTIONS = 'Resources are results, which never change.';
const NO_SESSIONS = 'There are no sessions.';
const NO_TASKS = 'Jobs are tools, which every client has. The extension is not offered.';
const NO_SKILLS = 'The extension is not offered.';

const NOT_APPLICABLE: Record<string, string> = {
  'logging-set-level': NO_LOGGING,
  'tools-call-with-logging': NO_LOGGING,
  'completion-complete': 'Arguments of prompts are free text, and ids are in answers.',
  'server-session-lifecycle': NO_SESSIONS,
  'server-sse-multiple-streams': 'It tests several streams of one session, and there are no sessions.',
  'server-sse-polling': 'Streams are not resumed: there are no sessions, and a job outlives every stream.',
  'resources-subscribe': NO_SUBSCRIPTIONS,
  'resources-unsubscribe': NO_SUBSCRIPTIONS,
  'http-custom-header-server-validation': 'No argument of a tool is sent as a header.',
  ...named(
    NO_ASKING_BACK,
    `tools-call-sampling tools-call-elicitation elicitation-sep1034-defaults elicitation-sep1330-enums
     input-required-result-basic-elicitation input-required-result-basic-sampling input-required-result-basic-list-roots
     input-required-result-request-state input-required-result-multiple-input-requests input-required-result-multi-round
     input-required-result-missing-input-response input-required-result-non-tool-request input-required-result-result-type
     input-required-result-tampered-state input-required-result-capability-check
     input-required-result-ignore-extra-params input-required-result-validate-input`,
  ),
  ...named(
    NO_PROMPTS,
    'prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image',
  ),
  ...named(
    NO_TASKS,
    `tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input
     tasks-request-headers tasks-dispatch-and-envelope tasks-status-notifications tasks-required-task-error
     tasks-mrtr-composition`,
  ),
  ...named(NO_SKILLS, 'sep-2640-skills-directory sep-2640-skills-enumeration sep-2640-skills-manifest'),
};

/** Single checks of scenarios that apply otherwise. */
const CHECKS_NOT_APPLICABLE = Object.keys({
  ...named(
    NO_ASKING_BACK,
    `sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
     sep-2575-http-server-no-independent-requests-on-stream`,
  ),
});

function named(reason: string, scenarios: string): Record<string, string> {
  return Object.fromEntries(words(scenarios).map((name) => [name, reason]));
}

test('the lists here have every server scenario of the suite', () =>
  expectComplete('Server', [...OF_ANY_SERVER, ...WITH_FIXTURES, ...Object.keys(NOT_APPLICABLE)]));

/** Runs every scenario in both revisions. */
async function run(url: string): Promise<Record<Revision, Map<string, Check[]>>> {
  const results = {} as Record<Revision, Map<string, Check[]>>;
  for (const revision of REVISIONS)
    results[revision] = await checksOf([
      'server',
      '--suite',
      'all',
      '--spec-version',
      revision,
      '--url',
      url,
    ]);
  return results;
}

/** Expects that a scenario has passed in each revision that has it. */
async function expectPassedEverywhere(
  scenario: string,
  results: Record<Revision, Map<string, Check[]>>,
): Promise<void> {
  const revisions = (await scenarios).get(scenario) ?? [];
  expect(revisions).not.toEqual([]);
  for (const revision of revisions) expectPassed(results[revision].get(scenario), CHECKS_NOT_APPLICABLE);
}

const scenarios = scenariosOf('Server');

describe('a gateway passes', () => {
  let results: Awaited<ReturnType<typeof run>>;
  test.beforeAll(async ({ souk }) => {
    const { baseUrl, key } = await souk.client();
    results = await run(`${baseUrl}/mcp?key=${key}&toolsets=all`);
  });

  test.each(OF_ANY_SERVER)('%s', (scenario) => expectPassedEverywhere(scenario, results));

  test('answers "Method not found" to scenarios that do not apply', () => {
    for (const scenario of ['logging-set-level', 'resources-subscribe'])
      expect(JSON.stringify(results['2025-11-25'].get(scenario))).toContain('Method not found');
  });
});

describe('with the tools and resources of the suite', () => {
  let app: FastifyInstance;
  let results: Awaited<ReturnType<typeof run>>;
  beforeAll(async () => {
    app = fastify();
    mountProtocol(app, {
      served: await conformanceFixtures(),
      allowedHosts: ['127.0.0.1'],
      identify: async () => null,
      onError: () => {},
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    results = await run(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`);
  });
  afterAll(() => app.close());

  test.each(WITH_FIXTURES)('the protocol passes %s', (scenario) => expectPassedEverywhere(scenario, results));
});
