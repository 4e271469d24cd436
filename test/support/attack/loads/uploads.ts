import { request } from 'node:http';
import type { Answers } from '../attack-case.ts';

export interface UploadOptions {
  gateway: string;
  /** Keys that send in turn. */
  keys: readonly string[];
  /** Uploads at the same time; each is followed by another until the time is over. */
  parallel: number;
  seconds: number;
  bytes: number;
  /** Bytes that are announced and not sent. */
  missingBytes: number;
}

const CHUNK = Buffer.from('{"asin":"B0ATTACK00"},'.repeat(3_000));

/** Sends the bodies of batches. @param address where they come from. */
export async function upload(options: UploadOptions, address: string): Promise<Answers> {
  const answers: Answers = {};
  const endsAt = performance.now() + options.seconds * 1_000;
  const senders = Array.from({ length: options.parallel }, async (_, i) => {
    const key = options.keys[i % options.keys.length] ?? '';
    while (performance.now() < endsAt) {
      const outcome = await uploadOnce(options, { key, address }, endsAt);
      answers[outcome] = (answers[outcome] ?? 0) + 1;
    }
  });
  await Promise.all(senders);
  return answers;
}

function uploadOnce(
  { gateway, bytes, missingBytes }: UploadOptions,
  { key, address }: { key: string; address: string },
  endsAt: number,
): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(`${gateway}/api/batches`, {
      method: 'POST',
      headers: {
        'x-api-key': key,
        'x-forwarded-for': address,
        'content-type': 'application/json',
        'content-length': bytes,
      },
    });
    const finish = (outcome: string) => {
      clearTimeout(limit);
      sent.destroy();
      resolve(outcome);
    };
    const limit = setTimeout(() => finish('none'), Math.max(0, endsAt - performance.now()));
    sent.on('response', ({ statusCode }) => finish(String(statusCode)));
    sent.on('error', () => finish('none'));
    let leftBytes = bytes - missingBytes;
    const send = () => {
      while (leftBytes > 0 && !sent.destroyed) {
        const chunk = CHUNK.subarray(0, leftBytes);
        leftBytes -= chunk.length;
        if (!sent.write(chunk)) return void sent.once('drain', send);
      }
      if (missingBytes === 0) sent.end();
    };
    send();
  });
}
