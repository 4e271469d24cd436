import type { RuleDefinition, RulesetDefinition } from '@stoplight/spectral-core';
import owaspRules from '@stoplight/spectral-owasp-ruleset';
import { oas } from '@stoplight/spectral-rulesets';

type Check = (target: unknown, options: unknown, context: unknown) => unknown[] | undefined;
interface CheckedRule {
  then: { function: Check & { validator: unknown; schemas: unknown } };
}

/** Examples in which a rule has found no fault, by rule and text. */
const soundExamples = new Set<string>();

/** A rule for examples that checks the same example once, although the linter visits shared responses at each reference. */
function checkedOnce(name: string): RuleDefinition {
  const rule = (oas as unknown as { rules: Record<string, CheckedRule> }).rules[name];
  if (!rule) throw new Error(`Spectral has no rule ${name}`);
  const check = rule.then.function;
  const { validator, schemas } = check;
  const once: Check = (target, options, context) => {
    const text = `${name} ${JSON.stringify(target)}`;
    if (soundExamples.has(text)) return [];
    const faults = check(target, options, context) ?? [];
    if (faults.length === 0) soundExamples.add(text);
    return faults;
  };
  const fn = Object.defineProperties(once, { validator: { value: validator }, schemas: { value: schemas } });
  // oxlint-disable unicorn/no-thenable -- rules of Spectral have this property
  return {
    ...rule,
    // biome-ignore lint/suspicious/noThenProperty: for the same reason
    then: { ...rule.then, function: fn },
  } as unknown as RuleDefinition;
  // oxlint-enable unicorn/no-thenable
}

const owasp = owaspRules as unknown as RulesetDefinition & { rules: Record<string, RuleDefinition> };

/** Parameters and headers of requests. The rules on bounds are for requests only. */
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

/** Paths that require a key. */
const WITH_KEY = '$.paths[?(@property.match(/^\\/api\\//))][*]';
/** Charged operations. The others are free and not limited. */
const CHARGED = `${WITH_KEY}[?(@property === 'x-pool')]^`;

/** Returns a rule with fewer places. */
function only(name: string, given: string | string[]): RuleDefinition {
  return { ...(owasp.rules[name] as object), given } as RuleDefinition;
}

/** Spectral's recommendations for OpenAPI and all of its OWASP rules, except those turned off here. */
export const ruleset: RulesetDefinition = {
  extends: [
    [oas as RulesetDefinition, 'recommended'],
    [owasp, 'all'],
  ],
  rules: {
    'oas3-valid-media-example': checkedOnce('oas3-valid-media-example'),
    'oas3-valid-schema-example': checkedOnce('oas3-valid-schema-example'),
    // The interface promises the query parameter `key`, as the last of three places.
    'owasp:api2:2023-no-api-keys-in-url': 'off',
    // `domainId` is the number of one of eleven public sites, not the id of a record.
    'owasp:api1:2023-no-numeric-ids': 'off',
    // Scripts of other sites may not call the service: a key does not belong in a browser.
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
    // A refused call states what is left in its text; RateLimit is on admitted calls.
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
