import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** What workers are told of a job that one of them may run: to give it up, or that somebody waits for it now. */
export interface Control {
  action: 'cancel' | 'hurry';
  callId: string;
}

const schema = z.object({ action: z.enum(['cancel', 'hurry']), callId: z.string() });

export async function publishControl(redis: Redis, keys: RedisKeys, control: Control): Promise<void> {
  await redis.publish(keys.controlChannel, JSON.stringify(control));
}

/** @param subscriber a Redis connection that is switched to subscription. */
export async function onControl(
  subscriber: Redis,
  keys: RedisKeys,
  listener: (control: Control) => void,
): Promise<void> {
  subscriber.on('message', (channel, message) => {
    if (channel === keys.controlChannel) listener(schema.parse(JSON.parse(message)));
  });
  await subscriber.subscribe(keys.controlChannel);
}
