import { z } from 'zod';

/** A setting that is `true` or `false`. */
export const onOrOff = z.stringbool({
  truthy: ['true', '1'],
  falsy: ['false', '0'],
  error: 'must be true or false',
});
