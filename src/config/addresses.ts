import { z } from 'zod';
import { parseRedisAddress, type RedisAddressError } from '../platform/redis-address.ts';

/** The values of libpq's `target_session_attrs` that are supported. */
const TARGETS = ['read-write', 'primary', 'any'];

export const postgresAddress = z.string().superRefine((value, context) => {
  const message = postgresFault(value);
  if (message) context.addIssue({ code: 'custom', message });
});

export const redisAddress = z.string().superRefine((value, context) => {
  try {
    parseRedisAddress(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as RedisAddressError).message });
  }
});

function postgresFault(address: string): string | null {
  // Not every list of hosts is a valid address.
  const [, hosts = ''] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(address) ?? [];
  const url = URL.canParse(address) ? new URL(address) : null;
  if (hosts.includes(',') || url?.searchParams.getAll('host').join().includes(','))
    return 'names several servers, but must name one address that leads to the primary, see docs/operating/postgresql.md';
  if (!url || !/^postgres(ql)?:$/.test(url.protocol))
    return 'must be an address such as postgresql://user:password@host:5432/souk';
  const target = url.searchParams.get('target_session_attrs') ?? 'primary';
  return TARGETS.includes(target)
    ? null
    : `has an invalid target_session_attrs, which must be one of ${TARGETS.join(', ')}`;
}

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
