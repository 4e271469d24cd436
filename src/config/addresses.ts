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

const MOST_LINKS = 6;

/** Links as `Terms https://example.com/terms, Contact mailto:help@example.com`. */
export const operatorLinks = z
  .string()
  .transform((value) => value.split(',').map((link) => /^(.{1,40})\s(\S+)$/.exec(link.trim())))
  .refine(
    (links) =>
      links.length <= MOST_LINKS &&
      links.every((link) => /^(?:https?|mailto):/.test(link?.[2] ?? '') && URL.canParse(link?.[2] ?? '')),
    `must be at most ${MOST_LINKS} names with addresses, such as Terms https://example.com/terms, Contact mailto:help@example.com`,
  )
  .transform((links) => links.map((link) => ({ name: (link?.[1] ?? '').trim(), address: link?.[2] ?? '' })));
