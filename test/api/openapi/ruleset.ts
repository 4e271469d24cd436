import type { RuleDefinition, RulesetDefinition } from '@stoplight/spectral-core';
import owaspRules from '@stoplight/spectral-owasp-ruleset';
import { oas } from '@stoplight/spectral-rulesets';

const owasp = owaspRules as unknown as RulesetDefinition & { rules: Record<string, RuleDefinition> };

/** What is sent to us. Bounds protect us there; what we send is as long as it is. */
const PARAMETERS = [
  '$.paths[*][*].parameters[*].schema',
  '$.components.parameters[*].schema',
  '$.components.headers[*].schema',
];
const BODIES = [
  '$.components.schemas[?(@property.match(/Parameters$/))]',
  '$.paths[*][*].requestBody.content[*].schema',
];
const sent = (type: string) => [
  ...PARAMETERS.map((place) => `${place}[?(@property === 'type' && @ === '${type}')]^`),
  ...BODIES.map((place) => `${place}..[?(@property === 'type' && @ === '${type}')]^`),
];

/** Addresses that need a key; the others say so little that little can go wrong. */
const WITH_KEY = '$.paths[?(@property.match(/^\\/api\\//))][*]';
/** Calls of operations; the rest is free and not limited. */
const CHARGED = `${WITH_KEY}[?(@property === 'x-pool')]^`;

/** The same rule for fewer places. */
function only(name: string, given: string | string[]): RuleDefinition {
  return { ...(owasp.rules[name] as object), given } as RuleDefinition;
}

/** Spectral's recommendations for OpenAPI and all of its OWASP rules, but for what is turned off here. */
export const ruleset: RulesetDefinition = {
  extends: [
    [oas as RulesetDefinition, 'recommended'],
    [owasp, 'all'],
  ],
  rules: {
    // It does not know the tuples of OpenAPI 3.1, which have prefixItems.
    'array-items': 'off',
    // The interface promises the query parameter `key`, as the last of three places.
    'owasp:api2:2023-no-api-keys-in-url': 'off',
    // `domainId` is the number of one of eleven public sites, not the id of anybody's record.
    'owasp:api1:2023-no-numeric-ids': 'off',
    // Nothing here is for scripts of other sites: a key does not belong into a browser.
    'owasp:api8:2023-define-cors-origin': 'off',
    // /openapi.json, /healthz and /readyz are public; document.test.ts holds that nothing else is.
    'owasp:api2:2023-read-restricted': 'off',
    'owasp:api8:2023-define-error-validation': only(
      'owasp:api8:2023-define-error-validation',
      `${WITH_KEY}.responses`,
    ),
    'owasp:api8:2023-define-error-responses-401': only(
      'owasp:api8:2023-define-error-responses-401',
      `${WITH_KEY}.responses`,
    ),
    'owasp:api8:2023-define-error-responses-500': only(
      'owasp:api8:2023-define-error-responses-500',
      `${WITH_KEY}.responses`,
    ),
    'owasp:api4:2023-rate-limit-responses-429': only(
      'owasp:api4:2023-rate-limit-responses-429',
      `${CHARGED}.responses`,
    ),
    // A refused call says what is left in its text; RateLimit is on those that were let in.
    'owasp:api4:2023-rate-limit': only(
      'owasp:api4:2023-rate-limit',
      `${CHARGED}.responses[?(@property.match(/^2/))]`,
    ),
    'owasp:api4:2023-string-limit': only('owasp:api4:2023-string-limit', sent('string')),
    'owasp:api4:2023-string-restricted': only('owasp:api4:2023-string-restricted', sent('string')),
    'owasp:api4:2023-integer-limit': only('owasp:api4:2023-integer-limit', sent('integer')),
    'owasp:api4:2023-integer-format': only('owasp:api4:2023-integer-format', sent('integer')),
    'owasp:api4:2023-array-limit': only('owasp:api4:2023-array-limit', sent('array')),
  },
};
