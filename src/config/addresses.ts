import { z } from 'zod';
import { addressFault } from '../platform/db/servers.ts';
import { parseRedisAddress, type RedisAddressError } from '../platform/redis-address.ts';

export const postgresAddress = z.string().superRefine((value, context) => {
  const message = addressFault(value);
  if (message) context.addIssue({ code: 'custom', message });
});

export const redisAddress = z.string().superRefine((value, context) => {
  try {
    parseRedisAddress(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as RedisAddressError).message });
  }
});

/** Without a slash at its end. */
export const webAddress = address(/^https?:$/, 'https://example.com').transform((value) =>
  value.replace(/\/+$/, ''),
);

function address(scheme: RegExp, example: string) {
  return z
    .string()
    .refine(
      (value) => URL.canParse(value) && scheme.test(new URL(value).protocol),
      `must be an address such as ${example}`,
    );
}
