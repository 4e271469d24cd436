import { VISIBLE } from '../../operations/params/scalars.ts';
import { callOptionsSchema } from '../operations/call-options.ts';
import { parametersOf } from './parameters.ts';
import { queryParameters } from './requests.ts';
import type { ParameterObject, Reference } from './shape.ts';

/** Parameters of every call besides those of its operation, by name. */
export const OPTION_PARAMETERS: Record<string, ParameterObject> = {
  ...Object.fromEntries(
    queryParameters(parametersOf(callOptionsSchema)).map((parameter) => [parameter.name, parameter]),
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
  prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      '`respond-async`: return a job immediately; `wait=N`: return a job after N seconds at the latest (RFC 7240)',
    schema: { type: 'string', maxLength: 200, pattern: '^[ -~]*$' },
    example: 'respond-async',
  },
};

export const LOCAL_OPTIONS = Object.keys(callOptionsSchema.shape);

export const CALL_OPTIONS = Object.keys(OPTION_PARAMETERS);

/** Returns a reference to one of them. */
export function option(name: string): Reference {
  return { $ref: `#/components/parameters/${name}` };
}
