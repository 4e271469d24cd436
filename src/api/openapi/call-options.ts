import { VISIBLE } from '../../operations/params/scalars.ts';
import { callOptionsSchema } from '../operations/call-options.ts';
import { parametersOf } from './parameters.ts';
import { queryParameters } from './requests.ts';
import type { ParameterObject, Reference } from './shape.ts';

/**
 * Parameters of every call besides those of its operation, by name. Those that change what a 200 is have addresses of their
 * own, so the document describes them in words only.
 */
export const OPTION_PARAMETERS: Record<string, ParameterObject> = {
  ...Object.fromEntries(
    queryParameters(parametersOf(callOptionsSchema.pick({ maxUnits: true }))).map((parameter) => [
      parameter.name,
      parameter,
    ]),
  ),
  webhook: {
    name: 'webhook',
    in: 'query',
    required: false,
    description:
      'An http or https address that receives a delivery when the job has ended; requires a signing secret',
    schema: { type: 'string', format: 'uri', minLength: 1, maxLength: 2000, pattern: VISIBLE },
    example: 'https://example.com/hook',
  },
};

export const CALL_OPTIONS = Object.keys(OPTION_PARAMETERS);

/** Returns a reference to one of them. */
export function option(name: string): Reference {
  return { $ref: `#/components/parameters/${name}` };
}
