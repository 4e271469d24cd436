import type { z } from 'zod';
import type { Logger } from './log.ts';
import type { Redis } from './redis.ts';

/**
 * Receives the messages of a channel. A message that does not fit the schema is ignored, because it may come from a process
 * of another version: nothing depends on messages alone. The first ignored message is logged.
 * @param subscriber a Redis connection for subscriptions only.
 * @param isSharded whether messages are published with SPUBLISH.
 * @returns a function that ends it.
 */
export async function listen<Message>(
  { subscriber, log }: { subscriber: Redis; log: Logger },
  channel: string,
  schema: z.ZodType<Message>,
  listener: (message: Message) => void,
  isSharded = false,
): Promise<() => void> {
  let isLogged = false;
  const onMessage = (from: string, text: string) => {
    if (from !== channel) return;
    const { data, error } = schema.safeParse(parsed(text));
    if (!error) {
      listener(data);
      return;
    }
    if (!isLogged) log.warn({ err: error, channel }, 'ignored a message that this version does not know');
    isLogged = true;
  };
  const event = isSharded ? 'smessage' : 'message';
  subscriber.on(event, onMessage);
  await (isSharded ? subscriber.ssubscribe(channel) : subscriber.subscribe(channel));
  return () => void subscriber.off(event, onMessage);
}

/** Returns undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
