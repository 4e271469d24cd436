import { resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import { checksOf, expectComplete, expectPassed, REVISIONS, scenariosOf } from '../support/protocol-suite.ts';
import { words } from '../support/words.ts';

// Results of the client scenarios of the public conformance suite, with a host that starts the command `mcp`.

const PASSED = words(
  'initialize tools_call request-metadata http-standard-headers json-schema-ref-no-deref json-schema-2020-12-preservation sse-retry',
);

const NO_ASKING_BACK = 'The gateway asks the client for nothing.';
const NO_HEADERS = 'No argument of a tool of the gateway is sent as a header.';
const NO_SKILLS = 'The extension is not offered.';

const NOT_APPLICABLE: Record<string, string> = {
  'elicitation-sep1034-client-defaults': NO_ASKING_BACK,
  'sep-2322-client-request-state': NO_ASKING_BACK,
  'http-custom-headers': NO_HEADERS,
  'http-invalid-tool-headers': NO_HEADERS,
  'sep-2640-client-no-prefetch': NO_SKILLS,
  'sep-2640-client-verify-digest': NO_SKILLS,
  'sep-2640-client-verify-size': NO_SKILLS,
  'sep-2640-client-verify-frontmatter': NO_SKILLS,
};

/** Programs of others sign in: `npm run contracts`. */
const OF_SIGN_IN = 'The command has a key and does not sign in.';

test('the lists here have every client scenario of the suite', async () => {
  const ofSignIn = [...(await scenariosOf('Client')).keys()].filter((name) => name.startsWith('auth/'));
  expect(ofSignIn.length, OF_SIGN_IN).toBeGreaterThan(10);
  await expectComplete('Client', [...PASSED, ...Object.keys(NOT_APPLICABLE), ...ofSignIn]);
});

const scenarios = scenariosOf('Client');

test.each(PASSED)('the command passes %s', async (scenario) => {
  const command = [
    process.execPath,
    resolve('test/support/conformance-client.mjs'),
    resolve(inject('programs'), 'src/cli.js'),
  ].join(' ');
  const revisions = (await scenarios).get(scenario) ?? [];
  expect(revisions).not.toEqual([]);
  for (const revision of REVISIONS.filter((one) => revisions.includes(one))) {
    const words = ['client', '--command', command, '--scenario', scenario, '--spec-version', revision];
    expectPassed((await checksOf(words)).get(scenario));
  }
});
