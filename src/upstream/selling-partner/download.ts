import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { z } from 'zod';
import type { ReportSite } from '../../operations/brand-analytics/keywords.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { ProviderRefusal, type ReportProvider } from './report-provider.ts';

interface Document {
  site: ReportSite;
  documentId: string;
}

interface DownloadDeps {
  provider: ReportProvider;
  clock: Clock;
}

/** Delays before a download is resumed. It fails after this many consecutive attempts without data. */
const RESUME_DELAYS_MS = [1_000, 5_000, 30_000, 60_000];

/** The connection is closed when the server sends no data for this time. */
const SILENCE_MS = MINUTE_MS;

/**
 * Streams the stored bytes of a document. An interrupted download is resumed at its offset with a new address, because
 * an address expires after five minutes. The stream fails with ProviderRefusal when resuming does not help.
 * @param onBytes receives the bytes so far and the total, which is 0 if the server does not send it.
 */
export function downloadDocument(
  { provider, clock }: DownloadDeps,
  { site, documentId }: Document,
  signal: AbortSignal,
  onBytes: (received: number, size: number) => void = () => {},
): Readable {
  // A generator that awaits a promise can only be ended by aborting.
  const closed = new AbortController();
  const ending = AbortSignal.any([signal, closed.signal]);

  async function* bytes(): AsyncGenerator<Buffer> {
    let received = 0;
    let failures = 0;
    for (;;) {
      const before = received;
      try {
        const url = await provider.addressOf(site, documentId, ending);
        const response = await request(url, {
          headers: received > 0 ? { range: `bytes=${received}-` } : {},
          headersTimeout: SILENCE_MS,
          bodyTimeout: SILENCE_MS,
          signal: ending,
        });
        const { statusCode: status, body, headers } = response;
        if (status !== 200 && status !== 206) {
          await body.dump();
          throw new Error(`status ${status}`);
        }
        // A server without range support sends everything again.
        let known = status === 200 ? received : 0;
        const length = headers['content-length'];
        const size = length === undefined ? 0 : Number(length) + received - known;
        for await (const chunk of body as AsyncIterable<Buffer>) {
          const news = chunk.subarray(Math.min(known, chunk.length));
          known -= chunk.length - news.length;
          if (news.length === 0) continue;
          received += news.length;
          onBytes(received, size);
          yield news;
        }
        return;
      } catch (error) {
        ending.throwIfAborted();
        if (error instanceof ProviderRefusal) throw error;
        failures = received > before ? 1 : failures + 1;
        const delayMs = RESUME_DELAYS_MS[failures - 1];
        if (delayMs === undefined)
          throw new ProviderRefusal(
            `The download of the report broke off after ${received} bytes (${(error as Error).message}).`,
            { mayPass: true },
          );
        await sleep(clock, delayMs, ending);
      }
    }
  }

  const stream = Readable.from(bytes(), { objectMode: false });
  stream.once('close', () => closed.abort());
  return stream;
}

/** The document of a failed report is short: it has only the reason. */
const MOST_FAULT_BYTES = 65_536;

const faultSchema = z.object({ errorDetails: z.string().min(1) });

/** Returns the reason from the document of a failed report. */
export async function readFault(
  deps: DownloadDeps,
  document: Document,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of downloadDocument(deps, document, signal) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_FAULT_BYTES) break;
  }
  const bytes = Buffer.concat(chunks);
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  try {
    const text = (isPacked ? gunzipSync(bytes, { maxOutputLength: MOST_FAULT_BYTES }) : bytes).toString();
    return faultSchema.parse(JSON.parse(text)).errorDetails;
  } catch {
    return 'its document gives no reason that can be read';
  }
}
