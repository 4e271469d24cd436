import type { ReceivedWebhook } from '../../clients/typescript/src/index.ts';

/** What a tour needs. */
export interface TourOptions {
  baseUrl: string;
  apiKey: string;
  /** Two products that the account has not called. */
  asins: string[];
  webhook: ReceivedWebhook & { body: string; secret: string };
}

/** What a tour returns in every runtime. */
export const TOUR = {
  firstStatus: 202,
  products: 2,
  events: ['done'],
  results: [0, 1],
  spent: 2,
  event: 'webhook.test',
  refused: 'WEBHOOK_INVALID',
};

/**
 * Uses the parts of the client that depend on the runtime: a call that is accepted and followed, events of its job, results of
 * a batch as a stream, and the signature of a webhook. This file runs in browsers, Deno and Bun too, so it imports only types.
 */
export async function tour(
  { Souk, verifyWebhook }: typeof import('../../clients/typescript/src/index.ts'),
  { baseUrl, apiKey, asins, webhook }: TourOptions,
): Promise<typeof TOUR> {
  const statuses: number[] = [];
  const souk = new Souk({
    baseUrl,
    apiKey,
    fetch: async (...request) => {
      const response = await fetch(...request);
      statuses.push(response.status);
      return response;
    },
  });
  const params = { country: 'us', detailLevel: 'summary' } as const;
  const accepted = souk.market.product({ ...params, asins }, { headers: { prefer: 'respond-async' } });
  const { data, meta } = await accepted.withMeta();
  const events: string[] = [];
  for await (const { state } of souk.jobs.events(meta.jobId ?? '')) events.push(state);

  const { batchId } = await souk.batches.create({ operation: 'market.product', params, split: { asins } });
  const results: number[] = [];
  for await (const { index } of souk.batches.results(batchId)) results.push(index);

  const { body, headers, secret } = webhook;
  const event = await verifyWebhook({ body, headers }, secret);
  const refusal = verifyWebhook({ body: `${body} `, headers }, secret);
  const refused = await refusal.then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );
  const [firstStatus = 0] = statuses;
  const { spent } = souk.units;
  return { firstStatus, products: data.products.length, events, results, spent, event: event.type, refused };
}
