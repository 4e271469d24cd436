import { ASIN_SCHEMA, parseAsin } from './lists.ts';
import { Fault, grouped } from './request.ts';
import { got } from './shown-value.ts';

const WANTED = 'must be one ASIN (10 letters or digits)';

/** A required ASIN. Needs `asin: ['asin']` among the groups of the request. */
export function requiredAsin() {
  return grouped<string>(
    ({ asin }) => (asin === undefined ? new Fault(`is required: it ${WANTED}`) : resolve(asin)),
    { description: 'ASIN', required: true, schema: ASIN_SCHEMA },
  );
}

/** An optional ASIN. An empty value is an error and never means "all". */
export function optionalAsin(description: string) {
  return grouped<string | undefined>(({ asin }) => (asin === undefined ? undefined : resolve(asin)), {
    description,
    required: false,
    schema: ASIN_SCHEMA,
  });
}

function resolve(asin: unknown): string | Fault {
  if (Array.isArray(asin)) return new Fault(`was given more than once; it ${WANTED}`);
  const parsed = typeof asin === 'string' ? parseAsin(asin.trim()) : null;
  return typeof parsed === 'string' ? parsed : new Fault(got(WANTED, asin));
}
