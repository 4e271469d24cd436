import type { Redis } from 'ioredis';
import { NAMESPACE, type StoredKey } from './release.ts';

/** Returns all keys of a namespace. Event streams of queues have no readers, so they are left out. */
export async function dumpKeys(redis: Redis, namespace: string): Promise<StoredKey[]> {
  const stored: StoredKey[] = [];
  for (const key of (await redis.keys(`*${namespace}*`)).sort()) {
    const type = await redis.type(key);
    if (type === 'none' || type === 'stream') continue;
    const values = await valuesOf(redis, key, type as StoredKey['type']);
    const expiresInMs = await redis.pttl(key);
    stored.push({
      key: key.replaceAll(namespace, NAMESPACE),
      type: type as StoredKey['type'],
      values: values.map((value) => value.toString('base64')),
      expiresInMs: expiresInMs < 0 ? null : expiresInMs,
    });
  }
  return stored;
}

async function valuesOf(redis: Redis, key: string, type: StoredKey['type']): Promise<Buffer[]> {
  if (type === 'string') return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)];
  if (type === 'list') return redis.lrangeBuffer(key, 0, -1);
  if (type === 'set') return redis.smembersBuffer(key);
  if (type === 'zset') {
    // Members with their scores: pairs in version 3 of the protocol, which has numbers.
    const pairs = (await redis.callBuffer('ZRANGE', key, '0', '-1', 'WITHSCORES')) as unknown[];
    return pairs.flat().map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(String(part))));
  }
  const fields = Object.entries(await redis.hgetallBuffer(key));
  return fields.flatMap(([field, value]) => [Buffer.from(field), value]);
}

/** Writes recorded keys under a namespace. */
export async function restoreKeys(
  redis: Redis,
  namespace: string,
  keys: readonly StoredKey[],
): Promise<void> {
  for (const { key: recorded, type, values, expiresInMs } of keys) {
    const key = recorded.replaceAll(NAMESPACE, namespace);
    const bytes = values.map((value) => Buffer.from(value, 'base64'));
    if (type === 'string') await redis.set(key, bytes[0] ?? '');
    else if (type === 'list') await redis.rpush(key, ...bytes);
    else if (type === 'set') await redis.sadd(key, ...bytes);
    else if (type === 'hash') await redis.hset(key, ...bytes);
    else
      await redis.zadd(
        key,
        ...bytes.flatMap((_, i) => (i % 2 ? [String(bytes[i]), bytes[i - 1] ?? ''] : [])),
      );
    if (expiresInMs !== null) await redis.pexpire(key, expiresInMs);
  }
}

/** Returns the text that a field of a recorded hash has. */
export function fieldOf({ values }: StoredKey, name: string): string | undefined {
  const texts = values.map((value) => Buffer.from(value, 'base64').toString());
  const index = texts.findIndex((text, i) => i % 2 === 0 && text === name);
  return index === -1 ? undefined : texts[index + 1];
}
