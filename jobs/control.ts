import { z } from 'zod';
import { listen } from '../src/platform/channel.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** A command to the worker that runs a job: cancel it, or promote it because a request now waits for it. */
export interface Control {
  action: 'cancel' | 'promote';
  callId: string;
}

/** A message on the control channel. */
const controlSchema = z.object({
  action: z.enum(['cancel', 'promote']),
  callId: z.string(),
});

export async function publishControl(redis: Redis, keys: RedisKeys, control: Control): Promise<void> {
  await redis.publish(keys.controlChannel, JSON.stringify(control));
}

/** @param from.subscriber a Redis connection for subscriptions only. */
export async function onControl(
  from: { subscriber: Redis; log: Logger },
  keys: RedisKeys,
  listener: (control: Control) => void,
): Promise<void> {
  await listen(from, keys.controlChannel, controlSchema, listener);
}
